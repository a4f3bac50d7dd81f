package shoutrrr

import (
	"context"
	"net/url"
	"strings"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/channels/message"
)

// groupwareServices returns more chats for which the library accepts no client.
func groupwareServices() []service {
	return []service{googlechatService(), teamsService(), zulipService()}
}

func googlechatService() service {
	return service{
		info: channels.KindInfo{
			Kind: "googlechat", Title: "Google Chat", Category: channels.Chat,
			Doc: "Posts to a Google Chat space with a webhook. All alerts about one outage form a thread.",
			Settings: []channels.Setting{
				secret("webhook_url", "The URL of the webhook, "+
					"https://chat.googleapis.com/v1/spaces/…/messages?key=…&token=….",
					hookAt(`/v1/spaces/[^/]+/messages`, "chat.googleapis.com")),
			},
		},
		escape: googleEscape,
		send: func(ctx context.Context, m *delivery) error {
			address := m.settings["webhook_url"]
			body := map[string]any{"text": m.titleAndText()}
			if u, err := url.Parse(address); err == nil && m.n.Incident != "" {
				query := u.Query()
				query.Set("messageReplyOption", "REPLY_MESSAGE_FALLBACK_TO_NEW_THREAD")
				u.RawQuery = query.Encode()
				address = u.String()
				body["thread"] = map[string]string{"threadKey": m.n.Incident}
			}
			_, err := m.do(ctx, request{url: address, json: body})
			return err
		},
	}
}

func teamsService() service {
	return service{
		info: channels.KindInfo{
			Kind: "teams", Title: "Microsoft Teams", Category: channels.Chat,
			Doc: "Posts a card to a Microsoft Teams channel or chat with the webhook of a workflow.",
			Settings: []channels.Setting{
				secret("webhook_url", "The https URL of the webhook.", hook),
			},
		},
		send: func(ctx context.Context, m *delivery) error {
			color := "Attention"
			if m.isUp() {
				color = "Good"
			}
			// Teams interprets Markdown in a TextBlock, but not in a TextRun.
			run := func(text string, more map[string]any) map[string]any {
				inline := map[string]any{"type": "TextRun", "text": text}
				for name, value := range more {
					inline[name] = value
				}
				return map[string]any{"type": "RichTextBlock", "inlines": []any{inline}}
			}
			blocks := []any{run(m.title, map[string]any{"weight": "Bolder", "color": color})}
			for line := range strings.SplitSeq(m.text, "\n") {
				blocks = append(blocks, run(line, nil))
			}
			card := map[string]any{
				"$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
				"type":    "AdaptiveCard",
				"version": "1.4",
				"body":    blocks,
			}
			if strings.HasPrefix(m.n.Check.URL, "https://") || strings.HasPrefix(m.n.Check.URL, "http://") {
				card["actions"] = []any{map[string]string{"type": "Action.OpenUrl", "title": "The check", "url": m.n.Check.URL}}
			}
			_, err := m.do(ctx, request{url: m.settings["webhook_url"], json: map[string]any{
				"type":    "message",
				"summary": m.title,
				"attachments": []any{map[string]any{
					"contentType": "application/vnd.microsoft.card.adaptive", "contentUrl": nil, "content": card,
				}},
			}})
			return err
		},
	}
}

func zulipService() service {
	return service{
		info: channels.KindInfo{
			Kind: "zulip", Title: "Zulip", Category: channels.Chat,
			Doc: "Posts to a Zulip channel (stream) as a bot.",
			Settings: []channels.Setting{
				address(required("site", "The URL of the organization, such as https://example.zulipchat.com.", server)),
				required("email", "The e-mail address of the bot.", user),
				secret("api_key", "The API key of the bot.", token),
				required("stream", "The name of the channel.", text),
				optional("topic", "The topic, at most 60 characters; the name of the check by default.",
					pattern(`[^\r\n]{1,60}`, "is not one line of at most 60 characters")),
			},
		},
		send: func(ctx context.Context, m *delivery) error {
			topic := m.settings["topic"]
			if topic == "" {
				topic = message.Cut(message.Name(m.n.Check), 60)
			}
			_, err := m.do(ctx, request{
				url:    join(m.settings["site"], "api", "v1", "messages"),
				header: map[string]string{"Authorization": basic(m.settings["email"], m.settings["api_key"])},
				form: url.Values{
					"type": {"stream"}, "to": {m.settings["stream"]}, "topic": {topic}, "content": {zulipContent(m)},
				},
			})
			return err
		},
	}
}

// zulipContent puts the message into a code block, in which Zulip ignores markup and mentions; Zulip has no escapes. No
// line can end the block, because text from users always follows a label or a status.
func zulipContent(m *delivery) string {
	text, link := m.titleAndText(), ""
	if rest, found := strings.CutSuffix(text, "\n"+m.n.Check.URL); found && m.n.Check.URL != "" {
		text, link = rest, m.n.Check.URL
	}
	return "```text\n" + text + "\n```\n" + link
}
