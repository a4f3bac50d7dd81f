package services

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/google/uuid"
	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/channels/outbound"
)

func lineService() service {
	return service{
		info: channels.Type{
			Kind: "line", Title: "LINE", Category: channels.CategoryChat,
			Doc: "Sends push messages from a LINE Official Account, to one or several users, groups or chats.",
			Setup: "In the LINE Developers Console, open your Messaging API channel and issue a long-lived channel access token. Your own " +
				"user ID is among its basic settings; LINE sends those of others to the webhook of the channel.",
			Settings: []channels.Setting{
				secret("token", "The channel access token of the Messaging API.", token),
				required("to", "The IDs of users (U…), groups (C…) or chats (R…), separated by commas.",
					each(pattern(`[UCR][0-9a-f]{32}`, "has an item that is no ID: U, C or R and 32 hexadecimal digits"))),
				withDefault(choice("silent", "yes sends without a notification.", "yes", "no"), "no"),
			},
		},
		limit: 5000, // UTF-16 code units, which are fewer than bytes
		send: func(ctx context.Context, m *delivery) error {
			return m.each("to", func(to string) error { return sendLine(ctx, m, to) })
		},
	}
}

func sendLine(ctx context.Context, m *delivery, to string) error {
	res, answer, err := m.fetch(ctx, request{
		url: "https://api.line.me/v2/bot/message/push",
		header: map[string]string{
			"Authorization": bearer(m.settings["token"]),
			// LINE accepts one message for a key, within 24 hours.
			"X-Line-Retry-Key": uuid.NewSHA1(uuid.NameSpaceURL, []byte("rollcall:"+m.n.ID+":"+to)).String(),
		},
		json: map[string]any{
			"to":                   to,
			"messages":             []any{map[string]any{"type": "text", "text": m.titleAndText()}},
			"notificationDisabled": m.settings["silent"] == "yes",
		},
	})
	var result struct {
		Message      string            `json:"message"`
		SentMessages []json.RawMessage `json:"sentMessages"`
	}
	parsed := json.Unmarshal(answer, &result) == nil
	status, failed := errors.AsType[*outbound.StatusError](err)
	switch {
	case err == nil && len(result.SentMessages) == 0:
		return errAnswer
	case !failed:
		return err
	case status.Status == http.StatusConflict && res.Header.Get("X-Line-Accepted-Request-Id") != "":
		return nil // an earlier attempt was accepted
	case status.Status == http.StatusBadRequest && parsed && result.Message != "":
		return channels.Permanent(err)
	}
	return err
}
