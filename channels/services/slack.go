package services

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/rollcall-dev/rollcall/channels"
)

func slackService() service {
	return service{
		info: channels.KindInfo{
			Kind: "slack", Title: "Slack", Category: channels.Chat,
			Doc: "Posts to a Slack channel, with an incoming webhook (webhook_url) or as a bot (token and channel). " +
				"Other chats that accept Slack's webhooks work too.",
			Settings: []channels.Setting{
				notRequired(secret("webhook_url", "The https URL of the incoming webhook.", hook)),
				notRequired(secret("token", "The token of the bot, which begins with xoxb-. It needs the scope chat:write.", token)),
				optional("channel", "The channel to post to, as #name or ID. Needed with token.", text),
				optional("username", "The name to post as; with token this needs the scope chat:write.customize.", text),
				optional("icon", "The picture to post with: an https URL, or the name of an emoji, such as :bell:.", text),
			},
			Check: func(settings map[string]string) *channels.SettingError {
				switch {
				case settings["webhook_url"] == "" && settings["token"] == "":
					return &channels.SettingError{Setting: "webhook_url", Reason: "and token are both missing"}
				case settings["webhook_url"] != "" && settings["token"] != "":
					return conflict("webhook_url", "token")
				case settings["token"] != "" && settings["channel"] == "":
					return missing("channel", "token")
				}
				return nil
			},
		},
		escape: slackEscape,
		send:   sendSlack,
	}
}

func sendSlack(ctx context.Context, m *delivery) error {
	color := "danger"
	if m.isUp() {
		color = "good"
	}
	body := map[string]any{
		"text":         m.title,
		"mrkdwn":       false,
		"unfurl_links": false,
		"attachments": []any{map[string]any{
			"color": color, "fallback": m.text, "text": m.text, "mrkdwn_in": []string{},
		}},
	}
	for name, value := range map[string]string{"channel": m.settings["channel"], "username": m.settings["username"]} {
		if value != "" {
			body[name] = value
		}
	}
	if icon := m.settings["icon"]; strings.HasPrefix(icon, "https://") {
		body["icon_url"] = icon
	} else if icon != "" {
		body["icon_emoji"] = ":" + strings.Trim(icon, ":") + ":"
	}
	if m.settings["token"] == "" {
		_, err := m.do(ctx, request{url: m.settings["webhook_url"], json: body})
		return err
	}
	header := map[string]string{"Authorization": "Bearer " + m.settings["token"]}
	answer, err := m.do(ctx, request{url: "https://slack.com/api/chat.postMessage", header: header, json: body})
	if err != nil {
		return err
	}
	var result struct {
		OK    *bool  `json:"ok"`
		Error string `json:"error"`
	}
	if json.Unmarshal(answer, &result) != nil || result.OK == nil {
		return errAnswer
	}
	if !*result.OK {
		return refused(result.Error, "")
	}
	return nil
}
