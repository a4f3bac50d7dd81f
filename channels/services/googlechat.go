package services

import (
	"context"
	"net/url"

	"github.com/rollcall-dev/rollcall/channels"
)

func googlechatService() service {
	return service{
		info: channels.KindInfo{
			Kind: "googlechat", Title: "Google Chat", Category: channels.Chat,
			Doc: "Posts to a Google Chat space with a webhook. All alerts about one outage form a thread.",
			Settings: []channels.Setting{
				secret("webhook_url", "The URL of the webhook, "+
					"https://chat.googleapis.com/v1/spaces/…/messages?key=…&token=….",
					hookAt(`/v1/spaces/[^/]+/messages`, "chat.googleapis.com")),
			},
		},
		escape: googleEscape,
		send: func(ctx context.Context, m *delivery) error {
			address := m.settings["webhook_url"]
			body := map[string]any{"text": m.titleAndText()}
			if u, err := url.Parse(address); err == nil && m.n.Incident != "" {
				query := u.Query()
				query.Set("messageReplyOption", "REPLY_MESSAGE_FALLBACK_TO_NEW_THREAD")
				u.RawQuery = query.Encode()
				address = u.String()
				body["thread"] = map[string]string{"threadKey": m.n.Incident}
			}
			_, err := m.do(ctx, request{url: address, json: body})
			return err
		},
	}
}
