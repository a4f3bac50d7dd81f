package services

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/channels/message"
)

// maxCard is the maximum size of a card's lines in bytes. Teams takes about 28 KB for the whole message.
const maxCard = 20_000

func teamsService() service {
	return service{
		info: channels.Type{
			Kind: "teams", Title: "Microsoft Teams", Category: channels.CategoryChat,
			Doc: "Posts a card to a Microsoft Teams channel or chat with the webhook of a workflow.",
			Setup: "In Teams, open the menu of the channel or chat, choose Workflows, and then \"Send webhook alerts to a channel\" or " +
				"\"to a chat\". Copy the URL that the workflow shows at the end.",
			Settings: []channels.Setting{
				secret("webhook_url", "The https URL of the workflow's webhook, "+
					"such as https://….environment.api.powerplatform.com/….", teamsHook),
			},
		},
		send: sendTeams,
	}
}

// teamsHook accepts https URLs except those of connectors, which Microsoft has retired.
func teamsHook(value string) error {
	u, err := parse(value, "https")
	if err != nil {
		return err
	}
	host := strings.ToLower(u.Hostname())
	if strings.HasSuffix(host, ".webhook.office.com") || host == "outlook.office.com" || host == "outlook.office365.com" {
		return errors.New("belongs to a connector, which Microsoft has retired: create a webhook with Workflows in Teams")
	}
	return nil
}

func sendTeams(ctx context.Context, m *delivery) error {
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
	size := 0
	for line := range strings.SplitSeq(m.text, "\n") {
		block := run(line, nil)
		document, err := json.Marshal(block)
		if err != nil {
			return channels.Permanent(err)
		}
		if size += len(document); size > maxCard {
			blocks = append(blocks, run("…", nil))
			break
		}
		blocks = append(blocks, block)
	}
	card := map[string]any{
		"$schema":      "http://adaptivecards.io/schemas/adaptive-card.json",
		"type":         "AdaptiveCard",
		"version":      "1.4",
		"fallbackText": teamsEscape(message.Title(m.n)), // also the text of the notification
		"body":         blocks,
		"msteams":      map[string]string{"width": "Full"},
	}
	if m.hasPage() {
		card["actions"] = []any{map[string]string{"type": "Action.OpenUrl", "title": m.pageLabel(), "url": m.n.Check.URL}}
	}
	res, answer, err := m.fetch(ctx, request{url: m.settings["webhook_url"], json: map[string]any{
		"type":    "message",
		"summary": m.title,
		"attachments": []any{map[string]any{
			"contentType": "application/vnd.microsoft.card.adaptive", "contentUrl": nil, "content": card,
		}},
	}})
	if err != nil {
		return err
	}
	// A workflow is answered for with 202, or with what its own Response action says, but not with a web page.
	if res.StatusCode != http.StatusAccepted && (res.StatusCode != http.StatusOK || strings.HasPrefix(strings.TrimSpace(string(answer)), "<")) {
		return errAnswer
	}
	return nil
}

// teamsEscape breaks links and emphasis in Markdown, for the only text of a card that may be interpreted.
func teamsEscape(text string) string {
	return strings.NewReplacer("](", "]"+gap+"(", "*", "*"+gap, "_", "_"+gap).Replace(text)
}
