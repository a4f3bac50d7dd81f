package services_test

import (
	"encoding/json"
	"net/http"
	"regexp"
	"testing"
	"unicode/utf8"
)

func notifiarrSample() sample {
	return sample{
		settings: values{"api_key": "s3cr3tX-key", "channel": "1234567890123456789"},
		answers:  ok(`{"result":"success","details":{"response":"sent"}}`),
		rules:    notifiarrRules,
		want: []request{{"POST", "https://notifiarr.com/api/v1/notification/passthrough/s3cr3tX-key", values{},
			raw(`{"notification":{"update":false,"name":"Rollcall","event":"n-1"},"discord":{"color":"D60510",
				"text":{"title":"` + title + `","description":"` + body + `"},"ids":{"channel":1234567890123456789}}}`)}},
	}
}

// notifiarrRules are those of https://notifiarr.wiki/pages/integrations/passthrough/, and Discord's for an embed.
func notifiarrRules(r *http.Request, body any) *answer {
	document, _ := json.Marshal(body)
	var message struct {
		Notification struct {
			Update *bool
			Name   string
			Event  string
		}
		Discord struct {
			Color string
			Text  struct{ Title, Description string }
			IDs   struct{ Channel float64 }
		}
	}
	if !regexp.MustCompile(`^/api/v1/notification/passthrough/[\w-]+$`).MatchString(r.URL.Path) {
		return refuse(401, `{"result":"error","details":{"response":"Unauthorized"}}`)
	}
	if json.Unmarshal(document, &message) != nil || message.Notification.Name == "" || message.Notification.Update == nil ||
		!regexp.MustCompile(`^[0-9A-F]{6}$`).MatchString(message.Discord.Color) || message.Discord.IDs.Channel == 0 ||
		utf8.RuneCountInString(message.Discord.Text.Title) > 256 || utf8.RuneCountInString(message.Discord.Text.Description) > 4096 {
		return refuse(400, `{"result":"error","details":{"response":"invalid payload"}}`)
	}
	return nil
}

// TestNotifiarrErrors uses the answers that the service's client reads: https://github.com/Notifiarr/notifiarr,
// pkg/website/website_routes.go.
func TestNotifiarrErrors(t *testing.T) {
	testAnswers(t, notifiarrSample(), "notifiarr", []outcome{
		{name: "refused", answer: ok(`{"result":"error","details":{"response":"no such channel"}}`)[0], failed: true},
		{name: "sign-in page", answer: ok("<html>")[0], failed: true},
		{name: "no result", answer: ok("{}")[0], failed: true},
		{name: "wrong key", answer: answer{status: 401, body: `{"result":"error"}`}, failed: true},
	})
}
