package services

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/channels/outbound"
)

func telegramService() service {
	return service{
		info: channels.Type{
			Kind: "telegram", Title: "Telegram", Category: channels.CategoryChat,
			Doc: "Sends messages as a Telegram bot, to one or several chats.",
			Setup: "In Telegram, send /newbot to @BotFather, which answers with the token. Add the bot to the chat and write to it there; " +
				"https://api.telegram.org/botTOKEN/getUpdates then shows the ID of the chat.",
			Settings: []channels.Setting{
				secret("token", "The token of the bot, such as 123456:ABC-DEF1234ghIkl-zyx57W2v1u.",
					pattern(`\d{1,20}:[\w-]{10,100}`, "is not the token of a bot, such as 123456:ABC-DEF1234ghIkl-zyx57W2v1u")),
				required("chats", "The chats: IDs such as -1001234567890, or @names of channels, separated by commas.",
					each(pattern(`-?\d{1,20}|@\w{1,100}`, "has a chat that is neither an ID nor an @name"))),
				optional("thread_id", "The ID of the topic, in a group with topics.", number(1, 1<<31-1)),
				withDefault(choice("silent", "yes sends without a sound.", "yes", "no"), "no"),
			},
		},
		escape: atEscape,
		limit:  4096, // UTF-16 code units, which are fewer than bytes
		send: func(ctx context.Context, m *delivery) error {
			return m.each("chats", func(chat string) error { return sendTelegram(ctx, m, chat, true) })
		},
	}
}

// generalTopic is the topic that every group with topics has. The API accepts no message with its ID.
const generalTopic = 1

// sendTelegram sends to one chat. If the chat has become a supergroup and follow is true, it sends to the new ID in the
// answer.
func sendTelegram(ctx context.Context, m *delivery, chat string, follow bool) error {
	body := map[string]any{
		"chat_id":              chat,
		"text":                 m.titleAndText(),
		"link_preview_options": map[string]any{"is_disabled": true},
		"disable_notification": m.settings["silent"] == "yes",
	}
	if id, err := strconv.Atoi(m.settings["thread_id"]); err == nil && id != generalTopic {
		body["message_thread_id"] = id
	}
	address := "https://api.telegram.org/bot" + m.settings["token"] + "/sendMessage"
	answer, err := m.do(ctx, request{url: address, json: body})
	var result struct {
		OK          *bool  `json:"ok"`
		Code        int    `json:"error_code"`
		Description string `json:"description"`
		Parameters  struct {
			RetryAfter int64 `json:"retry_after"`
			MigrateTo  int64 `json:"migrate_to_chat_id"`
		} `json:"parameters"`
	}
	status, failed := errors.AsType[*outbound.StatusError](err)
	switch {
	case err != nil && !failed:
		return err
	case json.Unmarshal(answer, &result) != nil || result.OK == nil:
		return cmp.Or(err, errAnswer)
	case err == nil && *result.OK:
		return nil
	case err == nil:
		return refused(result.Code, result.Description)
	case result.Parameters.MigrateTo != 0 && follow:
		return sendTelegram(ctx, m, strconv.FormatInt(result.Parameters.MigrateTo, 10), false)
	case telegramGone(status.Status, result.Description):
		return channels.Permanent(err)
	case status.Status == http.StatusTooManyRequests && result.Parameters.RetryAfter > 0:
		return channels.RetryAfter(err, time.Duration(min(result.Parameters.RetryAfter, 86_400))*time.Second)
	}
	return err
}

// telegramGone reports whether a chat is not there for the bot. Other errors with these statuses end when somebody
// changes the rights of the bot, opens a topic or corrects a setting.
func telegramGone(status int, description string) bool {
	var texts []string
	switch status {
	case http.StatusBadRequest:
		texts = []string{"chat not found"}
	case http.StatusForbidden:
		texts = []string{"bot was blocked", "bot was kicked", "bot is not a member", "user is deactivated", "chat was deleted",
			"bot can't initiate conversation", "bot can't send messages to bots", "bots can't send messages to bots"}
	}
	return slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(description, text) })
}
