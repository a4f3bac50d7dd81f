package services

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/channels/outbound"
)

func pushbulletService() service {
	return service{
		info: channels.Type{
			Kind: "pushbullet", Title: "Pushbullet", Category: channels.CategoryPush,
			Doc:   "Sends a push message through Pushbullet.",
			Setup: "In Pushbullet: Settings > Account > Access Tokens > Create Access Token. The token opens the whole account.",
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
			res, answer, err := m.fetch(ctx, request{url: "https://api.pushbullet.com/v2/pushes", header: header, json: body})
			var result struct {
				Iden  string `json:"iden"`
				Error struct {
					Type string `json:"type"`
				} `json:"error"`
			}
			parsed := json.Unmarshal(answer, &result) == nil
			status, failed := errors.AsType[*outbound.StatusError](err)
			switch {
			case failed && status.Status == http.StatusTooManyRequests:
				return resetAt(err, m.now(), res.Header.Get("X-Ratelimit-Reset"))
			case failed && status.Status == http.StatusBadRequest && parsed && result.Error.Type != "":
				return channels.Permanent(err) // a parameter is invalid
			case err != nil:
				return err
			case !parsed || result.Iden == "":
				return errAnswer
			}
			return nil
		},
	}
}
