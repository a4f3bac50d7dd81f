package services

import (
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"strings"

	"github.com/rollcall-dev/rollcall/channels"
)

func joinService() service {
	return service{
		info: channels.Type{
			Kind: "join", Title: "Join", Category: channels.CategoryPush,
			Doc: "Sends a push message through Join (joaoapps).",
			Setup: "The web interface of Join at https://joinjoaomgcd.appspot.com shows the API key and the ID of each device. Choose a " +
				"device, then Join API.",
			Settings: []channels.Setting{
				secret("api_key", "The API key.", token),
				required("devices", "The IDs of the devices, or groups such as group.all, group.android and group.pc, separated by commas.",
					each(pattern(`[\w.-]{1,100}`, "has a device that is not letters, digits, dots, _ and -"))),
			},
		},
		limit: 1500, // the text is part of the URL
		send: func(ctx context.Context, m *delivery) error {
			var targets, devices []string
			for _, device := range list(m.settings["devices"]) {
				if strings.HasPrefix(device, "group.") {
					targets = append(targets, device)
				} else {
					devices = append(devices, device)
				}
			}
			const others = "devices" // stands for the devices that are no groups, which fit in one request
			if len(devices) > 0 {
				targets = append(targets, others)
			}
			if len(targets) == 0 {
				return errors.New("devices is empty")
			}
			return channels.Each(m.n, targets, func(target string) error {
				if target == others {
					return sendJoin(ctx, m, "deviceIds", strings.Join(devices, ","))
				}
				return sendJoin(ctx, m, "deviceId", target)
			})
		},
	}
}

// sendJoin sends to a group, by the parameter deviceId, or to devices, by the parameter deviceIds.
func sendJoin(ctx context.Context, m *delivery, parameter, target string) error {
	query := url.Values{"apikey": {m.settings["api_key"]}, parameter: {target}, "title": {m.title}, "text": {m.text}}
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
}
