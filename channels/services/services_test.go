package services_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/channels/outbound"
	"github.com/rollcall-dev/rollcall/channels/services"
)

func down() channels.Notification {
	return channels.Notification{
		ID:       "n-1",
		Incident: "i-1",
		Check:    channels.Check{Name: "nightly backup", Slug: "backup", URL: "https://rollcall.example.org/c/1"},
		Status:   channels.Down,
		At:       time.Date(2026, time.March, 15, 4, 0, 0, 0, time.UTC),
		Reason:   "no ping in time",
	}
}

func up() channels.Notification {
	n := down()
	n.Status, n.Reason = channels.Up, "success"
	return n
}

const (
	title = "DOWN: nightly backup"
	body  = `Down since 2026-03-15 04:00:00 UTC: no ping in time.\nLast ping: none\nhttps://rollcall.example.org/c/1`
	full  = title + `\n` + body
)

// request is a request that a service got.
type request struct {
	Method, URL string
	// Header has the headers that tests check.
	Header map[string]string
	// Body is parsed JSON, the fields of a form, or a text.
	Body any
}

// service is a server for the requests to all hosts.
type service struct {
	t       *testing.T
	server  *httptest.Server
	client  *http.Client
	mu      sync.Mutex
	got     []request
	answers []answer
	rules   rules
}

type answer struct {
	status int
	body   string
	header map[string]string
}

// rules are the rules of a service by its document. They return the service's answer to a request that breaks one, or
// nil. The URL of the request is the one that the client meant, and body is as in request.
type rules func(r *http.Request, body any) *answer

// refuse returns an answer for rules.
func refuse(status int, body string) *answer { return &answer{status: status, body: body} }

// redirect sends the requests of a client to the server of the test, with the original address in a header.
type redirect struct {
	next http.RoundTripper
	host string
}

func (r redirect) RoundTrip(req *http.Request) (*http.Response, error) {
	meant := req.URL.String()
	req = req.Clone(req.Context())
	req.Header.Set("X-Meant", meant)
	req.URL.Scheme, req.URL.Host = "http", r.host
	return r.next.RoundTrip(req)
}

func serve(t *testing.T, config *outbound.Config, answers ...answer) *service {
	t.Helper()
	s := &service{t: t, answers: answers}
	s.server = httptest.NewServer(s)
	t.Cleanup(s.server.Close)
	s.client = outbound.New(config)
	t.Cleanup(s.client.CloseIdleConnections)
	s.client.Transport = redirect{s.client.Transport, s.server.Listener.Addr().String()}
	return s
}

// serveSample returns the server of a sample, which enforces the rules of the service.
func serveSample(t *testing.T, sample sample) *service {
	t.Helper()
	s := serve(t, &outbound.Config{AllowPrivateNetworks: true}, sample.answers...)
	s.rules = sample.rules
	return s
}

func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	content, _ := io.ReadAll(r.Body)
	got := request{Method: r.Method, URL: r.Header.Get("X-Meant"), Header: make(map[string]string)}
	for _, name := range []string{"Authorization", "Access-Token", "X-Gotify-Key", "Title", "Priority", "Tags"} {
		if value := r.Header.Get(name); value != "" {
			got.Header[name] = value
		}
	}
	switch {
	case strings.HasPrefix(r.Header.Get("Content-Type"), "application/json"):
		if err := json.Unmarshal(content, &got.Body); err != nil {
			s.t.Error(err)
		}
	case strings.HasPrefix(r.Header.Get("Content-Type"), "application/x-www-form-urlencoded"):
		form, _ := url.ParseQuery(string(content))
		got.Body = form
	default:
		got.Body = string(content)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.got = append(s.got, got)
	a := s.answers[min(len(s.got), len(s.answers))-1]
	if s.rules != nil {
		r.URL, _ = url.Parse(got.URL)
		if refusal := s.rules(r, got.Body); refusal != nil {
			a = *refusal
		}
	}
	for name, value := range a.header {
		w.Header().Set(name, value)
	}
	w.WriteHeader(a.status)
	_, _ = io.WriteString(w, a.body)
}

// send delivers a notification to a channel with valid settings.
func (s *service) send(kind channels.Kind, settings map[string]string, n channels.Notification) error {
	s.t.Helper()
	settings, err := channels.Validate(services.New(nil), kind, settings, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	before := maps.Clone(settings)
	send := notifiers(&services.Config{Client: s.client, Now: func() time.Time { return time.Unix(1_800_000_000, 0) }})
	err = send[kind].Notify(s.t.Context(), channels.Channel{Kind: kind, Settings: settings}, n)
	if diff := cmp.Diff(before, settings); diff != "" {
		s.t.Errorf("the settings were changed: %s", diff)
	}
	return err
}

// notifiers returns the notifiers of all kinds.
func notifiers(config *services.Config) map[channels.Kind]channels.Notifier {
	m := make(map[channels.Kind]channels.Notifier)
	for _, t := range services.New(config) {
		m[t.Kind] = t.Notifier
	}
	return m
}

// sample is a valid channel of a kind, with the answer for success.
type sample struct {
	settings map[string]string
	answers  []answer
	want     []request // of the notification that down returns
	// rules enforce the rules of the service; nil accepts every request.
	rules rules
}

func ok(body string) []answer { return []answer{{status: 200, body: body}} }

type values = map[string]string

const (
	slackHook = "https://hooks.slack.com/services/T00000000/B00000000/s3cr3tXs3cr3tXs3cr3tX"
	key30     = "s3cr3tXs3cr3tXs3cr3tXs3cr3tX12"
)

func samples() map[channels.Kind]sample {
	return map[channels.Kind]sample{
		"alertmanager":  alertmanagerSample(),
		"apprise":       appriseSample(),
		"bark":          barkSample(),
		"dingtalk":      dingtalkSample(),
		"discord":       discordSample(),
		"github":        githubSample(),
		"gitlab":        gitlabSample(),
		"goalert":       goalertSample(),
		"googlechat":    googlechatSample(),
		"gotify":        gotifySample(),
		"homeassistant": homeassistantSample(),
		"ifttt":         iftttSample(),
		"ilert":         ilertSample(),
		"incidentio":    incidentioSample(),
		"join":          joinSample(),
		"jsm":           jsmSample(),
		"lark":          larkSample(),
		"line":          lineSample(),
		"matrix":        matrixSample(),
		"mattermost":    mattermostSample(),
		"nextcloudtalk": nextcloudtalkSample(),
		"notifiarr":     notifiarrSample(),
		"ntfy":          ntfySample(),
		"opsgenie":      opsgenieSample(),
		"pagerduty":     pagerdutySample(),
		"pushbullet":    pushbulletSample(),
		"pushover":      pushoverSample(),
		"rocketchat":    rocketchatSample(),
		"signal":        signalSample(),
		"slack":         slackSample(),
		"sns":           snsSample(),
		"splunkoncall":  splunkoncallSample(),
		"teams":         teamsSample(),
		"telegram":      telegramSample(),
		"webex":         webexSample(),
		"wecom":         wecomSample(),
		"zulip":         zulipSample(),
	}
}

func TestKinds(t *testing.T) {
	var kinds []channels.Kind
	for _, info := range services.New(nil) {
		kinds = append(kinds, info.Kind)
		if !strings.HasSuffix(info.Doc, ".") {
			t.Errorf("%s: Doc is not a sentence: %q", info.Kind, info.Doc)
		}
		for _, s := range info.Settings {
			if s.Name == "" || !strings.HasSuffix(s.Doc, ".") {
				t.Errorf("%s: %q is not documented: %q", info.Kind, s.Name, s.Doc)
			}
			if s.Default != "" && s.Check != nil && s.Check(s.Default) != nil {
				t.Errorf("%s: the default of %s is wrong", info.Kind, s.Name)
			}
		}
	}
	want := slices.Sorted(maps.Keys(samples()))
	if diff := cmp.Diff(want, kinds); diff != "" {
		t.Errorf("kinds without a sample, or the reverse (-samples +kinds):\n%s", diff)
	}
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(notifiers(nil)))); diff != "" {
		t.Errorf("kinds without a notifier, or the reverse:\n%s", diff)
	}
}

// TestPrivateNetwork checks for each kind that requests go through the given client, which refuses the server of the
// test by default.
func TestPrivateNetwork(t *testing.T) {
	for kind, sample := range samples() {
		t.Run(string(kind), func(t *testing.T) {
			s := serve(t, nil, sample.answers...)
			if err := s.send(kind, sample.settings, down()); !errors.Is(err, outbound.ErrPrivateAddress) {
				t.Error(err)
			}
			if len(s.got) != 0 {
				t.Errorf("requests came through: %v", s.got)
			}
		})
	}
}

// TestErrors checks the error of each kind for each status. No error contains a secret, even if the service repeats the
// whole request.
func TestErrors(t *testing.T) {
	for kind, sample := range samples() {
		var echo strings.Builder
		for _, value := range sample.settings {
			echo.WriteString(value + " " + url.QueryEscape(value) + " " + url.PathEscape(value) + "\n")
		}
		tests := []struct {
			name      string
			answer    answer
			permanent bool
			delay     time.Duration
		}{
			{"server error", answer{status: 500, body: echo.String()}, false, 0},
			{"unauthorized", answer{status: 401, body: echo.String()}, false, 0},
			{"not found", answer{status: 404, body: echo.String()}, false, 0},
			{"gone", answer{status: 410, body: echo.String()}, true, 0},
			{"too fast", answer{status: 429, body: echo.String(), header: values{"Retry-After": "17"}}, false, 17 * time.Second},
			{"redirect in circles", answer{status: 307, header: values{"Location": "/x"}}, false, 0},
		}
		for _, tt := range tests {
			t.Run(string(kind)+"/"+tt.name, func(t *testing.T) {
				s := serve(t, &outbound.Config{AllowPrivateNetworks: true}, tt.answer)
				err := s.send(kind, sample.settings, down())
				if err == nil {
					t.Fatal("no error")
				}
				delay, _ := channels.RetryDelay(err)
				if channels.IsPermanent(err) != tt.permanent || delay != tt.delay {
					t.Errorf("permanent %v, delay %v: %v", channels.IsPermanent(err), delay, err)
				}
				if strings.Contains(err.Error(), "s3cr3tX") {
					t.Errorf("a secret is in the error: %v", err)
				}
				if tt.answer.status != 307 && len(s.got) != 1 {
					t.Errorf("%d requests", len(s.got))
				}
			})
		}
	}
}

// TestUnreachable uses a server that has stopped.
func TestUnreachable(t *testing.T) {
	for kind, sample := range samples() {
		t.Run(string(kind), func(t *testing.T) {
			s := serve(t, &outbound.Config{AllowPrivateNetworks: true}, sample.answers...)
			s.server.Close()
			err := s.send(kind, sample.settings, down())
			if err == nil || channels.IsPermanent(err) || strings.Contains(err.Error(), "s3cr3tX") || strings.Contains(err.Error(), "http") {
				t.Error(err)
			}
		})
	}
}

// TestCancelled ends the context while the service hangs.
func TestCancelled(t *testing.T) {
	for kind, sample := range samples() {
		t.Run(string(kind), func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				_, _ = io.ReadAll(r.Body) // or the server would not notice that the client is gone
				cancel()
				<-r.Context().Done()
			}))
			defer server.Close()
			client := outbound.New(&outbound.Config{AllowPrivateNetworks: true})
			defer client.CloseIdleConnections()
			client.Transport = redirect{client.Transport, server.Listener.Addr().String()}
			settings, err := channels.Validate(services.New(nil), kind, sample.settings, nil)
			if err != nil {
				t.Fatal(err)
			}
			err = notifiers(&services.Config{Client: client})[kind].Notify(ctx, channels.Channel{Settings: settings}, down())
			if !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
		})
	}
}

// TestLongAndOdd sends the longest possible names and texts, to services that accept all of them.
func TestLongAndOdd(t *testing.T) {
	n := down()
	odd := strings.Repeat("*\\@<ž😀", 50)
	n.Check.Name, n.Check.Project, n.Check.Tags, n.Check.Timing, n.Reason, n.Verdict = odd, odd, []string{odd}, odd, odd, odd+odd
	n.Ping = channels.Ping{At: n.At, Kind: "fail", End: []byte(strings.Repeat(odd+"\n", 5) + strings.Repeat("<\n", 200))}
	for range 10 {
		n.Earlier = append(n.Earlier, channels.Change{Status: channels.Down, At: n.At, Reason: odd})
	}
	for kind, sample := range samples() {
		t.Run(string(kind), func(t *testing.T) {
			s := serveSample(t, sample)
			if err := s.send(kind, sample.settings, n); err != nil {
				t.Error(err)
			}
			if len(s.got) != len(sample.answers) {
				t.Errorf("%d requests", len(s.got))
			}
		})
	}
}

// storm returns a notification about several checks.
func storm(checks int) channels.Notification {
	var list []channels.Notification
	for i := range checks {
		n := down()
		n.Check.Name, n.Check.Project = fmt.Sprintf("job %d", i), "Shop"
		list = append(list, n)
	}
	n := channels.Combine("g-1", "https://rollcall.example.org/p/1", list)
	n.AckURL = "https://rollcall.example.org/acknowledge/all"
	return n
}

// TestStorm sends one message about several checks to each kind that combines them.
func TestStorm(t *testing.T) {
	for _, info := range services.New(nil) {
		if !info.Combines {
			continue
		}
		t.Run(string(info.Kind), func(t *testing.T) {
			sample := samples()[info.Kind]
			s := serveSample(t, sample)
			if err := s.send(info.Kind, sample.settings, storm(3)); err != nil {
				t.Fatal(err)
			}
			if len(s.got) != len(sample.answers) {
				t.Errorf("%d requests", len(s.got))
			}
			sent := fmt.Sprint(s.got)
			if text, err := url.QueryUnescape(sent); err == nil {
				sent = text
			}
			for _, part := range []string{"DOWN: 3 checks of Shop", "job 0, job 1, job 2", "no ping in time", "acknowledge/all"} {
				if !strings.Contains(sent, part) {
					t.Errorf("%q is not in %s", part, sent)
				}
			}
			if err := serveSample(t, sample).send(info.Kind, sample.settings, storm(1000)); err != nil {
				t.Errorf("1000 checks: %v", err)
			}
		})
	}
}

// TestUncheckedSettings uses channels that were stored without Validate.
func TestUncheckedSettings(t *testing.T) {
	odd := []string{"", " ", "x", "//", "https://h", "https://h/hooks/", "/hooks/", "%zz", "\x00", "http://[::1", ",", "#"}
	for kind, notifier := range notifiers(&services.Config{Client: &http.Client{Transport: nowhere{}}}) {
		t.Run(string(kind), func(t *testing.T) {
			if err := notifier.Notify(t.Context(), channels.Channel{}, channels.Notification{}); err == nil {
				t.Error("no error for a channel without settings")
			}
			for _, value := range odd {
				settings := make(values)
				for name := range samples()[kind].settings {
					settings[name] = value
				}
				if err := notifier.Notify(t.Context(), channels.Channel{Settings: settings}, down()); err == nil {
					t.Errorf("no error for %q", value)
				}
			}
		})
	}
}

type nowhere struct{}

func (nowhere) RoundTrip(*http.Request) (*http.Response, error) {
	return nil, errors.New("no such network")
}

// TestConcurrent uses one notifier from many goroutines, for the race detector.
func TestConcurrent(t *testing.T) {
	for kind, sample := range samples() {
		s := serve(t, &outbound.Config{AllowPrivateNetworks: true}, answer{status: 500})
		settings, err := channels.Validate(services.New(nil), kind, sample.settings, nil)
		if err != nil {
			t.Fatal(err)
		}
		notifier := notifiers(&services.Config{Client: s.client})[kind]
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				if err := notifier.Notify(t.Context(), channels.Channel{Settings: settings}, down()); err == nil {
					t.Error("no error")
				}
			})
		}
		wg.Wait()
	}
}

// outcome is what Notify makes of an answer.
type outcome struct {
	name      string
	answer    answer
	failed    bool
	permanent bool
	delay     time.Duration
}

// testAnswers sends a notification for each outcome and checks the error.
func testAnswers(t *testing.T, sample sample, kind channels.Kind, outcomes []outcome) {
	t.Helper()
	for _, tt := range outcomes {
		t.Run(tt.name, func(t *testing.T) {
			changed := sample
			changed.answers = []answer{tt.answer}
			err := serveSample(t, changed).send(kind, sample.settings, down())
			delay, _ := channels.RetryDelay(err)
			if (err != nil) != tt.failed || channels.IsPermanent(err) != tt.permanent || delay != tt.delay {
				t.Errorf("permanent %v, delay %v: %v", channels.IsPermanent(err), delay, err)
			}
		})
	}
}
