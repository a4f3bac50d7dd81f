package services

import (
	"context"
	"encoding/json"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/channels/message"
)

// barkLimit is the limit of title and text in bytes. Apple accepts payloads of 4096 bytes, which contain the other
// settings, too.
const barkLimit = 2500

func barkService() service {
	return service{
		info: channels.Type{
			Kind: "bark", Title: "Bark", Category: channels.CategoryPush,
			Doc:   "Sends a push message through Bark.",
			Setup: "The start page of the Bark app shows an address such as https://api.day.app/KEY/. The key is its part after the host.",
			Settings: []channels.Setting{
				withDefault(address(optional("server_url", "The URL of the server.", server)), "https://api.day.app"),
				secret("device_key", "The key of the device.", pattern(`[\w-]{8,100}`, "is not the key of a device")),
				optional("sound", "The name of the sound.", text),
				optional("group", "The group of the message.", text),
			},
		},
		limit: barkLimit,
		send: func(ctx context.Context, m *delivery) error {
			title, text := barkText(m)
			body := map[string]string{"device_key": m.settings["device_key"], "title": title, "body": text}
			for _, name := range []string{"sound", "group"} {
				if value := m.settings[name]; value != "" {
					body[name] = value
				}
			}
			if m.hasPage() {
				body["url"] = m.n.Check.URL
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

// barkText returns title and text, shorter if they contain much that takes more room in the payload: the server escapes
// <, > and & with six bytes each.
func barkText(m *delivery) (title, text string) {
	title, text = m.title, m.text
	for limit := barkLimit; limit > 500; limit -= limit / 4 {
		if escaped, err := json.Marshal(title + text); err != nil || len(escaped) <= barkLimit+300 {
			break
		}
		title, text = message.Render(m.n, nil, limit)
	}
	return title, text
}
