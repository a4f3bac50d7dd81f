package services_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/rollcall-dev/rollcall/channels"
)

func pushoverSample() sample {
	return sample{
		settings: values{"token": key30, "user": key30, "devices": "a,b", "priority": "2"},
		answers:  ok(`{"status":1}`),
		want: []request{{"POST", "https://api.pushover.net/1/messages.json", values{}, url.Values{"token": {key30}, "user": {key30},
			"device": {"a,b"}, "priority": {"2"}, "retry": {"60"}, "expire": {"3600"},
			"tags": {"00000000-0000-0000-0000-000000000000"}, "title": {title}, "message": {unquote(body)},
			"url": {"https://rollcall.example.org/c/1"}, "url_title": {"Show the check"}}}},
	}
}

// pushoverAPI has the rules of https://pushover.net/api and https://pushover.net/api/receipts.
type pushoverAPI struct {
	keys      // of the messages that are repeated
	messages  []url.Values
	cancelled []string
	// fail answers the next requests with these statuses.
	fail []int
}

func newPushoverReceiver(failer) incidentServer { return &pushoverAPI{keys: keys{}} }

func (p *pushoverAPI) answer(w http.ResponseWriter, r *http.Request) {
	refuse := func(status int, text string) {
		reply(w, status, fmt.Sprintf(`{"status":0,"request":"647d2300","errors":[%q]}`, text))
	}
	if len(p.fail) > 0 {
		status := p.fail[0]
		p.fail = p.fail[1:]
		w.Header().Set("X-Limit-App-Reset", "1800000600")
		refuse(status, "as the test says")
		return
	}
	_ = r.ParseForm()
	form := r.PostForm
	tag, isCancel := strings.CutPrefix(r.URL.Path, "/1/receipts/cancel_by_tag/")
	retry, _ := strconv.Atoi(form.Get("retry"))
	expire, _ := strconv.Atoi(form.Get("expire"))
	priority, err := strconv.Atoi(form.Get("priority"))
	switch {
	case r.Host == "" || r.URL.Host != "api.pushover.net" || r.Method != http.MethodPost:
		refuse(404, "not found")
	case form.Get("token") != key30:
		refuse(400, "application token is invalid, see https://pushover.net/api")
	case isCancel:
		p.cancelled = append(p.cancelled, strings.TrimSuffix(tag, ".json"))
		delete(p.keys, strings.TrimSuffix(tag, ".json"))
		reply(w, 200, `{"status":1,"canceled":1,"request":"647d2300"}`)
	case r.URL.Path != "/1/messages.json":
		refuse(404, "not found")
	case form.Get("user") != key30:
		refuse(400, "user identifier is not a valid user, group, or subscribed user key")
	case form.Get("message") == "":
		refuse(400, "message cannot be blank")
	case utf8.RuneCountInString(form.Get("message")) > 1024, utf8.RuneCountInString(form.Get("title")) > 250,
		len(form.Get("url")) > 512, len(form.Get("url_title")) > 100:
		refuse(400, "a field is too long")
	case err != nil || priority < -2 || priority > 2:
		refuse(400, "priority is invalid")
	case priority == 2 && retry < 30:
		refuse(400, "retry must be at least 30 seconds")
	case priority == 2 && (expire < 1 || expire > 10800):
		refuse(400, "expire must be at most 10800 seconds")
	default:
		p.messages = append(p.messages, form)
		if priority == 2 && p.keys != nil {
			p.keys[form.Get("tags")] = true
		}
		reply(w, 200, `{"status":1,"request":"647d2300"}`)
	}
}

var pushoverID = uuid.MustParse("b0e3a1c2-8a71-4f0a-9a32-5f7c1d2e3f40")

func pushoverDown() channels.Notification { n := down(); n.Check.ID = pushoverID; return n }
func pushoverUp() channels.Notification   { n := up(); n.Check.ID = pushoverID; return n }

func TestPushover(t *testing.T) {
	late := pushoverDown()
	late.Over = late.At.Add(time.Minute)
	emergency := map[string]string{"priority": "2", "retry": "60", "expire": "3600", "tags": pushoverID.String()}
	tests := []struct {
		name      string
		settings  values
		n         channels.Notification
		want      map[string]string
		cancelled []string
	}{
		{"down", values{}, pushoverDown(), map[string]string{"priority": "0"}, nil},
		{"up", values{"priority": "1"}, pushoverUp(), map[string]string{"priority": "0"}, nil},
		{"quiet", values{"priority": "-1"}, pushoverUp(), map[string]string{"priority": "-1"}, nil},
		{"loud", values{"priority_up": "1"}, pushoverUp(), map[string]string{"priority": "1"}, nil},
		{"emergency", values{"priority": "2"}, pushoverDown(), emergency, nil},
		{"emergency with settings", values{"priority": "2", "retry": "30", "expire": "10800"}, pushoverDown(),
			map[string]string{"priority": "2", "retry": "30", "expire": "10800", "tags": pushoverID.String()}, nil},
		{"emergency is over", values{"priority": "2"}, pushoverUp(), map[string]string{"priority": "0"}, []string{pushoverID.String()}},
		{"over before it was sent", values{"priority": "2"}, late, map[string]string{"priority": "1"}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var api pushoverAPI
			s := pretend(t, api.answer)
			tt.settings["token"], tt.settings["user"] = key30, key30
			if err := s.send("pushover", tt.settings, tt.n); err != nil {
				t.Fatal(err)
			}
			got := make(map[string]string)
			for _, name := range []string{"priority", "retry", "expire", "tags"} {
				if api.messages[0].Has(name) {
					got[name] = api.messages[0].Get(name)
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(tt.cancelled, api.cancelled); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestPushoverErrors(t *testing.T) {
	wrong := "wr0ngXwr0ngXwr0ngXwr0ngXwr0ngX"
	tests := []struct {
		name      string
		settings  values
		fail      []int
		permanent bool
		delay     time.Duration
	}{
		{"wrong token", values{"token": wrong, "user": key30}, nil, true, 0},
		{"wrong user", values{"token": key30, "user": wrong}, nil, true, 0},
		{"limit of the month", values{"token": key30, "user": key30}, []int{429}, false, 10 * time.Minute},
		{"server error", values{"token": key30, "user": key30}, []int{500}, false, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			api := pushoverAPI{fail: tt.fail}
			s := pretend(t, api.answer)
			err := s.send("pushover", tt.settings, pushoverDown())
			delay, _ := channels.RetryDelay(err)
			if err == nil || channels.IsPermanent(err) != tt.permanent || delay != tt.delay || len(api.messages) != 0 {
				t.Error(err, delay, api.messages)
			}
		})
	}
}

// TestPushoverCancelFails checks that the message goes out once, and that the retry only cancels.
func TestPushoverCancelFails(t *testing.T) {
	api := pushoverAPI{fail: []int{500}}
	s := pretend(t, api.answer)
	settings := values{"token": key30, "user": key30, "priority": "2"}
	n := pushoverUp()
	err := s.send("pushover", settings, n)
	if err == nil || channels.IsPermanent(err) || len(api.messages) != 1 {
		t.Fatal(err, api.messages)
	}
	n.Done = channels.Accepted(err)
	if err := s.send("pushover", settings, n); err != nil || len(api.messages) != 1 || len(api.cancelled) != 1 {
		t.Error(err, api)
	}
}

// TestPushoverLimits sends the longest possible alert.
func TestPushoverLimits(t *testing.T) {
	var api pushoverAPI
	s := pretend(t, api.answer)
	n := pushoverDown()
	n.Check.Name, n.Check.Desc, n.Verdict = strings.Repeat("😀", 100), strings.Repeat("ž", 2000), strings.Repeat("<", 2000)
	n.Ping.End, n.Check.URL = []byte(strings.Repeat("😀\n", 1000)), "https://h/"+strings.Repeat("x", 600)
	if err := s.send("pushover", values{"token": key30, "user": key30}, n); err != nil {
		t.Error(err)
	}
}

// TestPushoverClosed ends the repetitions without a message, and remembers only messages that are repeated.
func TestPushoverClosed(t *testing.T) {
	l := newLine(t, "pushover", values{"token": key30})
	api := l.receiver.(*pushoverAPI)
	l.deliver(l.alert(channels.Down))
	closing := l.alert(channels.Up)
	closing.Closed = true
	l.deliver(closing)
	l.expect("closed", 0)
	if len(api.messages) != 1 || len(api.cancelled) != 1 {
		t.Errorf("%d messages, %d cancelled", len(api.messages), len(api.cancelled))
	}
	quiet := newLine(t, "pushover", values{"priority": "1"})
	quiet.deliver(quiet.alert(channels.Down))
	quiet.expect("priority 1", 0)
	quiet.deliver(quiet.alert(channels.Up))
	if n := len(quiet.receiver.(*pushoverAPI).cancelled); n != 0 {
		t.Errorf("%d cancelled", n)
	}
}
