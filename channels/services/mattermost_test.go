package services_test

import (
	"net/http"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func mattermostSample() sample {
	return sample{
		settings: values{"webhook_url": "https://chat.example.org/sub/hooks/s3cr3tXs3cr3tX", "channel": "ops/@?#%ž", "username": "ž/@"},
		answers:  ok("ok"),
		rules:    mattermostRules,
		want: []request{{"POST", "https://chat.example.org/sub/hooks/s3cr3tXs3cr3tX", values{},
			raw(`{"text":"` + full + `","username":"ž/@","channel":"ops/@?#%ž"}`)}},
	}
}

// mattermostRules are those of https://developers.mattermost.com/integrate/webhooks/incoming/ and of the server:
// https://github.com/mattermost/mattermost, server/channels/web/webhook.go and server/public/model/incoming_webhook.go.
func mattermostRules(r *http.Request, body any) *answer {
	fields, isObject := body.(map[string]any)
	if !regexp.MustCompile(`/hooks/[A-Za-z0-9]+$`).MatchString(r.URL.Path) || r.Method != http.MethodPost {
		return refuse(404, `{"id":"api.context.404.app_error","message":"Sorry, we could not find the page.","status_code":404}`)
	}
	if !isObject {
		return refuse(400, `{"id":"model.incoming_hook.parse_data.app_error","status_code":400}`)
	}
	for name, value := range fields {
		text, isText := value.(string)
		known := map[string]bool{"text": true, "username": true, "channel": true, "icon_url": true, "icon_emoji": true}
		if !known[name] || !isText || utf8.RuneCountInString(text) > 16_383 {
			return refuse(400, `{"id":"model.incoming_hook.parse_data.app_error","status_code":400}`)
		}
	}
	if fields["text"] == "" || fields["text"] == nil {
		return refuse(400, `{"id":"web.incoming_webhook.text.app_error","message":"No text specified.","status_code":400}`)
	}
	return nil
}

func TestMattermostIcon(t *testing.T) {
	for icon, want := range map[string]values{
		"https://h/a.png": {"icon_url": "https://h/a.png"}, "bell": {"icon_emoji": "bell"}, ":bell:": {"icon_emoji": "bell"},
	} {
		s := serveSample(t, mattermostSample())
		if err := s.send("mattermost", values{"webhook_url": "http://h/hooks/k", "icon": icon}, up()); err != nil {
			t.Fatal(err)
		}
		got := values{}
		for name, value := range s.got[0].Body.(map[string]any) {
			if strings.HasPrefix(name, "icon") {
				got[name] = value.(string)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	}
}

// TestMattermostErrors uses the answers of HandleIncomingWebhook in server/channels/app/webhook.go. The server answers
// 400 for an unknown webhook and while its database is away.
func TestMattermostErrors(t *testing.T) {
	testAnswers(t, mattermostSample(), "mattermost", []outcome{
		{name: "ok", answer: answer{status: 200, body: "ok\n"}},
		{name: "sign-in page", answer: answer{status: 200, body: "<html>ok</html>"}, failed: true},
		{name: "no content", answer: answer{status: 204}, failed: true},
		{name: "no webhook", answer: answer{status: 400, body: `{"id":"web.incoming_webhook.invalid.app_error","message":"Invalid webhook.","status_code":400}`}, failed: true},
		{name: "webhooks are off", answer: answer{status: 501, body: `{"id":"web.incoming_webhook.disabled.app_error","status_code":501}`}, failed: true},
		{name: "unknown channel", answer: answer{status: 404, body: `{"id":"web.incoming_webhook.channel.app_error","status_code":404}`}, failed: true, permanent: true},
		{name: "deleted channel", answer: answer{status: 404, body: `{"id":"app.channel.get.existing.app_error","status_code":404}`}, failed: true, permanent: true},
		{name: "the database is away", answer: answer{status: 500, body: `{"id":"web.incoming_webhook.channel.app_error","status_code":500}`}, failed: true},
		{name: "another page", answer: answer{status: 404, body: `{"id":"api.context.404.app_error","status_code":404}`}, failed: true},
	})
}
