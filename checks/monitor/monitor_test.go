package monitor_test

import (
	"fmt"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels/standard"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/dbtest"
	"github.com/rollcall-dev/rollcall/flips"
	"github.com/rollcall-dev/rollcall/pings"
)

func TestMain(m *testing.M) {
	if arguments := os.Getenv(courierVar); arguments != "" {
		fmt.Fprintln(os.Stderr, courierMain(arguments))
		os.Exit(1)
	}
	dbtest.Main(m)
}

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// setup is a monitor, its clock, which stands at noon, and a project.
type setup struct {
	verbs
	clock   *dbtest.Clock
	project checks.Project
}

func newSetup(t *testing.T, s monitor.Store, spec checks.ProjectSpec) setup {
	t.Helper()
	return configured(t, s, spec, monitor.Config{})
}

// configured returns a setup whose monitor has a configuration, but for the clock and the log.
func configured(t *testing.T, db monitor.Store, spec checks.ProjectSpec, config monitor.Config) setup {
	t.Helper()
	s := setup{clock: dbtest.NewClock(noon)}
	s.Monitor = s.with(t, db, config)
	var err error
	s.project, _, err = s.CreateProject(t.Context(), spec)
	must(t, err)
	return s
}

// with returns another monitor with the clock of the setup and no log.
func (s setup) with(t *testing.T, db monitor.Store, config monitor.Config) *monitor.Monitor {
	t.Helper()
	config.Now, config.Logger = s.clock.Now, slog.New(slog.DiscardHandler)
	if config.Channels == nil {
		config.Channels, config.DeliveredElsewhere = standard.Kinds(), true
	}
	if config.WriteTimeout == 0 {
		config.WriteTimeout = patience
	}
	mon, err := monitor.New(db, &config)
	must(t, err)
	return mon
}

// each runs a test on each kind of database. The project is named p.
func each(t *testing.T, test func(t *testing.T, s setup)) {
	t.Helper()
	eachConfig(t, monitor.Config{}, test)
}

func eachConfig(t *testing.T, config monitor.Config, test func(t *testing.T, s setup)) {
	t.Helper()
	eachStore(t, func(t *testing.T, open func() database) {
		test(t, configured(t, open(), checks.ProjectSpec{Name: "p"}, config))
	})
}

// database is a store that a test may stand in for.
type database struct{ store.Store }

func (d database) Contract() any { return d.Store }

// eachStore runs a test on each kind of database. Each call of open stands for another server
// on the same data.
func eachStore(t *testing.T, test func(t *testing.T, open func() database)) {
	t.Helper()
	dbtest.Each(t, func(t *testing.T, db dbtest.DB) {
		test(t, func() database { return database{db.Open(t).Contract().(store.Store)} })
	})
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// together runs fn n times at once and waits for all.
func together(n int, fn func(i int)) {
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { fn(i) })
	}
	wg.Wait()
}

// everyMinute makes a check go down two minutes after a ping.
func everyMinute() checks.Spec {
	return checks.Spec{Timeout: new(time.Minute), Grace: new(time.Minute)}
}

func (s setup) create(t *testing.T, spec checks.Spec) checks.Check {
	t.Helper()
	c, err := s.Create(t.Context(), s.project.ID, spec)
	must(t, err)
	return c
}

func (s setup) ping(t *testing.T, id uuid.UUID, kind pings.Kind) pings.Ping {
	t.Helper()
	p, err := s.Ping(t.Context(), id, pings.Signal{Kind: kind})
	must(t, err)
	return p
}

// nPings returns how many pings a check counts.
func (s setup) nPings(t *testing.T, id uuid.UUID) int64 {
	t.Helper()
	c, err := s.Check(t.Context(), id)
	must(t, err)
	return c.NPings
}

// sweep looks for overdue checks and compares how many went down.
func (s setup) sweep(t *testing.T, want int) {
	t.Helper()
	if down, err := s.Sweep(t.Context()); down != want || err != nil {
		t.Errorf("at %v %d checks went down, want %d; error %v", s.clock.Now(), down, want, err)
	}
}

func (s setup) flips(t *testing.T, id uuid.UUID) []flips.Flip {
	t.Helper()
	list, err := s.Flips(t.Context(), id, flips.Range{})
	must(t, err)
	return list
}

// flipsAre compares the flips of a check, newest first.
func (s setup) flipsAre(t *testing.T, id uuid.UUID, want ...flips.Flip) {
	t.Helper()
	if diff := cmp.Diff(want, s.flips(t, id)); diff != "" {
		t.Errorf("flips (-want +got):\n%s", diff)
	}
}

func TestNew(t *testing.T) {
	s := dbtest.SQLite(t).Open(t)
	for _, test := range []struct {
		name   string
		store  monitor.Store
		config *monitor.Config
		ok     bool
	}{
		{"no store", nil, nil, false},
		{"no config", s, nil, true},
		{"negative limit", s, &monitor.Config{MaxBatch: -1}, false},
		{"negative commit margin", s, &monitor.Config{CommitMargin: -1}, false},
		{"no commit margin", s, &monitor.Config{CommitMargin: 0}, true},
		{"largest commit margin", s, &monitor.Config{CommitMargin: time.Minute}, true},
		{"commit margin too large", s, &monitor.Config{CommitMargin: time.Minute + 1}, false},
	} {
		if _, err := monitor.New(test.store, test.config); (err == nil) != test.ok {
			t.Errorf("%s: error %v, want success: %v", test.name, err, test.ok)
		}
	}
}

// TestServersShareChecks has two servers ping and sweep one check at the same time.
func TestServersShareChecks(t *testing.T) {
	eachStore(t, func(t *testing.T, open func() database) {
		s := newSetup(t, open(), checks.ProjectSpec{Name: "p"})
		servers := []*monitor.Monitor{s.Monitor, s.with(t, open(), monitor.Config{})}
		c := s.create(t, everyMinute())
		together(100, func(i int) {
			if _, err := servers[i%2].Ping(t.Context(), c.ID, pings.Signal{}); err != nil {
				t.Error(err)
			}
		})
		s.clock.Advance(time.Hour)
		var down atomic.Int64
		together(8, func(i int) {
			n, err := servers[i%2].Sweep(t.Context())
			if err != nil {
				t.Error(err)
			}
			down.Add(int64(n))
		})
		got, err := servers[1].Check(t.Context(), c.ID)
		if err != nil || got.NPings != 100 || down.Load() != 1 || len(s.flips(t, c.ID)) != 2 {
			t.Errorf("%d pings, taken down %d times, flips %v; want 100, once, 2; error %v", got.NPings, down.Load(), s.flips(t, c.ID), err)
		}
	})
}
