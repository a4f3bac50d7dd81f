package services

import (
	"context"
	"encoding/json"

	"github.com/rollcall-dev/rollcall/channels"
)

func notifiarrService() service {
	return service{
		info: channels.Type{
			Kind: "notifiarr", Title: "Notifiarr", Category: channels.CategoryChat,
			Doc: "Posts to a Discord channel through Notifiarr's passthrough integration.",
			Setup: "Notifiarr shows your API keys in your profile; turn on its integration Passthrough. To copy the ID of a channel in " +
				"Discord, turn on the developer mode in its advanced settings and open the menu of the channel.",
			Settings: []channels.Setting{
				secret("api_key", "The API key.", pattern(`[\w-]{10,100}`, "is not an API key")),
				required("channel", "The ID of the Discord channel.",
					pattern(`[1-9]\d{0,19}`, "is not an ID, which has digits only")),
			},
		},
		escape: markdownEscape,
		limit:  4000, // a description of Discord has 4,096 characters
		send:   sendNotifiarr,
	}
}

func sendNotifiarr(ctx context.Context, m *delivery) error {
	color := "D60510"
	if m.isUp() {
		color = "2EB67D"
	}
	answer, err := m.do(ctx, request{
		url: join("https://notifiarr.com/api/v1/notification/passthrough", m.settings["api_key"]),
		json: map[string]any{
			"notification": map[string]any{"update": false, "name": "Rollcall", "event": m.n.ID},
			"discord": map[string]any{
				"color": color,
				"text":  map[string]string{"title": m.title, "description": m.text},
				"ids":   map[string]any{"channel": integer(m.settings["channel"])},
			},
		},
	})
	if err != nil {
		return err
	}
	var result struct {
		Result  string `json:"result"`
		Details struct {
			Response any `json:"response"`
		} `json:"details"`
	}
	if json.Unmarshal(answer, &result) != nil || result.Result == "" {
		return errAnswer
	}
	if result.Result == "error" {
		text, _ := result.Details.Response.(string)
		return refused(result.Result, text)
	}
	return nil
}

// integer is a JSON number too large for a float.
type integer string

func (n integer) MarshalJSON() ([]byte, error) { return []byte(n), nil }
