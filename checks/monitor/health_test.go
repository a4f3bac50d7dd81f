package monitor_test

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/sqlstore"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/dbtest"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/sqlite"
	"github.com/rollcall-dev/rollcall/pings"
)

// sick is a store whose transactions and looks for deadlines fail or hang.
type sick struct {
	store.Store
	mu  sync.Mutex
	err error
	// hang blocks transactions until the context ends, or, if deaf is not nil, until that is closed.
	hang bool
	deaf chan struct{}
}

func (s *sick) set(err error, hang bool, deaf chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err, s.hang, s.deaf = err, hang, deaf
}

func (s *sick) before(ctx context.Context) error {
	s.mu.Lock()
	err, hang, deaf := s.err, s.hang, s.deaf
	s.mu.Unlock()
	switch {
	case deaf != nil:
		<-deaf
	case hang:
		<-ctx.Done()
		return ctx.Err()
	}
	return err
}

func (s *sick) Update(ctx context.Context, fn func(context.Context, store.Tx) error) error {
	if err := s.before(ctx); err != nil {
		return err
	}
	return s.Store.Update(ctx, fn)
}

func (s *sick) Outlook(ctx context.Context) (next time.Time, states []store.SpoolState, oldest time.Time, err error) {
	if err := s.before(ctx); err != nil {
		return time.Time{}, nil, time.Time{}, err
	}
	return s.Store.Outlook(ctx)
}

func (s *sick) Probe(ctx context.Context, write bool) error {
	if err := s.before(ctx); write && err != nil {
		return err
	}
	return s.Store.Probe(ctx, write)
}

// clustered is a store on a cluster of Citus.
type clustered struct {
	sick
	all  int
	away []string
	err  error
	slow string
}

func (c *clustered) Slowed() string { return c.slow }

func (c *clustered) Workers(context.Context) (int, []string, error) { return c.all, c.away, c.err }

// While some workers of Citus are away, a load balancer must go on sending pings to all servers. Health and its heartbeat
// report the problem all the same. Pings of checks on those workers fail, which does not count.
func TestReadyWithoutWorkers(t *testing.T) {
	cluster := &clustered{sick: sick{Store: dbtest.SQLite(t).Open(t).Contract().(store.Store)}, all: 3}
	mon, err := monitor.New(database{cluster}, &monitor.Config{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	look := func(when string, ready monitor.Condition, health string) {
		t.Helper()
		got := mon.Ready(t.Context())
		if len(got) != 1 || got[0].Problem != ready.Problem || got[0].Detail != ready.Detail {
			t.Errorf("%s: ready is %+v, want %+v", when, got, ready)
		}
		if got := problems(mon.Health(t.Context()))["database"]; got != health {
			t.Errorf("%s: health says %q, want %q", when, got, health)
		}
	}
	look("all answer", monitor.Condition{}, "")
	cluster.slow = "pings are slow"
	look("the slower way", monitor.Condition{Detail: "pings are slow"}, "")
	cluster.slow = ""
	cluster.away = []string{"10.0.0.1:5432"}
	look("one is away", monitor.Condition{Detail: "cannot reach 1 of 3 workers of Citus; pings of other checks are recorded"},
		"cannot reach 1 of 3 workers of Citus")
	if err := mon.Ready(t.Context())[0].Err; err == nil || !strings.Contains(err.Error(), "10.0.0.1:5432") {
		t.Errorf("the cause does not name the worker: %v", err)
	}
	cluster.set(errors.New("disk full"), false, nil)
	look("and pings fail", monitor.Condition{Detail: "cannot reach 1 of 3 workers of Citus; pings of other checks are recorded"},
		"cannot reach 1 of 3 workers of Citus")
	cluster.away = []string{"10.0.0.1:5432", "10.0.0.2:5432", "10.0.0.3:5432"}
	const none = "cannot reach 3 of 3 workers of Citus"
	look("all are away", monitor.Condition{Problem: none}, none)
	cluster.err = errors.New("no coordinator")
	look("the coordinator is away", monitor.Condition{}, "cannot be written")
}

// problems returns the problems of the parts that are not healthy.
func problems(list []monitor.Condition) map[string]string {
	found := map[string]string{}
	for _, c := range list {
		if !c.OK() {
			found[c.Part] = c.Problem
		}
	}
	return found
}

// Live reports whether the watcher is at work, and Health whether it succeeds. A failure of the database is no reason to
// restart the process.
func TestHealthOfWatcher(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &sick{Store: dbtest.SQLite(t).Open(t).Contract().(store.Store)}
		mon, err := monitor.New(database{store}, &monitor.Config{Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		is := func(when string, live bool, want map[string]string) {
			t.Helper()
			if got := mon.Live(); got.OK() != live || got.Part != "watcher" {
				t.Errorf("%s: live is %+v, want %v", when, got, live)
			}
			if diff := cmp.Diff(want, problems(mon.Health(t.Context()))); diff != "" {
				t.Errorf("%s (-want +got):\n%s", when, diff)
			}
		}
		sleep := func(d time.Duration) {
			time.Sleep(d)
			synctest.Wait() // the watcher may have woken at the same instant
		}
		well := map[string]string{}
		sleep(time.Hour)
		is("before Run", true, well)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		done := make(chan error)
		go func() { done <- mon.Run(ctx) }()
		synctest.Wait()
		is("at the start of Run", true, well)
		sleep(time.Hour)
		is("while it runs", true, well)

		store.set(errors.New("disk full"), false, nil)
		sleep(30 * time.Second)
		is("soon after the trouble began", true, map[string]string{"database": "cannot be written"})
		sleep(31 * time.Second)
		is("a minute after", true, map[string]string{"database": "cannot be written", "watcher": "has not succeeded for 1m1s"})
		store.set(nil, false, nil)
		sleep(2 * time.Second)
		is("when it is over", true, well)

		store.set(nil, true, nil)
		sleep(10 * time.Minute)
		if got := mon.Live(); !got.OK() {
			t.Errorf("while the database hangs: %+v", got)
		}
		if got := problems(mon.Health(t.Context())); got["database"] == "" || got["watcher"] == "" {
			t.Errorf("while the database hangs: %v", got)
		}
		deaf := make(chan struct{})
		store.set(nil, true, deaf)
		sleep(4 * time.Minute)
		if got := mon.Live(); got.Problem != "hangs" {
			t.Errorf("while the watcher hangs: %+v", got)
		}
		store.set(nil, false, nil)
		close(deaf)
		sleep(2 * time.Second)
		is("when that is over", true, well)
		cancel()
		<-done
		is("after Run", false, map[string]string{"watcher": "has stopped"})
	})
}

// A transaction of pings that never returns makes the monitor not live. One that fails in time does not.
func TestLiveWhilePingsHang(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &sick{Store: dbtest.SQLite(t).Open(t).Contract().(store.Store)}
		mon, err := monitor.New(database{store}, nil)
		if err != nil {
			t.Fatal(err)
		}
		live := func(when, want string) {
			t.Helper()
			if got := mon.Live(); got.Problem != want || want != "" && got.Part != "pings" {
				t.Errorf("%s: %+v, want %q", when, got, want)
			}
		}
		done := make(chan error)
		ping := func() {
			go func() {
				_, err := mon.Ping(t.Context(), uuid.New(), pings.Signal{Kind: pings.Success})
				done <- err
			}()
			synctest.Wait()
		}
		store.set(nil, true, nil)
		for range 100 {
			ping()
			time.Sleep(4 * time.Second)
			live("while the database hangs", "")
			if err := <-done; !errors.Is(err, checks.ErrUnavailable) {
				t.Fatal(err)
			}
		}
		deaf := make(chan struct{})
		store.set(nil, false, deaf)
		ping()
		time.Sleep(2 * time.Minute)
		live("soon after a transaction began to hang", "")
		time.Sleep(time.Second)
		live("while a transaction hangs", "are stuck")
		close(deaf)
		<-done
		live("when that is over", "")
	})
}

// A database that knows what is wrong with it is not called out of reach.
func TestReadyWithDamagedFile(t *testing.T) {
	db := dbtest.SQLite(t)
	whole, err := sqlite.Open(t.Context(), db.Path())
	must(t, err)
	must(t, whole.Close())
	store, err := sqlstore.New(db.Bun(t))
	must(t, err)
	content, err := os.ReadFile(db.Path())
	must(t, err)
	for i := 4096; i < len(content); i++ {
		content[i] = 0xA5
	}
	must(t, os.WriteFile(db.Path(), content, 0o600))
	mon, err := monitor.New(store, nil)
	must(t, err)
	if got := problems(mon.Ready(t.Context()))["database"]; got != "is damaged: restore a backup" {
		t.Errorf("Ready says %q", got)
	}
}

// A store that heeds no context keeps Ready from nothing: it answers within two seconds, and at once while the probe still hangs.
func TestReadyWhileProbeHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &sick{Store: dbtest.SQLite(t).Open(t).Contract().(store.Store)}
		mon, err := monitor.New(database{store}, nil)
		if err != nil {
			t.Fatal(err)
		}
		deaf := make(chan struct{})
		store.set(nil, false, deaf)
		for i := range 3 {
			begin := time.Now()
			got := problems(mon.Ready(t.Context()))["database"]
			if took := time.Since(begin); got != "does not answer" || took > 2*time.Second || i > 0 && took > 0 {
				t.Errorf("call %d: %q after %v", i, got, took)
			}
		}
		store.set(nil, false, nil)
		close(deaf)
		synctest.Wait()
		if got := problems(mon.Ready(t.Context())); len(got) > 0 {
			t.Errorf("afterwards: %v", got)
		}
	})
}

// deafNotifier is never asked here.
type deafNotifier struct{ channels.Notifier }

func TestHealthOfDeliveries(t *testing.T) {
	eachStore(t, func(t *testing.T, open func() database) {
		store := open()
		s := newSetup(t, store, checks.ProjectSpec{Name: "p"})
		if _, err := s.CreateChannel(t.Context(), s.project.ID, "email", "ops", map[string]string{"to": "ops@example.org"}); err != nil {
			t.Fatal(err)
		}
		s.ping(t, s.create(t, checks.Spec{Channels: new("*")}).ID, pings.Failure)
		sends, err := monitor.New(store, &monitor.Config{
			Now: s.clock.Now, Channels: []channels.Type{{Kind: channels.Email, Notifier: deafNotifier{}}},
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, step := range []struct {
			after time.Duration
			want  map[string]string
		}{
			{0, map[string]string{}},
			{5 * time.Minute, map[string]string{}},
			{time.Second, map[string]string{"deliveries": "are stuck: one has been due for 5m1s"}},
		} {
			s.clock.Advance(step.after)
			if diff := cmp.Diff(step.want, problems(sends.Health(t.Context()))); diff != "" {
				t.Errorf("after %v (-want +got):\n%s", step.after, diff)
			}
			if got := problems(s.Health(t.Context())); len(got) != 0 {
				t.Errorf("of a monitor that delivers nothing: %v", got)
			}
		}
		if got := s.Ready(t.Context()); len(got) != 1 || !got[0].OK() || got[0].Part != "database" {
			t.Errorf("ready: %+v", got)
		}
	})
}

// receiver is the other side of heartbeats.
type receiver struct {
	mu   sync.Mutex
	got  []string
	err  error
	hang bool
}

func (r *receiver) Ping(ctx context.Context, s pings.Signal) error {
	r.mu.Lock()
	r.got = append(r.got, strings.TrimSpace(string(s.Kind)+" "+string(s.Body)))
	err, hang := r.err, r.hang
	r.mu.Unlock()
	if hang {
		<-ctx.Done()
		return ctx.Err()
	}
	return err
}

func (r *receiver) set(err error, hang bool) (got []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	got, r.got, r.err, r.hang = r.got, nil, err, hang
	return got
}

func TestHeartbeat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &sick{Store: dbtest.SQLite(t).Open(t).Contract().(store.Store)}
		var log lockedLog
		mon, err := monitor.New(database{store}, &monitor.Config{Logger: slog.New(slog.NewTextHandler(&log, nil))})
		if err != nil {
			t.Fatal(err)
		}
		if mon.Heartbeat(t.Context(), 0, &receiver{}) == nil || mon.Heartbeat(t.Context(), time.Minute, nil) == nil {
			t.Error("a heartbeat without an interval or a pinger")
		}
		var other receiver
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- mon.Heartbeat(ctx, time.Minute, &other) }()
		after := func(minutes int, err error, hang bool, want ...string) {
			t.Helper()
			time.Sleep(time.Duration(minutes) * time.Minute)
			synctest.Wait()
			if diff := cmp.Diff(want, other.set(err, hang)); diff != "" {
				t.Errorf("after %d minutes (-want +got):\n%s", minutes, diff)
			}
		}
		time.Sleep(59 * time.Second)
		after(0, nil, false) // nothing at the start
		time.Sleep(2 * time.Second)
		after(0, nil, false, "success")
		after(2, nil, false, "success", "success")
		store.set(errors.New("secret detail"), false, nil)
		after(1, nil, false, "fail database: cannot be written")
		store.set(nil, false, nil)
		after(1, errors.New("no route"), false, "success")
		time.Sleep(90 * time.Minute)
		other.set(nil, true)
		time.Sleep(3 * time.Minute)
		if got := other.set(nil, false); len(got) != 3 {
			t.Errorf("beats to a side that hangs: %q", got)
		}
		after(2, nil, false, "success", "success")
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Heartbeat returned %v", err)
		}
		for text, times := range map[string]int{
			"secret detail": 1, `msg="this monitor is not healthy; that is over"`: 1, // the cause is for the log alone
			`msg="a heartbeat was not sent" rollcall.component=heartbeat times=1`: 1, `msg="a heartbeat was not sent"`: 2, "that is over": 2,
		} {
			if got := strings.Count(log.String(), text); got != times {
				t.Errorf("the log has %q %d times, want %d:\n%s", text, got, times, log.String())
			}
		}
	})
}

// lockedLog collects a log.
type lockedLog struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lockedLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lockedLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}
