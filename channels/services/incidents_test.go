package services_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/channels/outbound"
	"github.com/rollcall-dev/rollcall/channels/services"
	"pgregory.net/rapid"
)

// An incidentServer is a service that keeps incidents. It accepts the settings of the sample.
type incidentServer interface {
	// answer answers a request by the rules of the service's document. r.URL is the address that the client meant.
	answer(w http.ResponseWriter, r *http.Request)
	// open lists the incidents that are open at an instant.
	open(now time.Time) []string
}

func incidentServers() map[channels.Kind]func(t failer) incidentServer {
	return map[channels.Kind]func(t failer) incidentServer{
		"alertmanager": newAlertmanagerReceiver,
		"github":       newGithubReceiver,
		"gitlab":       newGitlabReceiver,
		"goalert":      newGoAlertReceiver,
		"ilert":        newIlertReceiver,
		"incidentio":   newIncidentioReceiver,
		"jsm":          newJSMReceiver,
		"opsgenie":     newOpsgenieReceiver,
		"pagerduty":    newPagerDutyReceiver,
		"pushover":     newPushoverReceiver,
		"splunkoncall": newSplunkReceiver,
	}
}

// trackers are the kinds that report to issues.
var trackers = []channels.Kind{"github", "gitlab"}

// A failer is a test of package testing or rapid.
type failer interface {
	Helper()
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// incidentLine delivers the alerts of one check to one channel, as the monitor does.
type incidentLine struct {
	t        failer
	receiver incidentServer
	notifier channels.IncidentNotifier
	client   *http.Client // of notifier
	channel  channels.Channel
	// open is what the last attempt returned.
	open string
	now  time.Time
	n    channels.Notification
	// broken, unless nil, decides which requests fail: its result is "", "away" if the service does nothing and answers
	// 503, or "lost" if its answer is lost.
	broken func(r *http.Request) string
	// mu is held while the receiver answers a request. Attempts wait for it, so that the test may use all fields between
	// them.
	mu sync.Mutex
}

const checkID = "5c1ae2b0-0d6b-4b5c-8a44-4d0a4a0f0f0f"

// newLine returns a line to a receiver, for a channel with the settings of the sample and more.
func newLine(t *testing.T, kind channels.Kind, more values) *incidentLine {
	t.Helper()
	l := &incidentLine{t: t, now: time.Date(2026, time.March, 15, 4, 0, 0, 0, time.UTC)}
	l.use(incidentServers()[kind](t))
	s := pretend(t, l.answer)
	settings := values{}
	for _, list := range []values{samples()[kind].settings, more} {
		for name, value := range list {
			settings[name] = value
		}
	}
	settings, err := channels.Validate(services.New(nil), kind, settings, nil)
	if err != nil {
		t.Fatal(err)
	}
	l.channel = channels.Channel{Kind: kind, Settings: settings}
	l.client = s.client
	l.notifier = notifiers(&services.Config{Client: s.client, Now: func() time.Time { return l.now }})[kind].(channels.IncidentNotifier)
	l.n = down()
	l.n.Check.ID = uuid.MustParse(checkID)
	l.n.Check.Tags = []string{"prod"}
	l.n.At = l.now
	return l
}

// answer answers a request, or loses it or its answer, as broken decides.
func (l *incidentLine) answer(w http.ResponseWriter, r *http.Request) {
	l.mu.Lock()
	defer l.mu.Unlock()
	kind := ""
	if l.broken != nil {
		kind = l.broken(r)
	}
	if kind == "away" {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	l.receiver.answer(w, r)
	if kind == "lost" {
		panic(http.ErrAbortHandler)
	}
}

// use replaces the receiver.
func (l *incidentLine) use(r incidentServer) {
	l.receiver = r
	if a, ok := r.(*alertmanagerReceiver); ok {
		a.now = func() time.Time { return l.now }
	}
}

// alert returns the next alert about the check.
func (l *incidentLine) alert(status channels.Status) channels.Notification {
	n := l.n
	n.ID = uuid.NewString()
	n.Status, n.At = status, l.now
	return n
}

// barrier waits until no request is being answered.
func (l *incidentLine) barrier() {
	l.mu.Lock()
	//lint:ignore SA2001 the lock orders the memory of the test and of the receiver
	l.mu.Unlock()
}

// try delivers once.
func (l *incidentLine) try(n channels.Notification) error {
	l.barrier()
	open, err := l.notifier.NotifyIncident(context.Background(), l.channel, n, l.open)
	l.barrier()
	l.open = open
	if len(l.open) > channels.MaxIncident {
		l.t.Errorf("open has %d bytes", len(l.open))
	}
	return err
}

// deliver tries until the alert is accepted.
func (l *incidentLine) deliver(n channels.Notification) {
	l.t.Helper()
	var err error
	for range 10 {
		if err = l.try(n); err == nil {
			return
		}
		if channels.IsPermanent(err) {
			break
		}
		n.Done = append(n.Done, channels.Accepted(err)...)
		l.now = l.now.Add(time.Second)
	}
	l.t.Fatalf("%s, reminder %d: %v", n.Status, n.Reminder, err)
}

// expect checks how many incidents are open.
func (l *incidentLine) expect(when string, count int) {
	l.t.Helper()
	if open := l.receiver.open(l.now); len(open) != count {
		l.t.Fatalf("%s: open are %q, want %d", when, open, count)
	}
	if (l.open != "") != (count > 0) {
		l.t.Fatalf("%s: the line remembers %q", when, l.open)
	}
}

// TestIncident goes through the life of an incident.
func TestIncident(t *testing.T) {
	for kind := range incidentServers() {
		t.Run(string(kind), func(t *testing.T) {
			l := newLine(t, kind, nil)
			l.deliver(l.alert(channels.Up))
			l.expect("up before any down", 0)
			for outage := range 3 { // the key is the same in every outage
				l.deliver(l.alert(channels.Down))
				l.expect("down", 1)
				first := l.receiver.open(l.now)
				l.now = l.now.Add(time.Minute)
				reminder := l.alert(channels.Down)
				reminder.Reminder = 1
				l.deliver(reminder)
				l.expect("reminder", 1)
				l.n.Check.Name, l.n.Check.Slug, l.n.Check.Tags = fmt.Sprint("renamed ", outage), "other", []string{"else"}
				l.n.Incident = fmt.Sprint("another incident ", outage)
				l.now = l.now.Add(time.Minute)
				l.deliver(l.alert(channels.Down))
				l.expect("down again", 1)
				if diff := cmp.Diff(first, l.receiver.open(l.now)); diff != "" {
					t.Error(diff)
				}
				l.now = l.now.Add(time.Minute)
				l.deliver(l.alert(channels.Up))
				l.expect("up", 0)
				l.deliver(l.alert(channels.Up))
				l.expect("up twice", 0)
			}
		})
	}
}

// TestIncidentTest sends a test of the channel as the monitor does: down, then up.
func TestIncidentTest(t *testing.T) {
	for kind := range incidentServers() {
		t.Run(string(kind), func(t *testing.T) {
			l := newLine(t, kind, nil)
			l.n.Test = true
			l.deliver(l.alert(channels.Down))
			l.expect("down", 1)
			l.deliver(l.alert(channels.Up))
			l.expect("up", 0)
		})
	}
}

// TestIncidentSequences checks random sequences of alerts: whatever is lost, there is one open incident after a down, and
// none after an up.
func TestIncidentSequences(t *testing.T) {
	for kind, start := range incidentServers() {
		t.Run(string(kind), func(t *testing.T) {
			l := newLine(t, kind, nil)
			l.client.Transport = direct{l.answer} // connections would take most of the time
			rapid.Check(t, func(r *rapid.T) {
				l.t, l.open, l.broken = r, "", nil
				l.use(start(r))
				names := rapid.StringN(1, 30, -1)
				broken := rapid.SampledFrom([]string{"", "", "", "away", "lost"})
				r.Repeat(map[string]func(*rapid.T){
					"down": func(r *rapid.T) {
						n := l.alert(channels.Down)
						n.Reminder = rapid.IntRange(0, 2).Draw(r, "reminder")
						l.interrupted(r, n, broken)
						l.expect("down", 1)
					},
					"up": func(r *rapid.T) {
						l.interrupted(r, l.alert(channels.Up), broken)
						l.expect("up", 0)
					},
					"rename": func(r *rapid.T) {
						l.n.Check.Name = names.Draw(r, "name")
						l.n.Check.Tags = rapid.SliceOfN(names, 0, 3).Draw(r, "tags")
					},
					"time": func(*rapid.T) { l.now = l.now.Add(time.Minute) },
				})
			})
		})
	}
}

// interrupted delivers an alert. The service may break, and the program may end before it has stored the result of an
// attempt, which it repeats after the restart.
func (l *incidentLine) interrupted(r *rapid.T, n channels.Notification, broken *rapid.Generator[string]) {
	l.t = r
	faults := rapid.SliceOfN(broken, 0, 4).Draw(r, "faults")
	l.broken = func(req *http.Request) string {
		if len(faults) == 0 {
			return ""
		}
		fault := faults[0]
		faults = faults[1:]
		if fault == "lost" && req.Method == http.MethodGet {
			return "" // the client itself would repeat it
		}
		return fault
	}
	if rapid.Bool().Draw(r, "crash") {
		open := l.open
		_ = l.try(n)
		l.open = open
	}
	l.deliver(n)
}

// TestIncidentLostAnswer loses the answer to a down, and the next alert is the up.
func TestIncidentLostAnswer(t *testing.T) {
	for kind := range incidentServers() {
		t.Run(string(kind), func(t *testing.T) {
			l := newLine(t, kind, nil)
			l.broken = func(r *http.Request) string {
				if r.Method == http.MethodGet {
					return ""
				}
				return "lost"
			}
			if err := l.try(l.alert(channels.Down)); err == nil {
				t.Error("no error for a lost answer")
			}
			if open := l.receiver.open(l.now); len(open) != 1 {
				t.Errorf("open are %q", open)
			}
			l.broken = nil
			l.now = l.now.Add(time.Minute)
			l.deliver(l.alert(channels.Up))
			l.expect("up", 0)
		})
	}
}

// TestIncidentUnrecorded loses the record of a down that was accepted, and the next alert is the up. The flips of the
// outage have been pruned meanwhile.
func TestIncidentUnrecorded(t *testing.T) {
	for kind := range incidentServers() {
		t.Run(string(kind), func(t *testing.T) {
			l := newLine(t, kind, nil)
			l.deliver(l.alert(channels.Down))
			l.open, l.n.Incident = "", "another"
			l.now = l.now.Add(time.Minute)
			l.deliver(l.alert(channels.Up))
			l.expect("up", 0)
		})
	}
}

// TestIncidentRefused uses wrong credentials. Nothing is open, so nothing is remembered.
func TestIncidentRefused(t *testing.T) {
	wrong := map[channels.Kind]values{
		"alertmanager": {"password": "other"}, "github": {"token": "other"}, "gitlab": {"token": "other"}, "goalert": {"token": "other"},
		"ilert": {"integration_key": "other"}, "incidentio": {"token": "other"}, "jsm": {"api_key": "other"},
		"opsgenie": {"api_key": "other"}, "pagerduty": {"routing_key": strings.Repeat("o", 32)},
		"pushover": {"token": strings.Repeat("o", 30)}, "splunkoncall": {"api_key": "other"},
	}
	for kind := range incidentServers() {
		t.Run(string(kind), func(t *testing.T) {
			l := newLine(t, kind, wrong[kind])
			if err := l.try(l.alert(channels.Down)); err == nil || l.open != "" {
				t.Errorf("error %v, open %q", err, l.open)
			}
		})
	}
}

// TestIncidentSignIn puts a page to sign in before the service: a status 200 with HTML is no success.
func TestIncidentSignIn(t *testing.T) {
	for kind := range incidentServers() {
		t.Run(string(kind), func(t *testing.T) {
			for _, status := range []channels.Status{channels.Down, channels.Up} {
				s := serve(t, &outbound.Config{AllowPrivateNetworks: true}, answer{status: 200, body: "<!doctype html><title>Sign in</title>"})
				n := down()
				n.Status = status
				err := s.send(kind, samples()[kind].settings, n)
				if err == nil || channels.IsPermanent(err) {
					t.Errorf("%s: %v", status, err)
				}
			}
		})
	}
}

// TestIncidentUnreachable is about a network that the client refuses: nothing can be open.
func TestIncidentUnreachable(t *testing.T) {
	for kind := range incidentServers() {
		s := serve(t, nil, answer{status: 200})
		settings, err := channels.Validate(services.New(nil), kind, samples()[kind].settings, nil)
		if err != nil {
			t.Fatal(err)
		}
		notifier := notifiers(&services.Config{Client: s.client})[kind].(channels.IncidentNotifier)
		open, err := notifier.NotifyIncident(t.Context(), channels.Channel{Settings: settings}, down(), "")
		if !errors.Is(err, outbound.ErrPrivateAddress) || open != "" {
			t.Errorf("%s: error %v, open %q", kind, err, open)
		}
	}
}

// TestIncidentKeys lists the kinds that keep incidents. Only Alertmanager needs open alerts again.
func TestIncidentKeys(t *testing.T) {
	for kind, notifier := range notifiers(nil) {
		n, keeps := notifier.(channels.IncidentNotifier)
		if _, known := incidentServers()[kind]; known != keeps {
			t.Errorf("%s keeps incidents: %v", kind, keeps)
		}
		if keeps && (n.Refresh() == time.Minute) != (kind == "alertmanager") {
			t.Errorf("%s: refresh %v", kind, n.Refresh())
		}
	}
}

// TestOldKey closes an incident that has another key than the UUID of the check.
func TestOldKey(t *testing.T) {
	for kind := range incidentServers() {
		if kind == "alertmanager" || slices.Contains(trackers, kind) {
			continue
		}
		t.Run(string(kind), func(t *testing.T) {
			l := newLine(t, kind, nil)
			l.open = "rollcall-1234"
			l.deliver(l.alert(channels.Down))
			if open := l.receiver.open(l.now); !slices.Equal(open, []string{"rollcall-1234"}) {
				t.Errorf("open are %q", open)
			}
			l.deliver(l.alert(channels.Up))
			l.expect("up", 0)
		})
	}
}
