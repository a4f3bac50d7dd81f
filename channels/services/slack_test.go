package services_test

import (
	"net/http"
	"regexp"
	"strings"
	"testing"
)

func slackSample() sample {
	return sample{
		settings: values{"webhook_url": slackHook, "username": "ž", "icon": "bell"},
		answers:  ok("ok"),
		rules:    slackRules,
		want: []request{{"POST", slackHook, values{}, raw(`{"text":"` + title + `","mrkdwn":false,"unfurl_links":false,"username":"ž",
			"icon_emoji":":bell:","attachments":[{"color":"danger","fallback":"` + body + `","text":"` + body + `","mrkdwn_in":[]}]}`)}},
	}
}

// slackRules are those of https://docs.slack.dev/messaging/sending-messages-using-incoming-webhooks,
// https://docs.slack.dev/reference/methods/chat.postMessage (40,000 characters) and
// https://docs.slack.dev/messaging/formatting-message-text (the escapes).
func slackRules(r *http.Request, body any) *answer {
	fields, isObject := body.(map[string]any)
	isHook := r.URL.Path != "/api/chat.postMessage"
	fail := func(status int, code string) *answer {
		if isHook {
			return refuse(status, code)
		}
		return refuse(200, `{"ok":false,"error":"`+code+`"}`)
	}
	text, _ := fields["text"].(string)
	attachments, _ := fields["attachments"].([]any)
	switch {
	case !isObject:
		return fail(400, "invalid_payload")
	case text == "" && len(attachments) == 0:
		return fail(400, "no_text")
	case len(attachments) > 100:
		return fail(400, "too_many_attachments")
	case isHook && !regexp.MustCompile(`^/services/T\w+/B\w+/\w+$`).MatchString(r.URL.Path):
		return fail(404, "no_service")
	case !isHook && !strings.HasPrefix(r.Header.Get("Authorization"), "Bearer xoxb-"):
		return fail(200, "not_authed")
	case !isHook && fields["channel"] == nil:
		return fail(200, "channel_not_found")
	}
	for _, a := range append(attachments, map[string]any{"text": text, "fallback": text}) {
		content, _ := a.(map[string]any)["text"].(string)
		fallback, _ := a.(map[string]any)["fallback"].(string)
		if content == "" && fallback == "" {
			return fail(400, "missing_text_or_fallback_or_attachments")
		}
		if strings.Contains(content+fallback, "<") || len([]rune(content)) > 40_000 {
			return fail(400, "invalid_payload")
		}
	}
	return nil
}

// TestSlackErrors uses the errors of
// https://docs.slack.dev/messaging/sending-messages-using-incoming-webhooks#handling_errors and
// https://docs.slack.dev/changelog/2016-05-17-changes-to-errors-for-incoming-webhooks. The other successes are those of
// Mattermost, of Discord (/slack), of Rocket.Chat and of Zulip (/slack_incoming).
func TestSlackErrors(t *testing.T) {
	testAnswers(t, slackSample(), "slack", []outcome{
		{name: "ok with a line break", answer: answer{status: 200, body: "ok\n"}},
		{name: "ok", answer: answer{status: 200, body: `{"ok":true}`}},
		{name: "success", answer: answer{status: 200, body: `{"success":true}`}},
		{name: "result", answer: answer{status: 200, body: `{"result":"success","msg":""}`}},
		{name: "no success", answer: answer{status: 200, body: `{"success":false,"error":"no"}`}, failed: true},
		{name: "sign-in page", answer: answer{status: 200, body: "<html>ok</html>"}, failed: true},
		{name: "empty", answer: answer{status: 200}, failed: true},
		{name: "no content", answer: answer{status: 204}, failed: true},
		{name: "no webhook", answer: answer{status: 404, body: "no_service"}, failed: true, permanent: true},
		{name: "no channel", answer: answer{status: 404, body: "channel_not_found"}, failed: true, permanent: true},
		{name: "archived", answer: answer{status: 410, body: "channel_is_archived"}, failed: true, permanent: true},
		{name: "prohibited", answer: answer{status: 403, body: "action_prohibited"}, failed: true, permanent: true},
		{name: "deactivated user", answer: answer{status: 403, body: "invalid_token"}, failed: true, permanent: true},
		{name: "not understood", answer: answer{status: 400, body: "invalid_payload"}, failed: true, permanent: true},
		{name: "not found by a proxy", answer: answer{status: 404, body: "no_service found"}, failed: true},
		{name: "rollup", answer: answer{status: 500, body: "rollup_error"}, failed: true},
		{name: "too fast", answer: answer{429, "rate_limited", values{"Retry-After": "30"}}, failed: true, delay: 30e9},
	})
}

// TestSlackBotErrors uses the errors of https://docs.slack.dev/reference/methods/chat.postMessage#errors.
func TestSlackBotErrors(t *testing.T) {
	sample := slackSample()
	sample.settings = values{"token": "xoxb-s3cr3tX", "channel": "#ops"}
	bot := func(code string) answer { return answer{status: 200, body: `{"ok":false,"error":"` + code + `"}`} }
	testAnswers(t, sample, "slack", []outcome{
		{name: "ok", answer: answer{status: 200, body: `{"ok":true,"channel":"C1","ts":"1.1"}`}},
		{name: "text", answer: answer{status: 200, body: "ok"}, failed: true},
		{name: "no channel", answer: bot("channel_not_found"), failed: true, permanent: true},
		{name: "archived", answer: bot("is_archived"), failed: true, permanent: true},
		{name: "revoked", answer: bot("token_revoked"), failed: true, permanent: true},
		{name: "deleted", answer: bot("account_inactive"), failed: true, permanent: true},
		{name: "not invited", answer: bot("not_in_channel"), failed: true},
		{name: "not allowed", answer: bot("missing_scope"), failed: true},
		{name: "broken", answer: bot("internal_error"), failed: true},
		{name: "too fast", answer: answer{429, `{"ok":false,"error":"ratelimited"}`, values{"Retry-After": "30"}}, failed: true, delay: 30e9},
	})
}
