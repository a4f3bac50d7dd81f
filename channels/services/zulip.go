package services

import (
	"context"
	"net/url"
	"strings"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/channels/message"
)

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
