package services

import (
	"context"
	"strings"

	"github.com/rollcall-dev/rollcall/channels"
)

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
