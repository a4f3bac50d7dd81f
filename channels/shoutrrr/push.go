package shoutrrr

import (
	"context"
	"encoding/json"
	"net/url"
	"strings"

	"github.com/rollcall-dev/rollcall/channels"
)

// pushServices returns the push services for which the library accepts no client.
func pushServices() []service {
	return []service{barkService(), joinService(), pushbulletService()}
}

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

func pushbulletService() service {
	return service{
		info: channels.KindInfo{
			Kind: "pushbullet", Title: "Pushbullet", Category: channels.Push,
			Doc: "Sends a push message through Pushbullet.",
			Settings: []channels.Setting{
				secret("token", "The access token.", token),
				optional("target", "A device, an e-mail address or a channel (#tag); all devices of the account by default.", text),
			},
		},
		send: func(ctx context.Context, m *delivery) error {
			// Pushbullet drops a push with a known guid, so a retry shows nothing twice.
			body := map[string]string{"type": "note", "title": m.title, "body": m.text, "guid": m.n.ID}
			switch target := m.settings["target"]; {
			case strings.HasPrefix(target, "#"):
				body["channel_tag"] = target[1:]
			case strings.Contains(target, "@"):
				body["email"] = target
			case target != "":
				body["device_iden"] = target
			}
			header := map[string]string{"Access-Token": m.settings["token"]}
			_, err := m.do(ctx, request{url: "https://api.pushbullet.com/v2/pushes", header: header, json: body})
			return err
		},
	}
}
