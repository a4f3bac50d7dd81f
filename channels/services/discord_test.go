package services_test

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

const discordMessage = `{"id":"1234567890123456789","type":0,"content":"","channel_id":"5"}`

func discordSample() sample {
	return sample{
		settings: values{"webhook_url": "https://discord.com/api/webhooks/123456/s3cr3tX-token"},
		answers:  ok(discordMessage),
		rules:    discordRules,
		want: []request{{"POST", "https://discord.com/api/webhooks/123456/s3cr3tX-token?wait=true", values{},
			raw(`{"embeds":[{"title":"` + title + `","description":"` + body + `","color":14026000}],"allowed_mentions":{"parse":[]}}`)}},
	}
}

// discordRules are those of https://discord.com/developers/docs/resources/webhook#execute-webhook,
// https://discord.com/developers/docs/resources/message#embed-object-embed-limits and
// https://discord.com/developers/docs/reference#user-agent.
func discordRules(r *http.Request, body any) *answer {
	const invalid = `{"message":"Invalid Form Body","code":50035}`
	fields, isObject := body.(map[string]any)
	if !isObject {
		return refuse(400, invalid)
	}
	if !regexp.MustCompile(`^DiscordBot \(https://[^,]+, [^)]+\)`).MatchString(r.UserAgent()) {
		return refuse(403, "error code: 1010")
	}
	if !regexp.MustCompile(`^/api(/v\d+)?/webhooks/\d+/[\w-]+$`).MatchString(r.URL.Path) {
		return refuse(404, `{"message":"404: Not Found","code":0}`)
	}
	embeds, _ := fields["embeds"].([]any)
	content, _ := fields["content"].(string)
	if content == "" && len(embeds) == 0 {
		return refuse(400, `{"message":"Cannot send an empty message","code":50006}`)
	}
	total := 0
	for _, e := range embeds {
		embed := e.(map[string]any)
		for field, limit := range map[string]int{"title": 256, "description": 4096} {
			text, _ := embed[field].(string)
			length := utf8.RuneCountInString(strings.TrimSpace(text))
			if total += length; length > limit {
				return refuse(400, invalid)
			}
		}
	}
	if username, found := fields["username"].(string); found {
		lower := strings.ToLower(username)
		if utf8.RuneCountInString(username) > 80 || strings.Contains(lower, "discord") || strings.Contains(lower, "clyde") {
			return refuse(400, invalid)
		}
	}
	if utf8.RuneCountInString(content) > 2000 || len(embeds) > 10 || total > 6000 {
		return refuse(400, invalid)
	}
	if r.URL.Query().Get("wait") != "true" {
		return refuse(204, "")
	}
	return nil
}

func TestDiscord(t *testing.T) {
	const hook = "https://ptb.discord.com/api/v10/webhooks/1/t"
	tests := []struct {
		name     string
		settings values
		query    url.Values
	}{
		{"plain", values{"webhook_url": hook}, url.Values{"wait": {"true"}}},
		{"thread in the URL", values{"webhook_url": hook + "?thread_id=5"}, url.Values{"wait": {"true"}, "thread_id": {"5"}}},
		{"thread", values{"webhook_url": hook + "?thread_id=5&wait=false", "thread_id": "6"}, url.Values{"wait": {"true"}, "thread_id": {"6"}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := serveSample(t, discordSample())
			if err := s.send("discord", tt.settings, down()); err != nil {
				t.Fatal(err)
			}
			if want := "https://discord.com/api/webhooks/1/t?" + tt.query.Encode(); s.got[0].URL != want {
				t.Error(s.got[0].URL)
			}
		})
	}
	s := serveSample(t, discordSample())
	if err := s.send("discord", values{"webhook_url": hook, "username": "a/@?#%ž", "avatar_url": "https://h/a.png"}, up()); err != nil {
		t.Fatal(err)
	}
	fields := s.got[0].Body.(map[string]any)
	if fields["username"] != "a/@?#%ž" || fields["avatar_url"] != "https://h/a.png" || fields["embeds"].([]any)[0].(map[string]any)["color"] != float64(0x2eb67d) {
		t.Error(fields)
	}
}

// TestDiscordErrors uses the codes of https://discord.com/developers/docs/topics/opcodes-and-status-codes#json and the
// answers of https://discord.com/developers/docs/topics/rate-limits#exceeding-a-rate-limit.
func TestDiscordErrors(t *testing.T) {
	testAnswers(t, discordSample(), "discord", []outcome{
		{name: "not saved", answer: answer{status: 204}, failed: true},
		{name: "sign-in page", answer: answer{status: 200, body: "<html>"}, failed: true},
		{name: "error with 200", answer: answer{status: 200, body: `{"message":"no","code":1}`}, failed: true},
		{name: "unknown webhook", answer: answer{status: 404, body: `{"message":"Unknown Webhook","code":10015}`}, failed: true, permanent: true},
		{name: "unknown thread", answer: answer{status: 404, body: `{"message":"Unknown Channel","code":10003}`}, failed: true, permanent: true},
		{name: "wrong token", answer: answer{status: 401, body: `{"message":"Invalid Webhook Token","code":50027}`}, failed: true, permanent: true},
		{name: "not found by a proxy", answer: answer{status: 404, body: "<html>"}, failed: true},
		{name: "too fast", answer: answer{429, `{"message":"You are being rate limited.","retry_after":1336.5,"global":false}`, values{"Retry-After": "1337"}},
			failed: true, delay: 1336*time.Second + 500*time.Millisecond},
		{name: "blocked", answer: answer{429, "error code: 1015", values{"Retry-After": "60"}}, failed: true, delay: time.Minute},
	})
}
