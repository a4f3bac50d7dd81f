package services

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/nicholas-fedor/shoutrrr/pkg/services/chat/rocketchat"
	"github.com/rollcall-dev/rollcall/channels"
)

func rocketchatService() service {
	return service{
		info: channels.KindInfo{
			Kind: "rocketchat", Title: "Rocket.Chat", Category: channels.Chat,
			Doc: "Posts to a Rocket.Chat channel with an incoming webhook.",
			Settings: []channels.Setting{
				secret("webhook_url", "The https URL of the webhook, which ends in /hooks/, an ID and a token.",
					incoming(`.*/hooks/[\w-]+/[\w-]+`, "https")),
				optional("channel", "The channel (#name) or user (@name) to post to, instead of the webhook's.", text),
				optional("username", "The name to post as, instead of the webhook's.", text),
			},
		},
		escape: rocketEscape,
		send: func(ctx context.Context, m *delivery) error {
			u, err := url.Parse(m.settings["webhook_url"])
			if err != nil {
				return errors.New("webhook_url is malformed")
			}
			parts := strings.Split(u.EscapedPath(), "/")
			if len(parts) < 4 {
				return errors.New("webhook_url is malformed")
			}
			s, client := &rocketchat.Service{Client: &http.Client{}}, m.forLibrary(ctx)
			if err := s.Initialize(&url.URL{Scheme: "rocketchat", Host: "host", Path: "/a/b"}, nil); err != nil {
				return err
			}
			s.Client.Transport = client
			keys := parts[len(parts)-2:]
			s.Config.Host = u.Host + strings.Join(parts[:len(parts)-3], "/")
			s.Config.TokenA, s.Config.TokenB = keys[0], keys[1]
			s.Config.Channel, s.Config.UserName = m.settings["channel"], m.settings["username"]
			return client.finish(s.Send(m.titleAndText(), nil))
		},
	}
}
