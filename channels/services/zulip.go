package services

import (
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/channels/message"
	"github.com/rollcall-dev/rollcall/channels/prose"
)

// maxTopic is the maximum length of a topic, in characters.
const maxTopic = 60

func zulipService() service {
	return service{
		info: channels.Type{
			Kind: "zulip", Title: "Zulip", Category: channels.CategoryChat,
			Doc: "Posts to a Zulip channel (stream) as a bot, or sends direct messages, or both.",
			Setup: "In Zulip: Personal settings > Bots > Add a new bot, of the type Incoming webhook. The list of bots shows its e-mail " +
				"address and its API key.",
			Settings: []channels.Setting{
				address(required("site", "The URL of the organization, such as https://example.zulipchat.com.", serverWithout("/api/v1"))),
				required("email", "The e-mail address of the bot.", user),
				secret("api_key", "The API key of the bot.", token),
				primary(optional("stream", "The name of the channel, or its ID.", text)),
				optional("topic", "The topic, at most 60 characters; the name of the check by default.",
					pattern(`[^\r\n]{1,60}`, "is not one line of at most 60 characters")),
				optional("users", "The users who get a direct message: e-mail addresses or IDs, separated by commas. "+
					"Several users get one conversation.", zulipUsers),
			},
			Check: func(settings map[string]string) *channels.SettingError {
				if settings["stream"] == "" && settings["users"] == "" {
					return &channels.SettingError{Setting: "stream", Reason: "and users are both missing"}
				}
				return nil
			},
		},
		limit: 9800, // of 10,000 characters
		send: func(ctx context.Context, m *delivery) error {
			messages := make(map[string]url.Values)
			var names []string
			if to := m.settings["stream"]; to != "" {
				topic := m.settings["topic"]
				if topic == "" {
					topic = prose.Line(message.Name(m.n.Check), maxTopic-1) // and "…"
				}
				names = append(names, "channel")
				// Servers before Zulip 9 do not know the type channel.
				messages["channel"] = url.Values{"type": {"stream"}, "to": {zulipID(to)}, "topic": {topic}}
			}
			if to := list(m.settings["users"]); len(to) > 0 {
				for i := range to {
					to[i] = zulipID(to[i])
				}
				names = append(names, "users")
				messages["users"] = url.Values{"type": {"direct"}, "to": {"[" + strings.Join(to, ",") + "]"}}
			}
			if len(names) == 0 {
				return errors.New("stream and users are empty")
			}
			return channels.Each(m.n, names, func(name string) error { return sendZulip(ctx, m, messages[name]) })
		},
	}
}

// zulipUsers accepts a list of e-mail addresses or one of IDs. The API accepts no list of both.
func zulipUsers(value string) error {
	if each(number(1, 1<<31-1))(value) == nil {
		return nil
	}
	return each(pattern(`[^\s@]+@[^\s@]+`, "is neither a list of e-mail addresses nor one of IDs"))(value)
}

// zulipID returns the name or the ID of a recipient in JSON. The API would read a bare name as JSON if it could.
func zulipID(recipient string) string {
	if id, err := strconv.ParseUint(recipient, 10, 31); err == nil {
		return strconv.FormatUint(id, 10)
	}
	name, _ := compact(recipient) // no text fails
	return string(name)
}

func sendZulip(ctx context.Context, m *delivery, form url.Values) error {
	form.Set("content", zulipContent(m))
	answer, err := m.do(ctx, request{
		url:    join(m.settings["site"], "api", "v1", "messages"),
		header: map[string]string{"Authorization": basic(m.settings["email"], m.settings["api_key"])},
		form:   form,
	})
	var result struct {
		Result     string  `json:"result"`
		Code       string  `json:"code"`
		Msg        string  `json:"msg"`
		RetryAfter float64 `json:"retry-after"`
	}
	if json.Unmarshal(answer, &result) != nil || result.Result == "" {
		if err == nil {
			err = errAnswer
		}
		return err
	}
	switch {
	case err == nil && result.Result != "success":
		return refused(result.Code, result.Msg)
	case err != nil && result.Code == "STREAM_DOES_NOT_EXIST":
		return channels.Permanent(err)
	case err != nil && result.Code == "RATE_LIMIT_HIT" && result.RetryAfter > 0:
		seconds := min(result.RetryAfter, 86_400) // with decimals, also in the header
		return channels.RetryAfter(err, time.Duration(seconds*float64(time.Second)))
	}
	return err
}

// zulipContent puts the message into a code block, in which Zulip ignores markup and mentions; Zulip has no escapes. No
// line can end the block, because text from users always follows a label, a status or "> ".
func zulipContent(m *delivery) string {
	text, link := m.titleAndText(), ""
	if rest, found := strings.CutSuffix(text, "\n"+m.n.Check.URL); found && m.n.Check.URL != "" {
		text, link = strings.TrimRight(rest, "\n"), m.n.Check.URL
	}
	return "```text\n" + text + "\n```\n" + link
}
