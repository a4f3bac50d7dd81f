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

func mattermostService() service {
	return service{
		info: channels.Type{
			Kind: "mattermost", Title: "Mattermost", Category: channels.CategoryChat,
			Doc: "Posts to a Mattermost channel with an incoming webhook.",
			Setup: "In Mattermost: Integrations > Incoming Webhooks > Add Incoming Webhook; copy the URL. If the menu has no Integrations, " +
				"an administrator must allow incoming webhooks.",
			Settings: []channels.Setting{
				secret("webhook_url", "The URL of the webhook, which ends in /hooks/ and a key.",
					incoming(`.*/hooks/[A-Za-z0-9]+`, "http", "https")),
				optional("channel", "The channel (name) or user (@name) to post to, instead of the webhook's.", text),
				optional("username", "The name to post as, instead of the webhook's, if the server allows it.", text),
				optional("icon", "The picture to post with, if the server allows it: an https URL, or the name of an emoji.", text),
			},
		},
		escape: markdownEscape,
		send:   sendMattermost,
	}
}

func sendMattermost(ctx context.Context, m *delivery) error {
	body := map[string]string{"text": m.titleAndText()}
	for name, value := range map[string]string{"channel": m.settings["channel"], "username": m.settings["username"]} {
		if value != "" {
			body[name] = value
		}
	}
	if icon := m.settings["icon"]; strings.HasPrefix(icon, "https://") || strings.HasPrefix(icon, "http://") {
		body["icon_url"] = icon
	} else if icon != "" {
		body["icon_emoji"] = strings.Trim(icon, ":")
	}
	answer, err := m.do(ctx, request{url: m.settings["webhook_url"], json: body})
	if err == nil && strings.TrimSpace(string(answer)) != "ok" {
		return errAnswer
	}
	var refusal struct {
		ID string `json:"id"`
	}
	status, failed := errors.AsType[*outbound.StatusError](err)
	if failed && status.Status == http.StatusNotFound && json.Unmarshal(answer, &refusal) == nil {
		switch refusal.ID {
		case "app.channel.get.existing.app_error", "web.incoming_webhook.channel.app_error": // no such channel
			return channels.Permanent(err)
		}
	}
	return err
}
