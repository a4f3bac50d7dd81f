package services_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/rollcall-dev/rollcall/channels"
)

const teamsURL = "https://default0.1a.environment.api.powerplatform.com:443/powerautomate/automations/direct/workflows/1/triggers/manual/paths/invoke?api-version=1&sig=s3cr3tX%2F%3D"

func teamsSample() sample {
	return sample{
		settings: values{"webhook_url": teamsURL},
		answers:  []answer{{status: 202}},
		rules:    teamsRules,
		want: []request{{"POST", teamsURL, values{},
			raw(`{"type":"message","summary":"` + title + `","attachments":[{"contentType":"application/vnd.microsoft.card.adaptive",
			"contentUrl":null,"content":{"$schema":"http://adaptivecards.io/schemas/adaptive-card.json","type":"AdaptiveCard",
			"version":"1.4","fallbackText":"` + title + `","msteams":{"width":"Full"},
			"actions":[{"type":"Action.OpenUrl","title":"The check","url":"https://rollcall.example.org/c/1"}],"body":[
			{"type":"RichTextBlock","inlines":[{"type":"TextRun","text":"` + title + `","weight":"Bolder","color":"Attention"}]},
			{"type":"RichTextBlock","inlines":[{"type":"TextRun","text":"Down since 2026-03-15 04:00:00 UTC: no ping in time."}]},
			{"type":"RichTextBlock","inlines":[{"type":"TextRun","text":"Last ping: none"}]},
			{"type":"RichTextBlock","inlines":[{"type":"TextRun","text":"https://rollcall.example.org/c/1"}]}]}}]}`)}},
	}
}

// teamsRules are those of the template for webhooks, https://learn.microsoft.com/en-us/connectors/teams/ (messages of
// about 28 KB), and of https://learn.microsoft.com/en-us/adaptive-cards/schema-explorer/adaptive-card.
func teamsRules(_ *http.Request, body any) *answer {
	document, _ := json.Marshal(body)
	var message struct {
		Type        string
		Attachments []struct {
			ContentType string
			Content     struct {
				Type, Version, FallbackText string
				Body                        []struct {
					Type    string
					Inlines []struct{ Type, Text string }
				}
			}
		}
	}
	if json.Unmarshal(document, &message) != nil || message.Type != "message" || len(message.Attachments) == 0 {
		return refuse(400, `{"error":{"code":"TriggerInputSchemaMismatch"}}`)
	}
	if len(document) > 28_000 {
		return refuse(413, `{"error":{"code":"RequestEntityTooLarge"}}`)
	}
	for _, a := range message.Attachments {
		card := a.Content
		if a.ContentType != "application/vnd.microsoft.card.adaptive" || card.Type != "AdaptiveCard" || card.Version == "" || card.FallbackText == "" {
			return refuse(400, `{"error":{"code":"BadRequest","message":"not an adaptive card"}}`)
		}
		for _, block := range card.Body {
			if block.Type != "RichTextBlock" || len(block.Inlines) != 1 || block.Inlines[0].Type != "TextRun" {
				return refuse(400, `{"error":{"code":"BadRequest","message":"a TextBlock interprets Markdown"}}`)
			}
		}
	}
	return nil
}

func TestTeamsErrors(t *testing.T) {
	testAnswers(t, teamsSample(), "teams", []outcome{
		{name: "accepted", answer: answer{status: 202}},
		{name: "a response of the workflow", answer: answer{status: 200, body: `{"done":true}`}},
		{name: "sign-in page", answer: answer{status: 200, body: "\r\n<!DOCTYPE html>"}, failed: true},
		{name: "no content", answer: answer{status: 204}, failed: true},
		{name: "no signature", answer: answer{status: 401, body: `{"error":{"code":"DirectApiAuthorizationRequired"}}`}, failed: true},
		{name: "too fast", answer: answer{429, "", values{"Retry-After": "3"}}, failed: true, delay: 3e9},
	})
}

// TestTeamsManyLines sends the output of a job in as many lines as an alert has.
func TestTeamsManyLines(t *testing.T) {
	n := down()
	n.Ping = channels.Ping{At: n.At, Kind: "fail", End: []byte(strings.Repeat("<\n", 2000))}
	n.Check.Name = "[x](http://evil) **b** _i_"
	s := serveSample(t, teamsSample())
	if err := s.send("teams", teamsSample().settings, n); err != nil {
		t.Fatal(err)
	}
	card := s.got[0].Body.(map[string]any)["attachments"].([]any)[0].(map[string]any)["content"].(map[string]any)
	const gap = "\u200b"
	if want := "DOWN: [x]" + gap + "(http://evil) *" + gap + "*" + gap + "b*" + gap + "*" + gap + " _" + gap + "i_" + gap; card["fallbackText"] != want {
		t.Errorf("%q", card["fallbackText"])
	}
}
