package services

import (
	"context"
	"encoding/json"

	"github.com/rollcall-dev/rollcall/channels"
)

func rocketchatService() service {
	return service{
		info: channels.Type{
			Kind: "rocketchat", Title: "Rocket.Chat", Category: channels.CategoryChat,
			Doc: "Posts to a Rocket.Chat channel with an incoming webhook.",
			Setup: "In Rocket.Chat, an administrator adds an Incoming integration under Workspace > Integrations, turns it on and chooses " +
				"the channel. Once it is saved, it shows the webhook URL.",
			Settings: []channels.Setting{
				secret("webhook_url", "The URL of the webhook, which ends in /hooks/, an ID and a token.",
					incoming(`.*/hooks/[\w-]+(/[\w-]+)?/[\w%-]+`, "http", "https")),
				optional("channel", "The channel (#name) or user (@name) to post to, instead of the webhook's, "+
					"if the integration allows it.", text),
				optional("username", "The name to post as, instead of the webhook's.", text),
			},
		},
		escape: rocketEscape,
		send:   sendRocketChat,
	}
}

func sendRocketChat(ctx context.Context, m *delivery) error {
	body := map[string]string{"text": m.titleAndText()}
	for name, value := range map[string]string{"channel": m.settings["channel"], "username": m.settings["username"]} {
		if value != "" {
			body[name] = value
		}
	}
	answer, err := m.do(ctx, request{url: m.settings["webhook_url"], json: body})
	var result struct {
		Success *bool `json:"success"`
		Error   any   `json:"error"`
	}
	parsed := json.Unmarshal(answer, &result) == nil && result.Success != nil
	switch {
	case err == nil && !parsed:
		return errAnswer
	case err == nil && !*result.Success:
		err = refused(result.Error, "")
	}
	if parsed && !*result.Success && result.Error == "Invalid integration id or token provided." {
		return channels.Permanent(err)
	}
	return err
}
