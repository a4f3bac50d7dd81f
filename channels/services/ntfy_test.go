package services_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rollcall-dev/rollcall/channels"
)

func ntfySample() sample {
	return sample{
		settings: values{"server_url": "https://ntfy.example.org/sub", "topic": "alerts", "username": "me@example.org",
			"password": "s3cr3tX:/@?#% ž", "tags": "warning, ž"},
		answers: ok(`{"id":"1"}`),
		want: []request{{"POST", "https://ntfy.example.org/sub/", values{
			"Authorization": "Basic bWVAZXhhbXBsZS5vcmc6czNjcjN0WDovQD8jJSDFvg==",
		}, raw(`{"topic":"alerts","title":"` + title + `","message":"` + body + `","priority":4,"tags":["warning","ž"],
			"click":"https://rollcall.example.org/c/1"}`)}},
	}
}

type ntfyMessage struct {
	Topic    string   `json:"topic"`
	Title    string   `json:"title"`
	Message  string   `json:"message"`
	Priority int      `json:"priority"`
	Tags     []string `json:"tags"`
	Click    string   `json:"click"`
}

// ntfyServer has the rules of https://docs.ntfy.sh/publish/#publish-as-json and #limitations, with the limits and errors
// of https://github.com/binwiederhier/ntfy/blob/v2.13.0/server/server.go. Only user me with the password right and the
// token tk_right may publish.
func ntfyServer(t *testing.T) (*service, *[]ntfyMessage) {
	var messages []ntfyMessage
	return pretend(t, func(w http.ResponseWriter, r *http.Request) {
		content, _ := io.ReadAll(r.Body)
		var m ntfyMessage
		refuse := func(status, code int, text string) {
			reply(w, status, fmt.Sprintf(`{"code":%d,"http":%d,"error":%q}`, code, status, text))
		}
		name, password, _ := r.BasicAuth()
		switch {
		case r.URL.Path != "/" || r.Method != http.MethodPost:
			refuse(404, 40401, "page not found")
		case len(content) > 2*4096:
			refuse(413, 41303, "JSON body too large")
		case json.Unmarshal(content, &m) != nil:
			refuse(400, 40017, "invalid request: request body must be message JSON")
		case !regexp.MustCompile(`^[-_A-Za-z0-9]{1,64}$`).MatchString(m.Topic):
			refuse(400, 40017, "invalid request: request body must be message JSON")
		case slices.Contains([]string{"docs", "static", "file", "app", "metrics", "account"}, m.Topic):
			refuse(400, 40010, "invalid request: topic name is not allowed")
		case r.Header.Get("Authorization") != "Bearer tk_right" && (name != "me" || password != "right"):
			refuse(403, 40301, "forbidden")
		case len(m.Message) > 4096:
			refuse(400, 40014, "invalid request: attachments not allowed")
		case m.Priority < 1 || m.Priority > 5:
			refuse(400, 40007, "invalid priority parameter")
		default:
			if u, err := url.Parse(m.Click); err != nil || u.Host == "" && m.Click != "" {
				t.Errorf("click is %q", m.Click)
			}
			messages = append(messages, m)
			reply(w, 200, `{"id":"sPs71M8A2T","time":1643935928,"expires":1643936928,"event":"message","topic":"alerts"}`)
		}
	}), &messages
}

func TestNtfy(t *testing.T) {
	tests := []struct {
		name     string
		settings values
		n        channels.Notification
		priority int
		tags     []string
	}{
		{"down", values{}, down(), 4, []string{"warning"}},
		{"up", values{}, up(), 3, []string{"white_check_mark"}},
		{"quiet", values{"priority": "low", "tags": "b,a"}, up(), 2, []string{"white_check_mark", "b", "a"}},
		{"loud", values{"priority": "max", "priority_up": "high"}, up(), 4, []string{"white_check_mark"}},
		{"loudest", values{"priority": "max", "priority_up": "high"}, down(), 5, []string{"warning"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, messages := ntfyServer(t)
			tt.settings["topic"], tt.settings["token"] = "alerts", "tk_right"
			if err := s.send("ntfy", tt.settings, tt.n); err != nil {
				t.Fatal(err)
			}
			got := (*messages)[0]
			if diff := cmp.Diff(tt.tags, got.Tags); diff != "" || got.Priority != tt.priority || got.Click != tt.n.Check.URL {
				t.Error(diff, got)
			}
		})
	}
}

func TestNtfyErrors(t *testing.T) {
	s, messages := ntfyServer(t)
	tests := []struct {
		settings  values
		want      string
		permanent bool
	}{
		{values{"topic": "alerts"}, "forbidden", false},
		{values{"topic": "alerts", "username": "me", "password": "wrong"}, "forbidden", false},
		{values{"topic": "alerts", "token": "tk_wrong"}, "forbidden", false},
		{values{"topic": "docs", "token": "tk_right"}, "topic name is not allowed", true},
		{values{"topic": "alerts", "token": "tk_right", "server_url": "https://h/sub"}, "page not found", false},
	}
	for _, tt := range tests {
		err := s.send("ntfy", tt.settings, down())
		if err == nil || !strings.Contains(err.Error(), tt.want) || channels.IsPermanent(err) != tt.permanent {
			t.Errorf("%v: %v", tt.settings, err)
		}
	}
	if len(*messages) != 0 {
		t.Errorf("published %v", *messages)
	}
}

// TestNtfyLimits sends text that takes more room as JSON.
func TestNtfyLimits(t *testing.T) {
	s, messages := ntfyServer(t)
	for _, odd := range []string{`"`, `\`, "<", "\u2028", "ž", "😀"} {
		n := down()
		n.Check.Name, n.Check.Timing, n.Reason = strings.Repeat(odd, 100), strings.Repeat(odd, 200), strings.Repeat(odd, 200)
		n.Check.Tags, n.Verdict = []string{strings.Repeat(odd, 200)}, strings.Repeat(odd, 600)
		for range 5 {
			n.Earlier = append(n.Earlier, channels.Change{Status: channels.Down, At: n.At, Reason: strings.Repeat(odd, 200)})
		}
		if err := s.send("ntfy", values{"topic": "alerts", "username": "me", "password": "right"}, n); err != nil {
			t.Errorf("%q: %v", odd, err)
		}
	}
	if len(*messages) != 6 {
		t.Errorf("%d messages", len(*messages))
	}
}
