package services

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/channels/outbound"
)

func slackService() service {
	return service{
		info: channels.Type{
			Kind: "slack", Title: "Slack", Category: channels.CategoryChat,
			Doc: "Posts to a Slack channel, with an incoming webhook (webhook_url) or as a bot (token and channel). " +
				"Other chats that accept Slack's webhooks work too, if they answer ok, {\"ok\":true}, {\"success\":true} or " +
				"{\"result\":\"success\"}.",
			Setup: "In Slack: Apps > Incoming Webhooks > Add to Slack; or, at https://api.slack.com/apps, turn on Incoming Webhooks in an " +
				"app and add one to the workspace. Copy the URL that begins with https://hooks.slack.com/. A bot has its token under " +
				"OAuth & Permissions.",
			Settings: []channels.Setting{
				notRequired(secret("webhook_url", "The https URL of the incoming webhook.", hook)),
				notRequired(secret("token", "The token of the bot, which begins with xoxb-. It needs the scope chat:write.", token)),
				optional("channel", "The channel to post to, as #name or ID. Needed with token; with webhook_url only other "+
					"chats and Slack's legacy webhooks heed it.", text),
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
		answer, err := m.do(ctx, request{url: m.settings["webhook_url"], json: body})
		return slackHookError(err, strings.TrimSpace(string(answer)))
	}
	header := map[string]string{"Authorization": bearer(m.settings["token"])}
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
		return slackRefused(refused(result.Error, ""), result.Error)
	}
	return nil
}

// slackHookError returns the error of a webhook's answer. Slack, Mattermost and Discord answer ok, other chats with JSON.
func slackHookError(err error, answer string) error {
	if _, failed := errors.AsType[*outbound.StatusError](err); failed {
		return slackRefused(err, answer)
	}
	if err != nil || answer == "ok" {
		return err
	}
	var result struct {
		OK, Success bool
		Result      string
	}
	if json.Unmarshal([]byte(answer), &result) == nil && (result.OK || result.Success || result.Result == "success") {
		return nil
	}
	return errAnswer
}

// slackRefused marks an error by [channels.Permanent] if its code says that the channel, the webhook or the token is gone,
// or that the request should not be tried again. What an administrator can grant, such as not_in_channel, is retried.
func slackRefused(err error, code string) error {
	permanent := []string{
		"account_inactive", "action_prohibited", "channel_is_archived", "channel_not_found", "invalid_payload", "invalid_token",
		"is_archived", "no_active_hooks", "no_service", "no_service_id", "no_team", "posting_to_general_channel_denied",
		"team_disabled", "token_revoked", "user_not_found",
	}
	if slices.Contains(permanent, code) {
		return channels.Permanent(err)
	}
	return err
}
