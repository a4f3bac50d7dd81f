package services_test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/channels/outbound"
)

// raw parses a JSON body.
func raw(document string) any {
	var v any
	if err := json.Unmarshal([]byte(document), &v); err != nil {
		panic(fmt.Sprintf("%v in %s", err, document))
	}
	return v
}

func unquote(text string) string { return strings.ReplaceAll(text, `\n`, "\n") }

// TestRequests checks the request of each service for the samples.
func TestRequests(t *testing.T) {
	for kind, sample := range samples() {
		t.Run(string(kind), func(t *testing.T) {
			s := serveSample(t, sample)
			if err := s.send(kind, sample.settings, down()); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(sample.want, s.got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestOther checks requests for settings and notifications that the samples do not have.
func TestOther(t *testing.T) {
	tests := []struct {
		name     string
		kind     channels.Kind
		settings values
		n        channels.Notification
		answers  []answer
		want     func(request) any
		equals   any
	}{
		{"ntfy token", "ntfy", values{"topic": "a", "token": "tk_1"}, up(), ok(`{"id":"1"}`),
			func(r request) any { return []string{r.URL, r.Header["Authorization"]} }, []string{"https://ntfy.sh/", "Bearer tk_1"}},
		{"pushbullet address", "pushbullet", values{"token": "k", "target": "a@example.org"}, up(), ok(`{"iden":"u"}`),
			func(r request) any { return r.Body.(map[string]any)["email"] }, "a@example.org"},
		{"signal token", "signal", values{"server_url": "http://s/x/", "number": "+1234567", "recipients": "u.1", "token": "k"}, up(), ok(`[{"timestamp":"1"}]`),
			func(r request) any { return []string{r.URL, r.Header["Authorization"]} }, []string{"http://s/x/v2/send", "Bearer k"}},
		{"slack as a bot", "slack", values{"token": "xoxb-1", "channel": "#ops"}, up(), ok(`{"ok":true}`),
			func(r request) any {
				return []any{r.URL, r.Header["Authorization"], r.Body.(map[string]any)["channel"]}
			}, []any{"https://slack.com/api/chat.postMessage", "Bearer xoxb-1", "#ops"}},
		{"zulip topic", "zulip", values{"site": "http://z", "email": "b", "api_key": "k", "stream": "s", "topic": "t"}, up(), ok(`{"result":"success"}`),
			func(r request) any { return r.Body.(url.Values).Get("topic") }, "t"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := serve(t, &outbound.Config{AllowPrivateNetworks: true}, tt.answers...)
			if err := s.send(tt.kind, tt.settings, tt.n); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.equals, tt.want(s.got[0])); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestMentions uses check names that try to mention everybody.
func TestMentions(t *testing.T) {
	const name = "<!channel> @everyone <@1> [x](http://evil) *b* <users/all> & `c`"
	const gap = "\u200b"
	want := map[channels.Kind]string{
		"discord":    `DOWN: \<\!channel\> @` + gap + `everyone \<@` + gap + `1\> \[x\](http\://evil) \*b\* \<users/all\> & ` + "\\`c\\`",
		"mattermost": `DOWN: \<\!channel\> @` + gap + `everyone \<@` + gap + `1\> \[x\](http\://evil) \*b\* \<users/all\> & ` + "\\`c\\`",
		"rocketchat": "DOWN: <" + gap + "!channel> @" + gap + "everyone <" + gap + "@" + gap + "1> [x]" + gap + `(http://evil) \*b\* <` + gap + "users/all> & \\`c\\`",
		"slack":      "DOWN: &lt;!channel&gt; @everyone &lt;@1&gt; [x](http://evil) *b* &lt;users/all&gt; &amp; `c`",
		"telegram":   "DOWN: <!channel> @" + gap + "everyone <@" + gap + "1> [x](http://evil) *b* <users/all> & `c`",
		"zulip":      "```text\nDOWN: " + name + "\n",
	}
	for kind, text := range want {
		t.Run(string(kind), func(t *testing.T) {
			sample := samples()[kind]
			s := serveSample(t, sample)
			n := down()
			n.Check.Name = name
			if err := s.send(kind, sample.settings, n); err != nil {
				t.Fatal(err)
			}
			var got string
			switch fields := s.got[0].Body.(type) {
			case url.Values:
				got = fields.Get("content")
			case map[string]any:
				got, _ = fields["text"].(string)
				if embeds, found := fields["embeds"].([]any); found {
					got = embeds[0].(map[string]any)["title"].(string)
				}
			}
			if !strings.HasPrefix(got, text) {
				t.Error(cmp.Diff(text, got))
			}
		})
	}
}

// TestRefusals uses answers with status 200 that refuse the message.
func TestRefusals(t *testing.T) {
	const odd = "the answer is not in the format of this service, check the URL"
	tests := []struct {
		kind  channels.Kind
		more  values
		body  string
		want  string
		delay int
	}{
		{"bark", nil, `{"code":400,"message":"no device s3cr3tXkey"}`, "the service refuses the message: 400 no device ***", 0},
		{"bark", nil, `<html>`, odd, 0},
		{"gotify", nil, `<html>`, odd, 0},
		{"gotify", nil, `{}`, odd, 0},
		{"join", nil, `{"success":false,"errorMessage":"User doesn't exist"}`, "the service refuses the message:  User doesn't exist", 0},
		{"join", nil, `{}`, odd, 0},
		{"lark", nil, `{"code":19021,"msg":"sign match fail"}`, "the service refuses the message: 19021 sign match fail", 0},
		{"lark", nil, `{}`, odd, 0},
		{"ntfy", nil, `<html>`, odd, 0},
		{"ntfy", nil, `{}`, odd, 0},
		{"pushover", nil, `<html>`, odd, 0},
		{"pushover", nil, `{"status":0,"errors":["user is invalid"]}`, "the service refuses the message: 0 user is invalid", 0},
		{"slack", values{"webhook_url": "", "token": "s3cr3tX", "channel": "a"}, `{"ok":false,"error":"not_in_channel"}`,
			"the service refuses the message: not_in_channel ", 0},
		{"slack", values{"webhook_url": "", "token": "s3cr3tX", "channel": "a"}, `{}`, odd, 0},
	}
	for _, tt := range tests {
		t.Run(string(tt.kind), func(t *testing.T) {
			settings := samples()[tt.kind].settings
			for name, value := range tt.more {
				settings[name] = value
			}
			s := serve(t, &outbound.Config{AllowPrivateNetworks: true}, ok(tt.body)...)
			err := s.send(tt.kind, settings, down())
			if err == nil {
				t.Fatal("no error")
			}
			delay, _ := channels.RetryDelay(err)
			if diff := cmp.Diff(tt.want, err.Error()); diff != "" || int(delay.Seconds()) != tt.delay || channels.IsPermanent(err) {
				t.Error(diff, delay)
			}
		})
	}
}
