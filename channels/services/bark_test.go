package services_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/rollcall-dev/rollcall/channels/outbound"
)

func barkSample() sample {
	return sample{
		settings: values{"device_key": "s3cr3tXkey"},
		answers:  ok(`{"code":200,"message":"success"}`),
		rules:    barkRules,
		want: []request{{"POST", "https://api.day.app/push", values{},
			raw(`{"device_key":"s3cr3tXkey","title":"` + title + `","body":"` + body + `","url":"https://rollcall.example.org/c/1"}`)}},
	}
}

// barkRules are those of https://github.com/Finb/bark-server/blob/master/docs/API_V2.md, with the payload of
// https://github.com/Finb/bark-server/blob/master/apns/apns.go, which Apple limits to 4096 bytes:
// https://developer.apple.com/documentation/usernotifications/generating-a-remote-notification.
func barkRules(r *http.Request, body any) *answer {
	fields, isObject := body.(map[string]any)
	if r.URL.Path != "/push" || !isObject || fields["device_key"] == nil {
		return refuse(400, `{"code":400,"message":"device key is empty","timestamp":1}`)
	}
	payload := map[string]any{"aps": map[string]any{
		"alert":    map[string]any{"title": fields["title"], "subtitle": "", "body": fields["body"]},
		"category": "myNotificationCategory", "mutable-content": 1, "sound": "1107.caf", "thread-id": fields["group"],
	}}
	for name, value := range fields {
		if !strings.Contains("title body device_key sound", name) {
			payload[name] = value
		}
	}
	if encoded, err := json.Marshal(payload); err != nil || len(encoded) > 4096 {
		return refuse(500, `{"code":500,"message":"push failed: PayloadTooLarge","timestamp":1}`)
	}
	return nil
}

func TestBarkLimits(t *testing.T) {
	for _, odd := range []string{"x", "<", `"`, "ž", "😀", "<x"} {
		n := down()
		n.Check.Name, n.Verdict, n.Check.Desc = strings.Repeat(odd, 100), strings.Repeat(odd, 600), strings.Repeat(odd, 200)
		n.Check.URL = "https://h/" + strings.Repeat("x", 400)
		n.Ping.End = []byte(strings.Repeat(odd+"\n", 1000))
		s := serve(t, &outbound.Config{AllowPrivateNetworks: true}, barkSample().answers...)
		s.rules = barkRules
		if err := s.send("bark", barkSample().settings, n); err != nil {
			t.Errorf("%q: %v", odd, err)
		}
		if text := s.got[0].Body.(map[string]any)["body"].(string); len(text) < 400 {
			t.Errorf("%q: only %d bytes: %s", odd, len(text), text)
		}
	}
}
