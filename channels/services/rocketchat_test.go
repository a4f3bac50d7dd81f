package services_test

import (
	"net/http"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func rocketchatSample() sample {
	return sample{
		settings: values{"webhook_url": "https://chat.example.org:8443/sub/hooks/s3cr3tXid/s3cr3tXtoken", "channel": "#ž/@?"},
		answers:  ok(`{"success":true}`),
		rules:    rocketchatRules,
		want: []request{{"POST", "https://chat.example.org:8443/sub/hooks/s3cr3tXid/s3cr3tXtoken", values{},
			raw(`{"text":"` + full + `","channel":"#ž/@?"}`)}},
	}
}

// rocketchatRules are those of https://docs.rocket.chat/docs/integrations and of the server:
// https://github.com/RocketChat/Rocket.Chat, apps/meteor/app/integrations/server/api/api.ts. A message has at most 5,000
// characters unless an administrator changes Message_MaxAllowedSize.
func rocketchatRules(r *http.Request, body any) *answer {
	if !regexp.MustCompile(`/hooks/[\w-]+(/[\w-]+)?/[\w-]+$`).MatchString(r.URL.Path) {
		return refuse(404, `{"success":false,"error":"Invalid integration id or token provided."}`)
	}
	fields, _ := body.(map[string]any)
	text, _ := fields["text"].(string)
	if text == "" { // the server answers success and posts nothing
		return refuse(400, `{"success":false,"error":"no text"}`)
	}
	if utf8.RuneCountInString(text) > 5000 {
		return refuse(400, `{"success":false,"error":"error-message-size-exceeded"}`)
	}
	return nil
}

func TestRocketChat(t *testing.T) {
	for _, hook := range []string{"http://chat.lan:3000/hooks/5f1a/Zk3", "https://h/hooks/5f1a/u1/Zk3"} {
		s := serveSample(t, rocketchatSample())
		if err := s.send("rocketchat", values{"webhook_url": hook, "username": "ž/@"}, up()); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]any{hook, "ž/@"}, []any{s.got[0].URL, s.got[0].Body.(map[string]any)["username"]}); diff != "" {
			t.Error(diff)
		}
	}
}

func TestRocketChatErrors(t *testing.T) {
	testAnswers(t, rocketchatSample(), "rocketchat", []outcome{
		{name: "sign-in page", answer: answer{status: 200, body: "<html>"}, failed: true},
		{name: "another service", answer: answer{status: 200, body: "ok"}, failed: true},
		{name: "refused", answer: answer{status: 200, body: `{"success":false,"error":"unknown-error"}`}, failed: true},
		{name: "fixed channel", answer: answer{status: 400, body: `{"success":false,"error":"overriding destination channel is disabled for this integration"}`}, failed: true},
		{name: "no webhook", answer: answer{status: 404, body: `{"success":false,"error":"Invalid integration id or token provided."}`}, failed: true, permanent: true},
		{name: "switched off", answer: answer{status: 503, body: "Service Unavailable"}, failed: true},
		{name: "odd error", answer: answer{status: 400, body: `{"success":false,"error":{"a":[1]}}`}, failed: true},
	})
}

// TestRocketChatMarkup uses markup of https://github.com/RocketChat/Rocket.Chat,
// packages/message-parser/src/grammar.pegjs, which has no escape for the backslash.
func TestRocketChatMarkup(t *testing.T) {
	const gap = "\u200b"
	n := down()
	n.Check.Name = `C:\tmp \(x\) ||s|| :a:b: <t:1630360800> [x](http://evil) ~~d~~ #general`
	s := serveSample(t, rocketchatSample())
	if err := s.send("rocketchat", rocketchatSample().settings, n); err != nil {
		t.Fatal(err)
	}
	want := `DOWN: C:\` + gap + `tmp \` + gap + `(x\` + gap + `) |` + gap + `|` + gap + `s|` + gap + `|` + gap + ` :` + gap + `a:` + gap + `b: <` + gap +
		`t:` + gap + `1630360800> [x]` + gap + `(http://evil) \~\~d\~\~ \#general`
	got, _, _ := strings.Cut(s.got[0].Body.(map[string]any)["text"].(string), "\n")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
