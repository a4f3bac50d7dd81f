package services

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/nicholas-fedor/shoutrrr/pkg/services/chat/mattermost"
	"github.com/rollcall-dev/rollcall/channels"
)

func mattermostService() service {
	return service{
		info: channels.KindInfo{
			Kind: "mattermost", Title: "Mattermost", Category: channels.Chat,
			Doc: "Posts to a Mattermost channel with an incoming webhook.",
			Settings: []channels.Setting{
				secret("webhook_url", "The URL of the webhook, which ends in /hooks/ and a key.",
					incoming(`.*/hooks/[A-Za-z0-9]+`, "http", "https")),
				optional("channel", "The channel to post to, instead of the webhook's.", text),
				optional("username", "The name to post as, instead of the webhook's.", text),
				optional("icon", "The picture to post with: an https URL, or the name of an emoji.", text),
			},
		},
		escape: markdownEscape,
		send: func(ctx context.Context, m *delivery) error {
			u, err := url.Parse(m.settings["webhook_url"])
			if err != nil {
				return errors.New("webhook_url is malformed")
			}
			at := strings.LastIndex(u.Path, "/hooks/")
			if at < 0 {
				return errors.New("webhook_url is malformed")
			}
			s, client := &mattermost.Service{}, m.forLibrary(ctx)
			if err := s.Initialize(&url.URL{Scheme: "mattermost", Host: "host", Path: "/token"}, nil); err != nil {
				return err
			}
			*s.GetHTTPClient() = http.Client{Transport: client}
			s.Config.Host = u.Host + u.EscapedPath()[:strings.LastIndex(u.EscapedPath(), "/hooks/")]
			s.Config.Token, s.Config.DisableTLS = u.Path[at+len("/hooks/"):], u.Scheme == "http"
			s.Config.Channel, s.Config.UserName = m.settings["channel"], m.settings["username"]
			s.Config.Icon = m.settings["icon"]
			return client.finish(s.Send(m.titleAndText(), nil))
		},
	}
}
