package services

import (
	"context"
	"encoding/json"
	"net/url"
	"strings"

	"github.com/rollcall-dev/rollcall/channels"
)

func joinService() service {
	return service{
		info: channels.KindInfo{
			Kind: "join", Title: "Join", Category: channels.Push,
			Doc: "Sends a push message through Join (joaoapps).",
			Settings: []channels.Setting{
				secret("api_key", "The API key.", token),
				required("devices", "The IDs of the devices, or group.all and the like, separated by commas.",
					each(pattern(`[\w.-]{1,100}`, "has a device that is not letters, digits, dots, _ and -"))),
			},
		},
		limit: 1500, // the text is part of the URL
		send: func(ctx context.Context, m *delivery) error {
			query := url.Values{
				"apikey": {m.settings["api_key"]}, "deviceIds": {strings.Join(list(m.settings["devices"]), ",")},
				"title": {m.title}, "text": {m.text},
			}
			const address = "https://joinjoaomgcd.appspot.com/_ah/api/messaging/v1/sendPush?"
			answer, err := m.do(ctx, request{url: address + query.Encode(), form: url.Values{}})
			if err != nil {
				return err
			}
			var result struct {
				Success *bool  `json:"success"`
				Message string `json:"errorMessage"`
			}
			switch {
			case json.Unmarshal(answer, &result) != nil || result.Success == nil:
				return errAnswer
			case !*result.Success:
				return refused("", result.Message)
			}
			return nil
		},
	}
}
