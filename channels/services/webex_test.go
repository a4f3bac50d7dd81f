package services_test

import (
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rollcall-dev/rollcall/channels"
)

const (
	webexRoom    = "Y2lzY29zcGFyazovL3VzL1JPT00vYmJjZWIxYWQ"
	webexHook    = "https://webexapis.com/v1/webhooks/incoming/Y2lzY29zcGFyazovL3s3cr3tX"
	webexMessage = `{"id":"Y2lzY29zcGFyazovL3VzL01FU1NBR0UvOTJkYjNi","roomId":"` + webexRoom + `","roomType":"group","text":"x"}`
)

func webexSample() sample {
	return sample{
		settings: values{"token": "s3cr3tXtoken", "recipients": webexRoom},
		answers:  ok(webexMessage),
		rules:    webexRules,
		want: []request{{"POST", "https://webexapis.com/v1/messages", values{"Authorization": "Bearer s3cr3tXtoken"},
			raw(`{"roomId":"` + webexRoom + `","text":"` + full + `"}`)}},
	}
}

// webexRules are those of https://developer.webex.com/docs/api/v1/messages/create-a-message (7,439 bytes, one recipient)
// and https://apphub.webex.com/applications/incoming-webhooks-cisco-systems-38054-23307-75252. Text is not interpreted,
// markdown is.
func webexRules(r *http.Request, body any) *answer {
	const trace = `"trackingId":"ROUTER_5F1A-01BB-0001"}`
	fields, _ := body.(map[string]any)
	text, _ := fields["text"].(string)
	isHook := regexp.MustCompile(`^/v1/webhooks/incoming/[\w-]+$`).MatchString(r.URL.Path)
	recipients := 0
	for _, name := range []string{"roomId", "toPersonEmail", "toPersonId"} {
		if value, _ := fields[name].(string); value != "" {
			recipients++
		}
	}
	switch {
	case !isHook && r.URL.Path != "/v1/messages":
		return refuse(404, `{"message":"The requested resource could not be found.",`+trace)
	case !isHook && !strings.HasPrefix(r.Header.Get("Authorization"), "Bearer "):
		return refuse(401, `{"message":"The request requires a valid access token set in the Authorization request header.",`+trace)
	case text == "" || fields["markdown"] != nil || len(text) > 7439:
		return refuse(400, `{"message":"The request could not be understood by the server.",`+trace)
	case isHook && recipients != 0 || !isHook && recipients != 1:
		return refuse(400, `{"message":"one recipient, please",`+trace)
	}
	return nil
}

func TestWebexWebhook(t *testing.T) {
	sample := webexSample()
	sample.settings, sample.answers = values{"webhook_url": webexHook}, []answer{{status: 204}}
	s := serveSample(t, sample)
	if err := s.send("webex", sample.settings, down()); err != nil {
		t.Fatal(err)
	}
	want := []request{{"POST", webexHook, values{}, raw(`{"text":"` + full + `"}`)}}
	if diff := cmp.Diff(want, s.got); diff != "" {
		t.Error(diff)
	}
	testAnswers(t, sample, "webex", []outcome{
		{name: "no content", answer: answer{status: 204}},
		{name: "ok", answer: answer{status: 200}},
		{name: "sign-in page", answer: answer{status: 200, body: "<html>"}, failed: true},
		{name: "no webhook", answer: answer{status: 404, body: `{"message":"The requested resource could not be found.","trackingId":"R_1"}`}, failed: true, permanent: true},
		{name: "not found by a proxy", answer: answer{status: 404, body: `<html>`}, failed: true},
	})
}

// TestWebexErrors uses the answers of https://developer.webex.com/docs/basics.
func TestWebexErrors(t *testing.T) {
	testAnswers(t, webexSample(), "webex", []outcome{
		{name: "sign-in page", answer: answer{status: 200, body: "<html>"}, failed: true},
		{name: "no message", answer: answer{status: 200, body: "{}"}, failed: true},
		{name: "no content", answer: answer{status: 204}, failed: true},
		{name: "no room", answer: answer{status: 404, body: `{"message":"The requested resource could not be found.","trackingId":"R_1"}`}, failed: true, permanent: true},
		{name: "wrong token", answer: answer{status: 401, body: `{"message":"The request requires a valid access token.","trackingId":"R_1"}`}, failed: true},
		{name: "too fast", answer: answer{429, `{"trackingId":"R_1"}`, values{"Retry-After": "120"}}, failed: true, delay: 2 * time.Minute},
	})
}

// TestWebexPartial fails for one of two recipients, and then sends only to that one.
func TestWebexPartial(t *testing.T) {
	sample := webexSample()
	sample.settings["recipients"] += ", ops@example.org"
	sample.answers = []answer{{status: 200, body: webexMessage}, {status: 500}, {status: 200, body: webexMessage}}
	s := serveSample(t, sample)
	n := down()
	err := s.send("webex", sample.settings, n)
	if diff := cmp.Diff([]string{webexRoom}, channels.Accepted(err)); diff != "" {
		t.Error(err, diff)
	}
	n.Done = channels.Accepted(err)
	if err := s.send("webex", sample.settings, n); err != nil {
		t.Error(err)
	}
	if len(s.got) != 3 || s.got[2].Body.(map[string]any)["toPersonEmail"] != "ops@example.org" {
		t.Error(s.got)
	}
}
