package services

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/channels/message"
	"github.com/rollcall-dev/rollcall/channels/outbound"
)

func googlechatService() service {
	return service{
		info: channels.Type{
			Kind: "googlechat", Title: "Google Chat", Category: channels.CategoryChat,
			Doc: "Posts a card to a Google Chat space with a webhook. All alerts about one outage form a thread.",
			Setup: "In Google Chat, open the menu at the name of the space: Apps & integrations > Webhooks. Add a webhook and copy its " +
				"URL, which begins with https://chat.googleapis.com/.",
			Settings: []channels.Setting{
				secret("webhook_url", "The URL of the webhook, "+
					"https://chat.googleapis.com/v1/spaces/…/messages?key=…&token=….",
					hookAt(`/v1/spaces/[^/]+/messages`, "chat.googleapis.com")),
			},
		},
		escape: slackEscape, // a paragraph is HTML
		send:   sendGoogleChat,
	}
}

// sendGoogleChat sends a card. A text message has markup without escapes, of one of two kinds; in a card the header is
// plain text and a paragraph is HTML.
func sendGoogleChat(ctx context.Context, m *delivery) error {
	widgets := []any{map[string]any{
		"textParagraph": map[string]string{"text": strings.ReplaceAll(m.text, "\n", "<br>")},
	}}
	if m.hasPage() {
		widgets = append(widgets, map[string]any{"buttonList": map[string]any{"buttons": []any{map[string]any{
			"text": m.pageLabel(), "onClick": map[string]any{"openLink": map[string]string{"url": m.n.Check.URL}},
		}}}})
	}
	title := message.Title(m.n)
	body := map[string]any{
		"fallbackText": title,
		"cardsV2": []any{map[string]any{"cardId": "alert", "card": map[string]any{
			"header":   map[string]string{"title": title},
			"sections": []any{map[string]any{"widgets": widgets}},
		}}},
	}
	address := m.settings["webhook_url"]
	if u, err := url.Parse(address); err == nil && m.n.Incident != "" {
		query := u.Query()
		query.Set("messageReplyOption", "REPLY_MESSAGE_FALLBACK_TO_NEW_THREAD")
		u.RawQuery = query.Encode()
		address = u.String()
		body["thread"] = map[string]string{"threadKey": m.n.Incident}
	}
	answer, err := m.do(ctx, request{url: address, json: body})
	var result struct {
		Name  string `json:"name"`
		Error struct {
			Status string `json:"status"`
		} `json:"error"`
	}
	parsed := json.Unmarshal(answer, &result) == nil
	if err == nil && (!parsed || result.Name == "") {
		return errAnswer
	}
	status, failed := errors.AsType[*outbound.StatusError](err)
	if failed && parsed && status.Status == http.StatusNotFound && result.Error.Status == "NOT_FOUND" { // no such space
		return channels.Permanent(err)
	}
	return err
}
