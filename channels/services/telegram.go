package services

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/channels/outbound"
)

func telegramService() service {
	return service{
		info: channels.KindInfo{
			Kind: "telegram", Title: "Telegram", Category: channels.Chat,
			Doc: "Sends messages as a Telegram bot, to one or several chats.",
			Settings: []channels.Setting{
				secret("token", "The token of the bot, such as 123456:ABC-DEF.",
					pattern(`\d{1,20}:[\w-]{10,100}`, "is not the token of a bot, such as 123456:ABC-DEF")),
				required("chats", "The chats: IDs such as -1001234567890, or @names of channels, separated by commas.",
					each(pattern(`-?\d{1,20}|@\w{1,100}`, "has a chat that is neither an ID nor an @name"))),
				optional("thread_id", "The ID of the topic, in a group with topics.", number(1, 1<<31-1)),
				withDefault(choice("silent", "yes sends without a sound.", "yes", "no"), "no"),
			},
		},
		escape: atEscape,
		send: func(ctx context.Context, m *delivery) error {
			chats := list(m.settings["chats"])
			if len(chats) == 0 {
				return errors.New("chats is empty")
			}
			var permanent, retryable []error
			for _, chat := range chats {
				switch err := sendTelegram(ctx, m, chat, true); {
				case channels.IsPermanent(err):
					permanent = append(permanent, err)
				case err != nil:
					retryable = append(retryable, err)
				}
			}
			if len(retryable) > 0 {
				return retryable[0] // it may carry the pause
			}
			return errors.Join(permanent...)
		},
	}
}

// sendTelegram sends to one chat. If the chat has become a supergroup and follow is true, it sends to the new ID in the
// answer.
func sendTelegram(ctx context.Context, m *delivery, chat string, follow bool) error {
	body := map[string]any{
		"chat_id":              chat,
		"text":                 m.titleAndText(),
		"link_preview_options": map[string]any{"is_disabled": true},
		"disable_notification": m.settings["silent"] == "yes",
	}
	if id, err := strconv.Atoi(m.settings["thread_id"]); err == nil {
		body["message_thread_id"] = id
	}
	address := "https://api.telegram.org/bot" + m.settings["token"] + "/sendMessage"
	answer, err := m.do(ctx, request{url: address, json: body})
	var result struct {
		OK         *bool `json:"ok"`
		Parameters struct {
			RetryAfter int64 `json:"retry_after"`
			MigrateTo  int64 `json:"migrate_to_chat_id"`
		} `json:"parameters"`
	}
	parsed := json.Unmarshal(answer, &result) == nil && result.OK != nil
	status, failed := errors.AsType[*outbound.StatusError](err)
	switch {
	case err == nil && !parsed:
		return errAnswer
	case !failed:
		return err
	case parsed && result.Parameters.MigrateTo != 0 && follow:
		return sendTelegram(ctx, m, strconv.FormatInt(result.Parameters.MigrateTo, 10), false)
	case parsed && (status.Status == http.StatusBadRequest || status.Status == http.StatusForbidden):
		return channels.Permanent(err)
	case parsed && status.Status == http.StatusTooManyRequests && result.Parameters.RetryAfter > 0:
		return channels.RetryAfter(err, time.Duration(min(result.Parameters.RetryAfter, 86_400))*time.Second)
	}
	return err
}
