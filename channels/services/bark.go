package services

import (
	"context"
	"encoding/json"

	"github.com/rollcall-dev/rollcall/channels"
)

func barkService() service {
	return service{
		info: channels.KindInfo{
			Kind: "bark", Title: "Bark", Category: channels.Push,
			Doc: "Sends a push message through Bark.",
			Settings: []channels.Setting{
				withDefault(address(optional("server_url", "The URL of the server.", server)), "https://api.day.app"),
				secret("device_key", "The key of the device.", pattern(`[\w-]{8,100}`, "is not the key of a device")),
				optional("sound", "The name of the sound.", text),
				optional("group", "The group of the message.", text),
			},
		},
		send: func(ctx context.Context, m *delivery) error {
			body := map[string]string{"device_key": m.settings["device_key"], "title": m.title, "body": m.text}
			for _, name := range []string{"sound", "group"} {
				if value := m.settings[name]; value != "" {
					body[name] = value
				}
			}
			answer, err := m.do(ctx, request{url: join(m.settings["server_url"], "push"), json: body})
			if err != nil {
				return err
			}
			var result struct {
				Code    int    `json:"code"`
				Message string `json:"message"`
			}
			switch {
			case json.Unmarshal(answer, &result) != nil || result.Code == 0:
				return errAnswer
			case result.Code != 200:
				return refused(result.Code, result.Message)
			}
			return nil
		},
	}
}
