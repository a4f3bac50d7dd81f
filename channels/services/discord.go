package services

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/channels/outbound"
)

// discordAgent has the form that Discord demands of all clients of its API.
const discordAgent = "DiscordBot (https://github.com/rollcall-dev/rollcall, 1) rollcall"

func discordService() service {
	return service{
		info: channels.Type{
			Kind: "discord", Title: "Discord", Category: channels.CategoryChat,
			Doc: "Posts to a Discord channel with a webhook.",
			Setup: "In Discord: Edit Channel > Integrations > Webhooks > New Webhook > Copy Webhook URL. This needs the permission Manage " +
				"Webhooks.",
			Settings: []channels.Setting{
				secret("webhook_url", "The URL of the webhook, https://discord.com/api/webhooks/ID/TOKEN.",
					hookAt(`/api(/v\d+)?/webhooks/\d+/[\w-]+/?`,
						"discord.com", "discordapp.com", "ptb.discord.com", "canary.discord.com")),
				optional("thread_id", "The ID of a thread of the channel to post to.",
					pattern(`\d{1,20}`, "is not an ID, which has digits only")),
				optional("username", "The name to post as, instead of the webhook's, of at most 80 characters.", discordName),
				optional("avatar_url", "The https URL of the picture to post with.", hook),
			},
		},
		escape: markdownEscape,
		limit:  4000, // a description has 4,096 characters
		send:   sendDiscord,
	}
}

// discordName accepts the names that Discord accepts for a webhook.
func discordName(value string) error {
	if err := text(value); err != nil {
		return err
	}
	if strings.TrimSpace(value) == "" || utf8.RuneCountInString(value) > 80 {
		return errors.New("is not a name of 1 to 80 characters")
	}
	for _, word := range []string{"clyde", "discord"} {
		if strings.Contains(strings.ToLower(value), word) {
			return errors.New("contains the word " + word + ", which Discord refuses")
		}
	}
	return nil
}

func sendDiscord(ctx context.Context, m *delivery) error {
	hook, err := url.Parse(m.settings["webhook_url"])
	if err != nil {
		return errors.New("webhook_url is malformed")
	}
	parts := strings.Split(strings.Trim(hook.Path, "/"), "/")
	if len(parts) < 2 {
		return errors.New("webhook_url is malformed")
	}
	query := url.Values{"wait": {"true"}} // or Discord reports no error
	for _, thread := range []string{hook.Query().Get("thread_id"), m.settings["thread_id"]} {
		if thread != "" {
			query.Set("thread_id", thread)
		}
	}
	color := 0xd60510
	if m.isUp() {
		color = 0x2eb67d
	}
	body := map[string]any{
		"embeds":           []any{map[string]any{"title": m.title, "description": m.text, "color": color}},
		"allowed_mentions": map[string]any{"parse": []string{}},
	}
	for field, value := range map[string]string{"username": m.settings["username"], "avatar_url": m.settings["avatar_url"]} {
		if value != "" {
			body[field] = value
		}
	}
	answer, err := m.do(ctx, request{
		url:    join("https://discord.com/api/webhooks", parts[len(parts)-2:]...) + "?" + query.Encode(),
		header: map[string]string{"User-Agent": discordAgent},
		json:   body,
	})
	return discordError(err, answer)
}

// discordError returns the error of an answer of Discord, where a message is a success.
func discordError(err error, answer []byte) error {
	var result struct {
		ID         string  `json:"id"`
		Code       int     `json:"code"`
		RetryAfter float64 `json:"retry_after"` // seconds
	}
	parsed := json.Unmarshal(answer, &result) == nil
	status, failed := errors.AsType[*outbound.StatusError](err)
	switch {
	case err == nil && (!parsed || result.ID == ""):
		return errAnswer
	case !failed || !parsed:
		return err
	case status.Status == http.StatusTooManyRequests && result.RetryAfter > 0:
		return channels.RetryAfter(err, time.Duration(min(result.RetryAfter, 86_400)*float64(time.Second)))
	case result.Code == 10003 || result.Code == 10015 || result.Code == 50027: // unknown thread, webhook, token
		return channels.Permanent(err)
	}
	return err
}
