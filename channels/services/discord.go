package services

import (
	"context"
	"errors"
	"net/url"
	"strings"
	"time"

	"github.com/nicholas-fedor/shoutrrr/pkg/services/chat/discord"
	"github.com/nicholas-fedor/shoutrrr/pkg/types"
	"github.com/rollcall-dev/rollcall/channels"
)

func discordService() service {
	return service{
		info: channels.KindInfo{
			Kind: "discord", Title: "Discord", Category: channels.Chat,
			Doc: "Posts to a Discord channel with a webhook.",
			Settings: []channels.Setting{
				secret("webhook_url", "The URL of the webhook, https://discord.com/api/webhooks/ID/TOKEN.",
					hookAt(`/api(/v\d+)?/webhooks/\d+/[\w-]+/?`,
						"discord.com", "discordapp.com", "ptb.discord.com", "canary.discord.com")),
				optional("thread_id", "The ID of a thread of the channel to post to.",
					pattern(`\d{1,20}`, "is not an ID, which has digits only")),
				optional("username", "The name to post as, instead of the webhook's.", text),
				optional("avatar_url", "The https URL of the picture to post with.", hook),
			},
		},
		escape: markdownEscape,
		limit:  1900, // a longer text becomes several embeds
		send: func(ctx context.Context, m *delivery) error {
			u, err := url.Parse(m.settings["webhook_url"])
			if err != nil {
				return errors.New("webhook_url is malformed")
			}
			parts := strings.Split(strings.Trim(u.Path, "/"), "/")
			if len(parts) < 2 {
				return errors.New("webhook_url is malformed")
			}
			s, client := &discord.Service{}, m.forLibrary(ctx)
			if err := s.Initialize(&url.URL{Scheme: "discord", Host: "id", User: url.User("token")}, nil); err != nil {
				return err
			}
			s.HTTPClient, s.Sleeper = client, noSleep{}
			s.Config.WebhookID, s.Config.Token = parts[len(parts)-2], parts[len(parts)-1]
			s.Config.ThreadID, s.Config.SplitLines = m.settings["thread_id"], false
			s.Config.Username, s.Config.Avatar = m.settings["username"], m.settings["avatar_url"]
			s.Config.Color = 0xd60510
			if m.isUp() {
				s.Config.Color = 0x2eb67d
			}
			if s.Config.ThreadID == "" {
				s.Config.ThreadID = u.Query().Get("thread_id")
			}
			return client.finish(s.Send(m.text, &types.Params{"title": m.title}))
		},
	}
}

// noSleep keeps the library from waiting minutes between retries; the outbox retries instead.
type noSleep struct{}

func (noSleep) Sleep(time.Duration) {}
