package shoutrrr

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/channels/message"
	"github.com/rollcall-dev/rollcall/channels/outbound"
)

// chatServices returns the chats for which the library accepts no client.
func chatServices() []service {
	return []service{larkService(), matrixService(), signalService(), slackService(), telegramService(), wecomService()}
}

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

func matrixService() service {
	return service{
		info: channels.KindInfo{
			Kind: "matrix", Title: "Matrix", Category: channels.Chat,
			Doc: "Sends messages to Matrix rooms as the user of an access token, and joins the rooms if need be.",
			Settings: []channels.Setting{
				address(required("homeserver", "The URL of the homeserver, such as https://matrix.example.org.", server)),
				secret("access_token", "The access token of the user.", token),
				required("rooms", "The rooms: IDs such as !abc:example.org, or aliases such as #ops:example.org, "+
					"separated by commas.",
					each(pattern(`[!#][^\s,]{1,254}`, "has a room that is neither an ID (!…) nor an alias (#…)"))),
			},
		},
		send: func(ctx context.Context, m *delivery) error {
			rooms := list(m.settings["rooms"])
			if len(rooms) == 0 {
				return errors.New("rooms is empty")
			}
			var first error
			for _, room := range rooms {
				if err := sendMatrix(ctx, m, room); err != nil && first == nil {
					first = err
				}
			}
			return first // a retry has the same transaction ID, so no room shows the message twice
		},
	}
}

func sendMatrix(ctx context.Context, m *delivery, room string) error {
	base := m.settings["homeserver"]
	header := map[string]string{"Authorization": "Bearer " + m.settings["access_token"]}
	address := join(base, "_matrix", "client", "v3", "join", room)
	answer, err := m.do(ctx, request{url: address, header: header, json: struct{}{}})
	if err != nil {
		return matrixError(err, answer)
	}
	var joined struct {
		RoomID string `json:"room_id"`
	}
	if json.Unmarshal(answer, &joined) != nil || joined.RoomID == "" {
		return errAnswer
	}
	answer, err = m.do(ctx, request{
		method: http.MethodPut,
		url:    join(base, "_matrix", "client", "v3", "rooms", joined.RoomID, "send", "m.room.message", "rollcall-"+m.n.ID),
		header: header,
		// An empty mention list: even @room mentions nobody.
		json: map[string]any{"msgtype": "m.text", "body": m.titleAndText(), "m.mentions": struct{}{}},
	})
	return matrixError(err, answer)
}

// matrixError adds the pause, which older homeservers send only in the body.
func matrixError(err error, answer []byte) error {
	var result struct {
		Code       string `json:"errcode"`
		RetryAfter int64  `json:"retry_after_ms"`
	}
	if _, marked := channels.RetryDelay(err); err == nil || marked || json.Unmarshal(answer, &result) != nil {
		return err
	}
	if result.Code != "M_LIMIT_EXCEEDED" || result.RetryAfter <= 0 {
		return err
	}
	return channels.RetryAfter(err, time.Duration(min(result.RetryAfter, 86_400_000))*time.Millisecond)
}

func signalService() service {
	return service{
		info: channels.KindInfo{
			Kind: "signal", Title: "Signal", Category: channels.Chat,
			Doc: "Sends Signal messages through a signal-cli-rest-api server. " +
				"Credentials are either token, or username and password.",
			Settings: []channels.Setting{
				address(required("server_url", "The URL of the server.", server)),
				required("number", "The phone number to send from, in international form.", phone),
				required("recipients", "The phone numbers, user names or groups (group.…), separated by commas.", each(text)),
				notRequired(secret("token", "The bearer token.", token)),
				optional("username", "The user name for basic authentication.", user),
				notRequired(secret("password", "The password for basic authentication.", nil)),
			},
			Check: tokenOrPassword,
		},
		send: func(ctx context.Context, m *delivery) error {
			header := make(map[string]string)
			if m.settings["token"] != "" {
				header["Authorization"] = "Bearer " + m.settings["token"]
			} else if m.settings["username"] != "" {
				header["Authorization"] = basic(m.settings["username"], m.settings["password"])
			}
			_, err := m.do(ctx, request{url: join(m.settings["server_url"], "v2", "send"), header: header, json: map[string]any{
				"message": m.titleAndText(), "number": m.settings["number"], "recipients": list(m.settings["recipients"]),
			}})
			return err
		},
	}
}

func phone(value string) error {
	return pattern(`\+[1-9]\d{6,14}`, "is not a phone number: + and 7 to 15 digits, such as +37120000000")(value)
}

func basic(user, password string) string {
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(user+":"+password))
}

func larkService() service {
	return service{
		info: channels.KindInfo{
			Kind: "lark", Title: "Lark", Category: channels.Chat,
			Doc: "Posts to a Lark or Feishu group as a custom bot.",
			Settings: []channels.Setting{
				secret("webhook_url", "The URL of the bot, https://open.larksuite.com/open-apis/bot/v2/hook/…, "+
					"or the same at open.feishu.cn.",
					hookAt(`/open-apis/bot/v2/hook/[\w-]+`, "open.larksuite.com", "open.feishu.cn")),
				notRequired(secret("secret", "The key of the bot's signature verification.", nil)),
			},
		},
		send: func(ctx context.Context, m *delivery) error {
			// Lark interprets <at> in a plain message, but not in a post.
			paragraph := [][]any{{map[string]string{"tag": "text", "text": m.text}}}
			body := map[string]any{
				"msg_type": "post",
				"content": map[string]any{
					"post": map[string]any{"en_us": map[string]any{"title": m.title, "content": paragraph}},
				},
			}
			if secret := m.settings["secret"]; secret != "" {
				stamp := strconv.FormatInt(m.now().Unix(), 10)
				sum := hmac.New(sha256.New, []byte(stamp+"\n"+secret)).Sum(nil) // Lark signs the empty text
				body["timestamp"], body["sign"] = stamp, base64.StdEncoding.EncodeToString(sum)
			}
			answer, err := m.do(ctx, request{url: m.settings["webhook_url"], json: body})
			if err != nil {
				return err
			}
			var result struct {
				Code *int   `json:"code"`
				Msg  string `json:"msg"`
			}
			return codeError(json.Unmarshal(answer, &result), result.Code, result.Msg, 9499, 11232)
		},
	}
}

func wecomService() service {
	return service{
		info: channels.KindInfo{
			Kind: "wecom", Title: "WeCom", Category: channels.Chat,
			Doc: "Posts to a WeCom (WeChat Work) group as a group robot.",
			Settings: []channels.Setting{
				secret("key", "The key of the robot, which is at the end of its URL.",
					pattern(`[\w-]{8,100}`, "is not the key of a robot")),
			},
		},
		limit: 2000,
		send: func(ctx context.Context, m *delivery) error {
			answer, err := m.do(ctx, request{
				url:  "https://qyapi.weixin.qq.com/cgi-bin/webhook/send?" + url.Values{"key": {m.settings["key"]}}.Encode(),
				json: map[string]any{"msgtype": "text", "text": map[string]string{"content": message.Cut(m.titleAndText(), 2000)}},
			})
			if err != nil {
				return err
			}
			var result struct {
				Code *int   `json:"errcode"`
				Msg  string `json:"errmsg"`
			}
			return codeError(json.Unmarshal(answer, &result), result.Code, result.Msg, 45009)
		},
	}
}

// codeError returns the error of an answer with a code, which is 0 for success. The codes for "too fast" ask for a
// pause of a minute.
func codeError(malformed error, code *int, text string, tooFast ...int) error {
	if malformed != nil || code == nil {
		return errAnswer
	}
	if *code == 0 {
		return nil
	}
	err := refused(*code, text)
	for _, c := range tooFast {
		if c == *code {
			return channels.RetryAfter(err, time.Minute)
		}
	}
	return err
}
