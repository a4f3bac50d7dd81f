package services

import (
	"context"
	"strings"

	"github.com/rollcall-dev/rollcall/channels"
)

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
