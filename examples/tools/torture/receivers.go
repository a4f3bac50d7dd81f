package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/monitor"
)

const (
	// hangingChannels is the number of integrations whose receivers hang, and hangingAlerts the alerts to each.
	hangingChannels, hangingAlerts = 400, 2
	// arriveWithin is how long an alert to a healthy receiver may take, whatever the others do.
	arriveWithin = 2 * time.Second
)

// mailboxes are healthy receivers, and an Apprise server with a recipient that fails for now.
type mailboxes struct {
	web     *http.Server
	url     string
	problem func(format string, args ...any)

	mu     sync.Mutex
	failed bool                // whether the recipient "weak" fails
	got    map[string][]string // titles or statuses by receiver
	last   map[string]time.Time
}

func newMailboxes(problem func(format string, args ...any)) (*mailboxes, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	m := &mailboxes{url: "http://" + listener.Addr().String(), problem: problem, got: make(map[string][]string), last: make(map[string]time.Time)}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /hook/{name}", func(_ http.ResponseWriter, r *http.Request) {
		var document struct{ Status string }
		m.take(r.PathValue("name"), json.NewDecoder(r.Body).Decode(&document), &document.Status)
	})
	mux.HandleFunc("POST /notify", m.apprise)
	m.web = &http.Server{Handler: mux, ReadHeaderTimeout: patience}
	go func() { _ = m.web.Serve(listener) }() // it ends with Close
	return m, nil
}

// take notes what a receiver has got.
func (m *mailboxes) take(name string, err error, status *string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err != nil {
		m.problem("unreadable alert to %s: %v", name, err)
	}
	m.got[name], m.last[name] = append(m.got[name], *status), time.Now()
}

// apprise answers like an Apprise server, which is asked for one recipient at a time.
func (m *mailboxes) apprise(w http.ResponseWriter, r *http.Request) {
	var document struct {
		URLs []string
		Type string
	}
	err := json.NewDecoder(r.Body).Decode(&document)
	m.mu.Lock()
	failed := m.failed
	m.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	if slices.Contains(document.URLs, "json://weak") && failed {
		w.WriteHeader(http.StatusFailedDependency)
		fmt.Fprint(w, `{"error": "away"}`)
		return
	}
	status := map[string]string{"success": "up", "failure": "down", "warning": "down"}[document.Type]
	m.take(fmt.Sprint(document.URLs), err, &status)
	fmt.Fprint(w, `{"error": null}`)
}

// count returns how much a receiver has got, and when it got the last.
func (m *mailboxes) count(name string) (int, time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.got[name]), m.last[name]
}

// hang accepts connections until ctx ends. It never answers every other one, and lets the answer drip to the others.
func hang(ctx context.Context, listener net.Listener) {
	context.AfterFunc(ctx, func() { _ = listener.Close() })
	for n := 0; ; n++ {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		context.AfterFunc(ctx, func() { _ = conn.Close() })
		if n%2 == 0 {
			go func() {
				for sleep(ctx, time.Second) {
					if _, err := conn.Write([]byte("H")); err != nil {
						return
					}
				}
			}()
		}
	}
}

// runReceivers has hundreds of receivers hang, all for the first time, and one of two recipients of an integration fail. Alerts
// of other integrations, of the same project and of another one, and those to the other recipient must arrive within two
// seconds all the time; the one that fails must get all it has missed, in order and once.
func runReceivers(ctx context.Context, s *site, o options) (report string, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	m, err := newMailboxes(s.problem)
	if err != nil {
		return "", err
	}
	defer m.web.Close()
	m.failed = true
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	go hang(ctx, listener)
	healthy, err := s.receiverChecks(ctx, m)
	if err != nil {
		return "", err
	}
	if err := s.hangingChecks(ctx, "http://"+listener.Addr().String()); err != nil {
		return "", err
	}
	var slowest time.Duration
	n := 0
	for end := time.Now().Add(o.Outage); time.Now().Before(end) || n%2 == 1; n++ { // the last alert says that all is well
		path := []string{"/fail", ""}[n%2]
		for receiver, id := range healthy {
			began := time.Now()
			if a, err := s.send(ctx, request{method: http.MethodPost, path: "/ping/" + id.String() + path}); err != nil || a.status != http.StatusOK {
				return "", fmt.Errorf("ping: status %d, %w", a.status, err)
			}
			arrived, err := await(ctx, patience, func() (bool, error) { got, _ := m.count(receiver); return got == n+1, nil })
			if err != nil {
				return "", err
			}
			_, at := m.count(receiver)
			took := at.Sub(began)
			if slowest = max(slowest, took); !arrived || took > arriveWithin+s.slack {
				s.problem("alert %d to %s arrived %v after its ping, or never: %v", n+1, receiver, took, arrived)
			}
		}
	}
	return fmt.Sprintf("%d alerts to each of %d receivers, the slowest after %v", n, len(healthy), slowest.Round(time.Millisecond)), s.weakCatchesUp(ctx, m, n)
}

// weakCatchesUp lets the recipient that failed work again, and compares what it gets.
func (s *site) weakCatchesUp(ctx context.Context, m *mailboxes, n int) error {
	const weak, strong = "[json://weak]", "[json://strong]"
	m.mu.Lock()
	m.failed = false
	m.mu.Unlock()
	if _, err := await(ctx, patience, func() (bool, error) { got, _ := m.count(weak); return got >= n, nil }); err != nil {
		return err
	}
	sleep(ctx, time.Second) // for what should not come
	m.mu.Lock()
	defer m.mu.Unlock()
	if diff := cmp.Diff(m.got[strong], m.got[weak]); diff != "" {
		s.problem("the recipient that failed (-the other +it):\n%s", diff)
	}
	return nil
}

// receiverChecks creates the integrations of healthy receivers in two projects, and a check for each, by the receiver.
func (s *site) receiverChecks(ctx context.Context, m *mailboxes) (map[string]uuid.UUID, error) {
	healthy := make(map[string]uuid.UUID)
	for _, name := range []string{"default", "other"} {
		project, err := s.mon.OpenProject(ctx, name)
		if err != nil {
			return nil, err
		}
		hook := m.url + "/hook/" + name
		id, err := watchedBy(ctx, project, channels.Channel{Kind: channels.Webhook, Name: "calm", Settings: map[string]string{"url_down": hook, "url_up": hook}})
		if err != nil {
			return nil, err
		}
		healthy[name] = id
	}
	project, err := s.mon.OpenProject(ctx, "other")
	if err != nil {
		return nil, err
	}
	id, err := watchedBy(ctx, project, channels.Channel{Kind: "apprise", Name: "two", Settings: map[string]string{"server_url": m.url, "urls": "json://weak\njson://strong"}})
	healthy["[json://strong]"] = id
	return healthy, err
}

// hangingChecks creates the integrations whose receivers hang, and has checks of each go down.
func (s *site) hangingChecks(ctx context.Context, url string) error {
	project, err := s.mon.OpenProject(ctx, "default")
	if err != nil {
		return err
	}
	for i := range hangingChannels {
		c := channels.Channel{Kind: channels.Webhook, Name: fmt.Sprint("hangs ", i), Settings: map[string]string{"url_down": url}}
		if c, err = project.CreateChannel(ctx, c); err != nil {
			return err
		}
		for range hangingAlerts {
			check, err := project.Create(ctx, checks.Spec{Channels: new(c.ID.String())})
			if err != nil {
				return err
			}
			if _, err := s.send(ctx, request{method: http.MethodPost, path: "/ping/" + check.ID.String() + "/fail"}); err != nil {
				return err
			}
		}
	}
	return nil
}

// watchedBy creates a channel and a check whose alerts go to it.
func watchedBy(ctx context.Context, project *monitor.Project, c channels.Channel) (uuid.UUID, error) {
	c, err := project.CreateChannel(ctx, c)
	if err != nil {
		return uuid.Nil, err
	}
	check, err := project.Create(ctx, checks.Spec{Channels: new(c.ID.String())})
	return check.ID, err
}
