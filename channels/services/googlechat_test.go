package services_test

import (
	"encoding/json"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const googlechatMessage = `{"name":"spaces/AAA/messages/B.B","sender":{"name":"users/1","type":"BOT"},"thread":{"name":"spaces/AAA/threads/B"}}`

func googlechatSample() sample {
	return sample{
		settings: values{"webhook_url": "https://chat.googleapis.com/v1/spaces/AAA/messages?key=s3cr3tXkey&token=s3cr3tXtoken"},
		answers:  ok(googlechatMessage),
		rules:    googlechatRules,
		want: []request{{"POST", "https://chat.googleapis.com/v1/spaces/AAA/messages?key=s3cr3tXkey" +
			"&messageReplyOption=REPLY_MESSAGE_FALLBACK_TO_NEW_THREAD&token=s3cr3tXtoken", values{},
			raw(`{"fallbackText":"` + title + `","thread":{"threadKey":"i-1"},"cardsV2":[{"cardId":"alert","card":{
				"header":{"title":"` + title + `"},"sections":[{"widgets":[
				{"textParagraph":{"text":"` + strings.ReplaceAll(body, `\n`, "<br>") + `"}},
				{"buttonList":{"buttons":[{"text":"The check","onClick":{"openLink":{"url":"https://rollcall.example.org/c/1"}}}]}}]}]}}]}`)}},
	}
}

// googlechatRules are those of https://developers.google.com/workspace/chat/quickstart/webhooks,
// https://developers.google.com/workspace/chat/api/reference/rest/v1/spaces.messages/create (32,000 bytes) and
// https://developers.google.com/workspace/chat/api/reference/rest/v1/cards (text in a subset of HTML).
func googlechatRules(r *http.Request, body any) *answer {
	const invalid = `{"error":{"code":400,"message":"Invalid JSON payload","status":"INVALID_ARGUMENT"}}`
	fields, isObject := body.(map[string]any)
	query := r.URL.Query()
	if query.Get("key") == "" || query.Get("token") == "" {
		return refuse(401, `{"error":{"code":401,"message":"no credentials","status":"UNAUTHENTICATED"}}`)
	}
	if !isObject || (fields["text"] == nil && fields["cardsV2"] == nil) {
		return refuse(400, invalid)
	}
	for name := range fields {
		if known := map[string]bool{"text": true, "cardsV2": true, "fallbackText": true, "thread": true}; !known[name] {
			return refuse(400, invalid)
		}
	}
	document, _ := json.Marshal(fields)
	var message struct {
		CardsV2 []struct {
			Card struct {
				Header   struct{ Title string }
				Sections []struct {
					Widgets []struct {
						TextParagraph *struct{ Text string }
						ButtonList    *struct{ Buttons []struct{ Text string } }
					}
				}
			}
		}
	}
	if json.Unmarshal(document, &message) != nil || len(document) > 32_000 {
		return refuse(400, invalid)
	}
	for _, c := range message.CardsV2 {
		if c.Card.Header.Title == "" || len(c.Card.Sections) == 0 {
			return refuse(400, invalid)
		}
		for _, widget := range c.Card.Sections[0].Widgets {
			if (widget.TextParagraph == nil) == (widget.ButtonList == nil) {
				return refuse(400, invalid)
			}
			if p := widget.TextParagraph; p != nil && strings.Contains(regexp.MustCompile(`<br>|&lt;|&gt;|&amp;`).ReplaceAllString(p.Text, ""), "<") {
				return refuse(400, invalid)
			}
		}
	}
	return nil
}

// TestGoogleChatMarkup uses the markup of https://developers.google.com/workspace/chat/format-messages.
func TestGoogleChatMarkup(t *testing.T) {
	n := down()
	n.Check.Name, n.Check.URL = "*b* _i_ ~s~ `c` <http://evil|x> <users/all> <b>&", ""
	n.Reason = n.Check.Name
	s := serveSample(t, googlechatSample())
	if err := s.send("googlechat", googlechatSample().settings, n); err != nil {
		t.Fatal(err)
	}
	card := s.got[0].Body.(map[string]any)["cardsV2"].([]any)[0].(map[string]any)["card"].(map[string]any)
	widgets := card["sections"].([]any)[0].(map[string]any)["widgets"].([]any)
	got := []any{card["header"], widgets}
	want := []any{
		map[string]any{"title": "DOWN: " + n.Check.Name},
		[]any{map[string]any{"textParagraph": map[string]any{"text": "Down since 2026-03-15 04:00:00 UTC: " +
			"*b* _i_ ~s~ `c` &lt;http://evil|x&gt; &lt;users/all&gt; &lt;b&gt;&amp;.<br>Last ping: none"}}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if s.got[0].Body.(map[string]any)["text"] != nil {
		t.Error("text has markup without escapes")
	}
}

// TestGoogleChatErrors uses the errors of https://cloud.google.com/apis/design/errors.
func TestGoogleChatErrors(t *testing.T) {
	testAnswers(t, googlechatSample(), "googlechat", []outcome{
		{name: "sign-in page", answer: answer{status: 200, body: "<html>"}, failed: true},
		{name: "no message", answer: answer{status: 200, body: "{}"}, failed: true},
		{name: "no space", answer: answer{status: 404, body: `{"error":{"code":404,"message":"Space not found","status":"NOT_FOUND"}}`}, failed: true, permanent: true},
		{name: "not found by a proxy", answer: answer{status: 404, body: "<html>"}, failed: true},
		{name: "too fast", answer: answer{status: 429, body: `{"error":{"code":429,"status":"RESOURCE_EXHAUSTED"}}`}, failed: true},
	})
}
