package services_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/rollcall-dev/rollcall/channels"
)

func zulipSample() sample {
	return sample{
		settings: values{"site": "https://example.zulipchat.com", "email": "bot@example.org", "api_key": "s3cr3tX", "stream": "ops/@?#% ž"},
		answers:  ok(`{"result":"success","id":42,"msg":""}`),
		want: []request{{"POST", "https://example.zulipchat.com/api/v1/messages", values{"Authorization": "Basic Ym90QGV4YW1wbGUub3JnOnMzY3IzdFg="},
			url.Values{"type": {"stream"}, "to": {`"ops/@?#% ž"`}, "topic": {"nightly backup"},
				"content": {"```text\n" + strings.Replace(unquote(full), "\nhttps", "\n```\nhttps", 1)}}}},
	}
}

// zulipServer has the rules of https://zulip.com/api/send-message and https://zulip.com/api/rest-error-handling, with
// recipients as extract_stream_indicator and extract_private_recipients read them in
// https://github.com/zulip/zulip/blob/main/zerver/actions/message_send.py. It knows the channels ops, 17, "1999" and
// [x], and the users a@example.org and 10.
type zulipServer struct {
	t    *testing.T
	fail map[string]answer // by type
	got  []string          // type and recipients of accepted messages
}

func (s *zulipServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	fail := func(status int, code, text string) {
		reply(w, status, fmt.Sprintf(`{"result":"error","code":%q,"msg":%q}`, code, text))
	}
	email, key, _ := r.BasicAuth()
	if r.URL.Path != "/api/v1/messages" || r.Method != http.MethodPost {
		fail(404, "BAD_REQUEST", "Not found")
		return
	}
	if email != "bot@example.org" || key != "right" {
		fail(401, "INVALID_API_KEY", "Invalid API key")
		return
	}
	if err := r.ParseForm(); err != nil || r.Header.Get("Content-Type") != "application/x-www-form-urlencoded" {
		fail(400, "REQUEST_VARIABLE_MISSING", "Missing 'type' argument")
		return
	}
	form := r.PostForm
	if a, found := s.fail[form.Get("type")]; found {
		for name, value := range a.header {
			w.Header().Set(name, value)
		}
		reply(w, a.status, a.body)
		return
	}
	if form.Get("content") == "" || utf8.RuneCountInString(form.Get("content")) > 10_000 {
		s.t.Errorf("the content has %d characters", utf8.RuneCountInString(form.Get("content")))
	}
	var to any
	if json.Unmarshal([]byte(form.Get("to")), &to) != nil {
		to = form.Get("to")
	}
	switch form.Get("type") {
	case "stream", "channel":
		if topic := form.Get("topic"); topic == "" || utf8.RuneCountInString(topic) > 60 {
			s.t.Errorf("the topic is %q", topic)
		}
		if !slices.Contains([]any{"ops", 17.0, "1999", "[x]"}, to) {
			reply(w, 400, fmt.Sprintf(`{"result":"error","code":"STREAM_DOES_NOT_EXIST","stream":%q,"msg":"Channel does not exist"}`, form.Get("to")))
			return
		}
	case "direct", "private":
		users, _ := to.([]any)
		for _, user := range users {
			if !slices.Contains([]any{"a@example.org", "b@example.org", 10.0, 11.0}, user) || fmt.Sprintf("%T", user) != fmt.Sprintf("%T", users[0]) {
				fail(400, "BAD_REQUEST", "Recipient lists may contain emails or user IDs, but not both.")
				return
			}
		}
		if len(users) == 0 {
			fail(400, "BAD_REQUEST", "Message must have recipients!")
			return
		}
	default:
		fail(400, "BAD_REQUEST", "Invalid type")
		return
	}
	s.got = append(s.got, form.Get("type")+" "+form.Get("to"))
	reply(w, 200, `{"result":"success","id":42,"msg":""}`)
}

func TestZulip(t *testing.T) {
	const fast = `{"result":"error","code":"RATE_LIMIT_HIT","msg":"API usage exceeded rate limit","retry-after":28.5}`
	tests := []struct {
		name      string
		to        values
		fail      map[string]answer
		done      []string
		got       []string
		failed    bool
		permanent bool
		delay     time.Duration
		accepted  []string
	}{
		{"a channel", values{"stream": "ops"}, nil, nil, []string{`stream "ops"`}, false, false, 0, nil},
		{"an ID", values{"stream": "17"}, nil, nil, []string{"stream 17"}, false, false, 0, nil},
		{"a name that looks like JSON", values{"stream": "[x]"}, nil, nil, []string{`stream "[x]"`}, false, false, 0, nil},
		{"users", values{"users": "a@example.org, b@example.org"}, nil, nil, []string{`direct ["a@example.org","b@example.org"]`}, false, false, 0, nil},
		{"IDs of users", values{"users": "10,11"}, nil, nil, []string{"direct [10,11]"}, false, false, 0, nil},
		{"both", values{"stream": "ops", "users": "10"}, nil, nil, []string{`stream "ops"`, "direct [10]"}, false, false, 0, nil},
		{"the users are left", values{"stream": "ops", "users": "10"}, nil, []string{"channel"}, []string{"direct [10]"}, false, false, 0, nil},
		{"the channel is left", values{"stream": "ops", "users": "10"}, nil, []string{"users"}, []string{`stream "ops"`}, false, false, 0, nil},
		{"no such channel", values{"stream": "no", "users": "10"}, nil, nil, []string{"direct [10]"}, true, true, 0, []string{"users"}},
		{"no such user", values{"users": "9"}, nil, nil, nil, true, false, 0, nil},
		{"too fast", values{"stream": "ops", "users": "10"}, map[string]answer{"stream": {429, fast, values{"Retry-After": "28.5"}}}, nil,
			[]string{"direct [10]"}, true, false, 28500 * time.Millisecond, []string{"users"}},
		{"away", values{"stream": "ops", "users": "10"}, map[string]answer{"direct": {status: 502, body: "<html>"}}, nil,
			[]string{`stream "ops"`}, true, false, 0, []string{"channel"}},
		{"a login page", values{"stream": "ops"}, map[string]answer{"stream": {status: 200, body: "<html>"}}, nil, nil, true, false, 0, nil},
		{"another service", values{"stream": "ops"}, map[string]answer{"stream": {status: 200, body: `{"ok":true}`}}, nil, nil, true, false, 0, nil},
		{"an error with status 200", values{"stream": "ops"}, map[string]answer{"stream": {status: 200, body: `{"result":"error","msg":"no"}`}},
			nil, nil, true, false, 0, nil},
		{"the key is wrong", values{"stream": "ops", "api_key": "wrong"}, nil, nil, nil, true, false, 0, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			z := &zulipServer{t: t, fail: tt.fail}
			settings := values{"site": "https://z", "email": "bot@example.org", "api_key": "right"}
			maps.Copy(settings, tt.to)
			n := longNotification()
			n.Done = tt.done
			err := pretend(t, z.ServeHTTP).send("zulip", settings, n)
			if diff := cmp.Diff(tt.got, z.got); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(tt.accepted, channels.Accepted(err)); diff != "" {
				t.Error(diff)
			}
			delay, _ := channels.RetryDelay(err)
			if (err != nil) != tt.failed || channels.IsPermanent(err) != tt.permanent || delay != tt.delay {
				t.Error(err, delay)
			}
		})
	}
}

// TestZulipBlock checks that output cannot end the block of code, and that the address follows the block.
func TestZulipBlock(t *testing.T) {
	var content string
	n := longNotification()
	s := pretend(t, func(w http.ResponseWriter, r *http.Request) {
		content = r.PostFormValue("content")
		reply(w, 200, `{"result":"success"}`)
	})
	if err := s.send("zulip", values{"site": "https://z", "email": "b", "api_key": "k", "stream": "s"}, n); err != nil {
		t.Fatal(err)
	}
	block, rest, _ := strings.Cut(strings.TrimPrefix(content, "```text\n"), "\n```")
	if rest != "\n"+n.Check.URL || !strings.Contains(block, "> @all <!channel>") || strings.HasSuffix(block, "\n") {
		t.Error(content)
	}
}
