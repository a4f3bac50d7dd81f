package monitor_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/spool"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/dbtest"
	"github.com/rollcall-dev/rollcall/flips"
	"github.com/rollcall-dev/rollcall/pings"
)

// outage is a store that can be cut off. Once doubtful, it commits one more transaction and loses the answer.
type outage struct {
	store.Store
	away, doubtful atomic.Bool
}

var errAway = fmt.Errorf("%w: cut off", store.ErrUnavailable)

func (o *outage) Update(ctx context.Context, fn func(context.Context, store.Tx) error) error {
	if o.away.Load() {
		return errAway
	}
	err := o.Store.Update(ctx, fn)
	if err == nil && o.doubtful.CompareAndSwap(true, false) {
		o.away.Store(true)
		return errAway
	}
	return err
}

func (o *outage) FindChecks(ctx context.Context, project uuid.UUID, m store.Match) ([]uuid.UUID, error) {
	if o.away.Load() {
		return nil, errAway
	}
	return o.Store.FindChecks(ctx, project, m)
}

func (o *outage) Probe(ctx context.Context, write bool) error {
	if o.away.Load() {
		return errAway
	}
	return o.Store.Probe(ctx, write)
}

// spooler is a monitor with a spool on a store that can be cut off.
type spooler struct {
	*monitor.Monitor
	store *outage
	queue interface {
		monitor.Spool
		Close() error
	}
	dir string // "" for a spool in memory
}

// memorySpool is a spool that survives what a test calls a crash, for tests with so many steps that those on a disk would
// take minutes.
type memorySpool struct {
	id      uuid.UUID
	entries []store.SpoolEntry
	last    uint64
}

func (m *memorySpool) Contract() any { return m }

func (m *memorySpool) ID() uuid.UUID { return m.id }

func (m *memorySpool) Append(list [][]byte) error {
	for _, data := range list {
		m.last++
		m.entries = append(m.entries, store.SpoolEntry{Key: m.last, Data: data})
	}
	return nil
}

func (m *memorySpool) Oldest(limit, _ int) ([]store.SpoolEntry, error) {
	return slices.Clone(m.entries[:min(limit, len(m.entries))]), nil
}

func (m *memorySpool) Remove(upTo uint64) error {
	m.entries = slices.DeleteFunc(m.entries, func(e store.SpoolEntry) bool { return e.Key <= upTo })
	return nil
}

func (m *memorySpool) Probe(bool) error { return nil }

func (m *memorySpool) Size() (int, int64) { return len(m.entries), 0 }

func (m *memorySpool) Close() error { return nil }

// spoolers are monitors with spools on one database, and a check that was pinged at noon. The first is also that of setup.
type spoolers struct {
	setup
	open   func() database
	list   []*spooler
	check  checks.Check
	config monitor.Config
}

func eachSpoolers(t *testing.T, n int, test func(t *testing.T, s *spoolers)) {
	eachStore(t, func(t *testing.T, open func() database) {
		s := &spoolers{setup: configured(t, open(), checks.ProjectSpec{Name: "p"}, monitor.Config{}), open: open}
		for range n {
			s.list = append(s.list, s.start(t, t.TempDir(), false))
		}
		s.Monitor = s.list[0].Monitor
		s.check = s.create(t, everyMinute())
		s.ping(t, s.check.ID, pings.Success)
		s.turn(t)
		test(t, s)
	})
}

// start starts a monitor on the spool in a directory.
func (s *spoolers) start(t *testing.T, dir string, away bool) *spooler {
	t.Helper()
	queue, err := spool.Open(dir, nil)
	must(t, err)
	t.Cleanup(func() { queue.Close() })
	m := &spooler{store: &outage{Store: s.open()}, queue: queue, dir: dir}
	s.run(t, m, away)
	return m
}

// run starts a monitor on its spool.
func (s *spoolers) run(t *testing.T, m *spooler, away bool) {
	t.Helper()
	m.store.away.Store(away)
	config := s.config
	config.Spool = m.queue
	m.Monitor = s.with(t, database{m.store}, config)
}

// kill ends a monitor without a word to the others, and returns one on the same spool.
func (s *spoolers) kill(t *testing.T, i int, away bool) *spooler {
	t.Helper()
	if m := s.list[i]; m.dir == "" {
		s.run(t, m, away)
	} else {
		must(t, m.queue.Close())
		s.list[i] = s.start(t, m.dir, away)
	}
	return s.list[i]
}

func (s *spoolers) cut(away bool) {
	for _, m := range s.list {
		m.store.away.Store(away)
	}
}

// turn lets each monitor do its background work once.
func (s *spoolers) turn(t *testing.T) (down int) {
	t.Helper()
	for _, m := range s.list {
		if _, err := m.Replay(t.Context()); err != nil && !errors.Is(err, checks.ErrUnavailable) {
			t.Error(err)
		}
	}
	for _, m := range s.list {
		n, err := m.Sweep(t.Context())
		if err != nil && !errors.Is(err, checks.ErrUnavailable) {
			t.Error(err)
		}
		down += n
	}
	return down
}

// wait lets time pass, while the monitors work every other second.
func (s *spoolers) wait(t *testing.T, seconds int) (down int) {
	t.Helper()
	for seconds > 0 {
		step := min(seconds, 2)
		seconds -= step
		s.clock.Advance(time.Duration(step) * time.Second)
		down += s.turn(t)
	}
	return down
}

func send(t *testing.T, m *spooler, id uuid.UUID, name string) {
	t.Helper()
	_, err := m.Ping(t.Context(), id, pings.Signal{UserAgent: name})
	must(t, err)
}

// entries returns the user agents and the seconds after noon of the pings of the check after the first one, by time.
func (s *spoolers) entries(t *testing.T) (got []string) {
	t.Helper()
	list, err := s.Pings(t.Context(), s.check.ID)
	must(t, err)
	slices.SortStableFunc(list, func(a, b pings.Ping) int { return cmp.Or(a.At.Compare(b.At), int(a.N-b.N)) })
	for _, p := range list[1:] {
		got = append(got, fmt.Sprint(p.UserAgent, " ", int(p.At.Sub(noon).Seconds())))
	}
	return got
}

// logIs compares entries.
func (s *spoolers) logIs(t *testing.T, want ...string) {
	t.Helper()
	if diff := gocmp.Diff(want, s.entries(t)); diff != "" {
		t.Errorf("log (-want +got):\n%s", diff)
	}
}

func spooled(t *testing.T, m *spooler) int {
	t.Helper()
	stats, ok := m.Spooled()
	if !ok {
		t.Fatal("no spool")
	}
	return stats.Pings
}

// TestSpool takes pings during an outage: in time, by slug, for unknown checks. They are recorded in order with their times
// of receipt, before any deadline is judged.
func TestSpool(t *testing.T) {
	eachSpoolers(t, 1, func(t *testing.T, s *spoolers) {
		m, ctx := s.list[0], t.Context()
		slug := s.create(t, checks.Spec{Slug: new("by-slug")})
		s.cut(true)
		s.wait(t, 50)
		send(t, m, s.check.ID, "in time")
		send(t, m, uuid.New(), "to nobody")
		for _, name := range []string{"by-slug", "unknown", "made"} {
			if _, created, err := m.PingSlug(ctx, s.project.PingKey, name, name == "made", pings.Signal{}); created || err != nil {
				t.Errorf("ping of %s: created %v, %v", name, created, err)
			}
		}
		if _, _, err := m.PingSlug(ctx, "no key", "by-slug", false, pings.Signal{}); !errors.Is(err, checks.ErrNotFound) {
			t.Errorf("a ping with an invalid key: %v", err)
		}
		if _, err := m.Ping(ctx, s.check.ID, pings.Signal{Kind: "nonsense"}); err == nil {
			t.Error("an invalid signal was spooled")
		}
		s.wait(t, 100)
		stats, _ := m.Spooled()
		if !stats.Oldest.Equal(noon.Add(50 * time.Second)) {
			t.Errorf("the oldest ping is of %v", stats.Oldest)
		}
		ready := m.Ready(ctx)
		if len(ready) != 2 || !ready[0].OK() || ready[1].Detail == "is empty" {
			t.Errorf("ready %+v", ready)
		}
		s.cut(false)
		if down := s.turn(t); down != 0 || spooled(t, m) != 0 {
			t.Errorf("%d checks went down, %d pings are left", down, spooled(t, m))
		}
		s.logIs(t, "in time 50")
		if n := s.nPings(t, slug.ID); n != 1 {
			t.Errorf("%d pings by slug", n)
		}
		if _, err := s.CheckBySlug(ctx, s.project.ID, "made"); err != nil {
			t.Error(err)
		}
		if stats, _ := m.Spooled(); stats.Dropped != 2 {
			t.Errorf("%d pings were dropped, want 2", stats.Dropped)
		}
		s.flipsAre(t, s.check.ID, flips.Flip{At: noon, Up: true, Reason: flips.Success})
		if down := s.wait(t, 30); down != 1 {
			t.Error("the check never went down")
		}
		s.flipsAre(t, s.check.ID, flips.Flip{At: noon.Add(170 * time.Second), Reason: flips.Overdue}, flips.Flip{At: noon, Up: true, Reason: flips.Success})
		send(t, m, s.check.ID, "direct")
		s.logIs(t, "in time 50", "direct 180")
	})
}

// TestSpoolWithReplacedKey: a ping that waits in a spool when the ping key of its project is replaced is recorded, and none with
// that key is taken afterwards.
func TestSpoolWithReplacedKey(t *testing.T) {
	eachSpoolers(t, 2, func(t *testing.T, s *spoolers) {
		m, ctx := s.list[0], t.Context()
		s.clock.Advance(time.Second)
		slug := s.create(t, checks.Spec{Slug: new("by-slug")})
		m.store.away.Store(true)
		send(t, m, s.check.ID, "away")
		for _, name := range []string{"by-slug", "unknown"} {
			if _, _, err := m.PingSlug(ctx, s.project.PingKey, name, false, pings.Signal{}); err != nil {
				t.Error(err)
			}
		}
		for range 2 {
			if _, err := s.list[1].Projects().RotatePingKey(ctx, s.project.ID); err != nil {
				t.Fatal(err)
			}
		}
		m.store.away.Store(false)
		s.wait(t, 30)
		if stats, _ := m.Spooled(); s.nPings(t, slug.ID) != 1 || stats.Pings != 0 || stats.Dropped != 1 {
			t.Errorf("%d pings by slug, spool %+v", s.nPings(t, slug.ID), stats)
		}
		for _, m := range s.list {
			if _, _, err := m.PingSlug(ctx, s.project.PingKey, "by-slug", false, pings.Signal{}); !errors.Is(err, checks.ErrNotFound) {
				t.Errorf("a ping with the replaced key: %v", err)
			}
		}
	})
}

// TestSpoolDoubt loses the answer to a commit. The pings are spooled too, and recorded once.
func TestSpoolDoubt(t *testing.T) {
	eachSpoolers(t, 1, func(t *testing.T, s *spoolers) {
		m := s.list[0]
		s.clock.Advance(time.Second)
		m.store.doubtful.Store(true)
		send(t, m, s.check.ID, "doubtful")
		send(t, m, s.check.ID, "spooled")
		if n := spooled(t, m); n != 2 {
			t.Fatalf("%d pings are in the spool, want 2", n)
		}
		// The answer to the first commit of the replay is lost too.
		m.store.away.Store(false)
		m.store.doubtful.Store(true)
		s.turn(t)
		m = s.kill(t, 0, true)
		send(t, m, s.check.ID, "after the restart")
		m.store.away.Store(false)
		s.turn(t)
		s.logIs(t, "doubtful 1", "spooled 1", "after the restart 1")
		if n := spooled(t, m); n != 0 {
			t.Errorf("%d pings are left", n)
		}
	})
}

// TestSpoolFull refuses pings when the spool is full.
func TestSpoolFull(t *testing.T) {
	eachSpoolers(t, 1, func(t *testing.T, s *spoolers) {
		queue, err := spool.Open(t.TempDir(), &spool.Config{MaxBytes: 1000})
		must(t, err)
		defer queue.Close()
		db := &outage{Store: s.open()}
		db.away.Store(true)
		m := &spooler{Monitor: s.with(t, database{db}, monitor.Config{Spool: queue}), store: db, queue: queue}
		taken := 0
		for err == nil {
			if _, err = m.Ping(t.Context(), s.check.ID, pings.Signal{UserAgent: fmt.Sprint("ping ", taken)}); err == nil {
				taken++
			}
		}
		if !errors.Is(err, checks.ErrUnavailable) || !errors.Is(err, store.ErrSpoolFull) || taken == 0 {
			t.Errorf("after %d pings: %v", taken, err)
		}
		db.away.Store(false)
		_, err = m.Replay(t.Context())
		must(t, err)
		list, err := s.Pings(t.Context(), s.check.ID)
		must(t, err)
		if len(list) != 1+taken {
			t.Errorf("%d pings were recorded, want %d", len(list)-1, taken)
		}
	})
}

// TestSpoolsOfSeveral spreads the pings of a check over the spools of several servers. Whichever server is the first to
// have the database again, no deadline is judged before the pings of the others.
func TestSpoolsOfSeveral(t *testing.T) {
	for first := range 3 {
		t.Run(fmt.Sprint(first), func(t *testing.T) {
			eachSpoolers(t, 3, func(t *testing.T, s *spoolers) {
				s.cut(true)
				var want []string
				for i := range 9 {
					s.wait(t, 60)
					send(t, s.list[i%3], s.check.ID, fmt.Sprint("ping ", i))
					want = append(want, fmt.Sprint("ping ", i, " ", 60*(i+1)))
				}
				down := 0
				for i := range 3 {
					s.list[(first+i)%3].store.away.Store(false)
					down += s.wait(t, 5)
				}
				if down != 0 {
					t.Errorf("%d checks went down", down)
				}
				s.logIs(t, want...)
				s.flipsAre(t, s.check.ID, flips.Flip{At: noon, Up: true, Reason: flips.Success})
				if down := s.wait(t, 180); down != 1 {
					t.Errorf("%d checks went down after the last ping, want 1", down)
				}
			})
		})
	}
}

// TestSpoolOfMissing cuts one server off. The others hold deadlines back until it is back, or for the time to wait.
func TestSpoolOfMissing(t *testing.T) {
	eachSpoolers(t, 2, func(t *testing.T, s *spoolers) {
		s.wait(t, 100)
		s.list[1].store.away.Store(true)
		s.wait(t, 10)
		send(t, s.list[1], s.check.ID, "in time")
		if down := s.wait(t, 30); down != 0 {
			t.Error("the check went down while a server was missing")
		}
		// Neither may pings and changes judge the deadline.
		if _, err := s.Pause(t.Context(), s.check.ID); !errors.Is(err, checks.ErrUnavailable) {
			t.Errorf("pause: %v", err)
		}
		if _, err := s.Update(t.Context(), s.check.ID, checks.Spec{Name: new("x")}); !errors.Is(err, checks.ErrUnavailable) {
			t.Errorf("update: %v", err)
		}
		send(t, s.list[0], s.check.ID, "late")
		s.turn(t)
		if n := spooled(t, s.list[0]); n != 1 {
			t.Errorf("%d pings wait, want 1", n)
		}
		s.logIs(t)
		s.cut(false)
		s.wait(t, 5)
		s.logIs(t, "in time 110", "late 140")
		s.flipsAre(t, s.check.ID, flips.Flip{At: noon, Up: true, Reason: flips.Success})
	})
}

// TestSpoolOfLost ends the wait for a server that never comes back.
func TestSpoolOfLost(t *testing.T) {
	eachSpoolers(t, 2, func(t *testing.T, s *spoolers) {
		s.wait(t, 100)
		must(t, s.list[1].queue.Close())
		s.list = s.list[:1]
		if down := s.wait(t, 60); down != 0 {
			t.Error("the check went down too early")
		}
		if down := s.wait(t, 10); down != 1 {
			t.Error("the check never went down")
		}
		s.flipsAre(t, s.check.ID, flips.Flip{At: noon.Add(2 * time.Minute), Reason: flips.Overdue}, flips.Flip{At: noon, Up: true, Reason: flips.Success})
		// From now on nobody waits for it.
		send(t, s.list[0], s.check.ID, "again")
		if down := s.wait(t, 125); down != 1 {
			t.Error("deadlines are still held back")
		}
	})
}

// TestSpoolStops ends a server as Run does: nobody waits for it.
func TestSpoolStops(t *testing.T) {
	eachSpoolers(t, 2, func(t *testing.T, s *spoolers) {
		s.wait(t, 100)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		must(t, s.list[1].Run(ctx))
		s.list = s.list[:1]
		if down := s.wait(t, 25); down != 1 {
			t.Error("a server that has stopped holds deadlines back")
		}
	})
}

// TestSpoolAfterKill kills servers during the outage and during the replay, and starts them again without a database.
func TestSpoolAfterKill(t *testing.T) {
	eachSpoolers(t, 2, func(t *testing.T, s *spoolers) {
		s.cut(true)
		var want []string
		for i := range 6 {
			s.wait(t, 50)
			send(t, s.list[i%2], s.check.ID, fmt.Sprint("ping ", i))
			want = append(want, fmt.Sprint("ping ", i, " ", 50*(i+1)))
			s.kill(t, i%2, true)
		}
		s.wait(t, 100)
		s.list[0].store.away.Store(false)
		down := s.wait(t, 2)
		s.kill(t, 0, false)
		down += s.wait(t, 2)
		s.kill(t, 1, false)
		if down += s.wait(t, 10); down != 0 {
			t.Errorf("%d checks went down", down)
		}
		s.logIs(t, want...)
		s.flipsAre(t, s.check.ID, flips.Flip{At: noon, Up: true, Reason: flips.Success})
	})
}

// TestSpoolsMerge fails a check at one server and brings it up at another 3 seconds later, while nobody has the database.
// Whichever server is the first to have it again, the check has gone down in between.
func TestSpoolsMerge(t *testing.T) {
	for first := range 2 {
		t.Run(fmt.Sprint(first), func(t *testing.T) {
			eachSpoolers(t, 2, func(t *testing.T, s *spoolers) {
				s.cut(true)
				s.wait(t, 10)
				_, err := s.list[0].Ping(t.Context(), s.check.ID, pings.Signal{Kind: pings.Failure, UserAgent: "fail"})
				must(t, err)
				s.wait(t, 3)
				send(t, s.list[1], s.check.ID, "success")
				s.wait(t, 10)
				s.list[first].store.away.Store(false)
				s.wait(t, 2)
				send(t, s.list[first], s.check.ID, "direct")
				s.wait(t, 3)
				s.cut(false)
				s.wait(t, 5)
				list, err := s.Pings(t.Context(), s.check.ID)
				must(t, err)
				for i, want := range []string{"direct", "success", "fail"} {
					if list[i].UserAgent != want {
						t.Errorf("ping %d is %s, want %s", list[i].N, list[i].UserAgent, want)
					}
				}
				s.flipsAre(t, s.check.ID, flips.Flip{At: noon.Add(13 * time.Second), Up: true, Reason: flips.Success}, flips.Flip{At: noon.Add(10 * time.Second), Reason: flips.Failure},
					flips.Flip{At: noon, Up: true, Reason: flips.Success})
			})
		})
	}
}

// alerts returns the alerts of a check, newest first.
func (s *spoolers) alerts(t *testing.T, id uuid.UUID) (list []string) {
	t.Helper()
	all, err := s.Deliveries(t.Context(), s.project.ID, checks.DeliveryQuery{Check: id})
	must(t, err)
	for _, d := range all {
		list = append(list, string(d.Status))
	}
	return list
}

// TestSpoolsAreOneServer lets random pings for several checks arrive at several servers while all of them are without the
// database. They have it again one after the other, are killed meanwhile, and lose answers. Log, flips, state and alerts are
// those of one server that was never without.
func TestSpoolsAreOneServer(t *testing.T) {
	dbtest.Draws(t, 10)
	rapid.Check(t, func(r *rapid.T) {
		setups := make([]*spoolers, 2)
		for i := range setups {
			memory := dbtest.Memory(t)
			s := &spoolers{open: func() database { return database{memory.Contract().(store.Store)} }, config: monitor.Config{SpoolWait: 24 * time.Hour, MaxBatch: 3}}
			s.setup = configured(t, memory, checks.ProjectSpec{Name: "p"}, s.config)
			s.addOps(t)
			setups[i] = s
		}
		one, several := setups[0], setups[1]
		for range 3 {
			m := &spooler{store: &outage{Store: several.open()}, queue: &memorySpool{id: uuid.New()}}
			several.run(t, m, false)
			several.list = append(several.list, m)
		}
		several.turn(t) // the servers say that they are there
		var ids [2][]uuid.UUID
		for range 3 {
			for i, s := range setups {
				spec := everyMinute()
				spec.Channels = new("*")
				ids[i] = append(ids[i], s.create(t, spec).ID)
			}
		}
		pass := func(seconds int) {
			for range seconds {
				one.clock.Advance(time.Second)
				_, err := one.Sweep(t.Context())
				must(t, err)
			}
			several.wait(t, seconds)
		}
		pass(1)
		several.cut(true)
		last := rapid.IntRange(0, 2).Draw(r, "last") // the server that is without the database until the end
		for n := range rapid.IntRange(5, 40).Draw(r, "pings") {
			pass(rapid.IntRange(1, 30).Draw(r, "seconds"))
			at := rapid.IntRange(0, 2).Draw(r, "server")
			switch event := rapid.IntRange(0, 5).Draw(r, "event"); {
			case event == 0:
				several.kill(t, at, true)
			case event == 1 && at != last:
				several.list[at].store.away.Store(false)
			case event == 2 && at != last:
				several.list[at].store.away.Store(false)
				several.list[at].store.doubtful.Store(true)
			}
			check := rapid.IntRange(0, 2).Draw(r, "check")
			kind := rapid.SampledFrom([]pings.Kind{pings.Success, pings.Failure, pings.Start, pings.Log}).Draw(r, "kind")
			for i, m := range []*monitor.Monitor{one.Monitor, several.list[rapid.IntRange(0, 2).Draw(r, "of the ping")].Monitor} {
				_, err := m.Ping(t.Context(), ids[i][check], pings.Signal{Kind: kind, UserAgent: fmt.Sprint("ping ", n)})
				must(t, err)
			}
		}
		for _, m := range several.list {
			m.store.doubtful.Store(false)
		}
		several.cut(false)
		pass(10)
		for c := range 3 {
			var logs, states, alerts [2]any
			for i, s := range setups {
				list, err := s.Pings(t.Context(), ids[i][c])
				must(t, err)
				logs[i] = list
				check, err := s.Check(t.Context(), ids[i][c])
				must(t, err)
				states[i] = check.State
				alerts[i] = s.alerts(t, check.ID)
			}
			if diff := gocmp.Diff(alerts[0], alerts[1]); diff != "" {
				r.Errorf("alerts (-one server +several):\n%s", diff)
			}
			if diff := gocmp.Diff(logs[0], logs[1]); diff != "" {
				r.Errorf("log (-one server +several):\n%s", diff)
			}
			if diff := gocmp.Diff(states[0], states[1], gocmp.AllowUnexported(checks.Check{})); diff != "" {
				r.Errorf("state (-one server +several):\n%s", diff)
			}
			if diff := gocmp.Diff(one.flips(t, ids[0][c]), several.flips(t, ids[1][c])); diff != "" {
				r.Errorf("flips (-one server +several):\n%s", diff)
			}
		}
	})
}

// TestSpoolOld replays pings that are far older than what other servers recorded. They change nothing that came later.
func TestSpoolOld(t *testing.T) {
	eachSpoolers(t, 2, func(t *testing.T, s *spoolers) {
		s.list[1].store.away.Store(true)
		s.clock.Advance(10 * time.Second)
		send(t, s.list[1], s.check.ID, "old")
		for i := range 20 {
			s.wait(t, 60)
			send(t, s.list[0], s.check.ID, fmt.Sprint("ping ", i))
		}
		s.cut(false)
		if down := s.wait(t, 3); down != 0 {
			t.Error("the check went down")
		}
		c, err := s.Check(t.Context(), s.check.ID)
		must(t, err)
		if want := noon.Add(20*time.Minute + 10*time.Second); !c.LastPing.Equal(want) || c.NPings != 22 {
			t.Errorf("last ping %v of %d, want %v of 22", c.LastPing, c.NPings, want)
		}
		s.flipsAre(t, s.check.ID, flips.Flip{At: noon, Up: true, Reason: flips.Success})
	})
}

// TestSpoolOfUnsaved spools pings for a check that makes each batch fail. They are dropped, and those of the other check are
// recorded.
func TestSpoolOfUnsaved(t *testing.T) {
	eachSpoolers(t, 1, func(t *testing.T, s *spoolers) {
		m, bad := s.list[0], s.create(t, checks.Spec{})
		m.store.Store = unsaved{m.store.Store, func(_ context.Context, locked []*store.Locked) error {
			if slices.ContainsFunc(locked, func(l *store.Locked) bool { return l.ID == bad.ID }) {
				panic("broken")
			}
			return nil
		}}
		s.cut(true)
		var want []string
		for i := range 3 {
			send(t, m, s.check.ID, fmt.Sprint("good ", i))
			send(t, m, bad.ID, "bad")
			want = append(want, fmt.Sprint("good ", i, " 0"))
		}
		s.cut(false)
		s.turn(t)
		s.logIs(t, want...)
		if stats, _ := m.Spooled(); stats.Dropped != 3 || !stats.Oldest.IsZero() {
			t.Errorf("%d pings were dropped, want 3; the oldest left is of %v", stats.Dropped, stats.Oldest)
		}
	})
}

// TestSpoolDamaged damages the file of a spool that holds a ping. The monitor says so, and takes pings only while it has the
// database.
func TestSpoolDamaged(t *testing.T) {
	eachSpoolers(t, 1, func(t *testing.T, s *spoolers) {
		m := s.list[0]
		s.cut(true)
		send(t, m, s.check.ID, "lost")
		page := os.Getpagesize()
		file, err := os.OpenFile(filepath.Join(m.dir, "spool.db"), os.O_WRONLY, 0)
		must(t, err)
		defer file.Close()
		info, err := file.Stat()
		must(t, err)
		_, err = file.WriteAt(make([]byte, info.Size()-int64(2*page)), int64(2*page))
		must(t, err)
		if _, err := m.Ping(t.Context(), s.check.ID, pings.Signal{}); !errors.Is(err, checks.ErrUnavailable) || !errors.Is(err, store.ErrSpoolDamaged) {
			t.Errorf("a ping without the database: %v", err)
		}
		s.cut(false)
		if _, err := m.Replay(t.Context()); !errors.Is(err, store.ErrSpoolDamaged) || !strings.Contains(err.Error(), m.dir) {
			t.Errorf("replay: %v", err)
		}
		send(t, m, s.check.ID, "direct")
		s.logIs(t, "direct 0")
	})
}

// TestSpoolEveryField sends a signal with all fields through the spool.
func TestSpoolEveryField(t *testing.T) {
	eachSpoolers(t, 1, func(t *testing.T, s *spoolers) {
		signal := pings.Signal{
			Kind: pings.Failure, RunID: uuid.NullUUID{UUID: uuid.New(), Valid: true}, ExitStatus: new(3), Body: []byte("a\x00\xff"), BodyCut: 1 << 40, BodyCharset: "koi8-r",
			Scheme: "https", Method: "POST", RemoteAddr: "192.0.2.1", UserAgent: "curl\xff",
		}
		direct, err := s.Ping(t.Context(), s.check.ID, signal)
		must(t, err)
		s.cut(true)
		_, err = s.Ping(t.Context(), s.check.ID, signal)
		must(t, err)
		s.cut(false)
		s.turn(t)
		list, err := s.Pings(t.Context(), s.check.ID)
		must(t, err)
		replayed, err := s.Project(s.check.ProjectID).PingWithBody(t.Context(), s.check.ID, list[0].N)
		must(t, err)
		direct.N = 3
		if diff := gocmp.Diff(direct, replayed); diff != "" {
			t.Errorf("(-direct +replayed):\n%s", diff)
		}
	})
}

// TestSpoolsOfAnyCourse cuts servers off, kills them and loses answers at random, while a job reports in time through any
// of them. Each ping that was taken is recorded once, and the check never goes down.
func TestSpoolsOfAnyCourse(t *testing.T) {
	dbtest.Draws(t, 10)
	rapid.Check(t, func(r *rapid.T) {
		memory := dbtest.Memory(t)
		s := &spoolers{
			setup:  configured(t, memory, checks.ProjectSpec{Name: "p"}, monitor.Config{}),
			open:   func() database { return database{memory.Contract().(store.Store)} },
			config: monitor.Config{SpoolWait: 24 * time.Hour, MaxBatch: 2},
		}
		for range 3 {
			m := &spooler{store: &outage{Store: memory.Contract().(store.Store)}, queue: &memorySpool{id: uuid.New()}}
			s.run(t, m, false)
			s.list = append(s.list, m)
		}
		s.check = s.create(t, everyMinute())
		send(t, s.list[0], s.check.ID, "first")
		s.turn(t) // the servers say that they are there
		var want []string
		for n := range rapid.IntRange(5, 40).Draw(r, "pings") {
			for range rapid.IntRange(0, 3).Draw(r, "events") {
				at := rapid.IntRange(0, 2).Draw(r, "server")
				switch m := s.list[at]; rapid.IntRange(0, 3).Draw(r, "event") {
				case 0:
					m.store.away.Store(true)
				case 1:
					m.store.away.Store(false)
				case 2:
					m.store.doubtful.Store(true)
				case 3:
					s.kill(t, at, m.store.away.Load())
				}
				s.wait(t, rapid.IntRange(0, 10).Draw(r, "seconds"))
			}
			s.wait(t, rapid.IntRange(1, 70).Draw(r, "until the ping"))
			send(t, s.list[rapid.IntRange(0, 2).Draw(r, "of the ping")], s.check.ID, fmt.Sprint("ping ", n))
			want = append(want, fmt.Sprint("ping ", n, " ", int(s.clock.Now().Sub(noon).Seconds())))
		}
		for _, m := range s.list {
			m.store.doubtful.Store(false)
		}
		s.cut(false)
		s.wait(t, 10)
		if diff := gocmp.Diff(want, s.entries(t)); diff != "" {
			r.Errorf("log (-want +got):\n%s", diff)
		}
		if diff := gocmp.Diff([]flips.Flip{{At: noon, Up: true, Reason: flips.Success}}, s.flips(t, s.check.ID)); diff != "" {
			r.Errorf("flips (-want +got):\n%s", diff)
		}
	})
}

// TestSpoolOfClockAhead spools a ping while the clock is an hour ahead, and others once it is right. None is held, and no
// check goes down: not even by a sweep before the replay.
func TestSpoolOfClockAhead(t *testing.T) {
	for _, restart := range []bool{false, true} {
		t.Run(fmt.Sprint("restart ", restart), func(t *testing.T) {
			eachSpoolers(t, 1, func(t *testing.T, s *spoolers) {
				m := s.list[0]
				s.cut(true)
				s.clock.Advance(time.Hour + 10*time.Second)
				send(t, m, s.check.ID, "ahead")
				s.clock.Advance(-time.Hour)
				var want []string
				for i := range 5 {
					s.wait(t, 40)
					send(t, m, s.check.ID, fmt.Sprint("ping ", i))
					want = append(want, fmt.Sprint("ping ", i, " ", 50+40*i))
				}
				if stats, _ := m.Spooled(); !stats.Oldest.Equal(noon.Add(50 * time.Second)) {
					t.Errorf("the oldest ping is of %v", stats.Oldest)
				}
				if restart {
					m = s.kill(t, 0, true)
				}
				s.cut(false)
				if down, err := m.Sweep(t.Context()); down != 0 || err != nil {
					t.Errorf("before the replay, %d checks went down: %v", down, err)
				}
				if down := s.turn(t); down != 0 || spooled(t, m) != 0 {
					t.Errorf("%d checks went down, %d pings are left", down, spooled(t, m))
				}
				s.logIs(t, slices.Insert(want, 0, "ahead 50")...)
				s.flipsAre(t, s.check.ID, flips.Flip{At: noon, Up: true, Reason: flips.Success})
			})
		})
	}
}

// TestSpoolHeld has another server say all the time that it holds an older ping. The monitor reports that its own ping waits.
func TestSpoolHeld(t *testing.T) {
	eachSpoolers(t, 1, func(t *testing.T, s *spoolers) {
		observer := &seen{}
		s.config.Observer = observer.observer()
		m := s.kill(t, 0, false)
		other := store.SpoolState{ID: uuid.New(), SpoolID: uuid.New(), SettledAt: noon}
		stuck := func() {
			other.SeenAt = s.clock.Now()
			must(t, m.store.Update(t.Context(), func(ctx context.Context, tx store.Tx) error { return tx.SaveSpool(ctx, other) }))
			s.wait(t, 2)
		}
		for range 75 { // past the deadline
			stuck()
		}
		send(t, m, s.check.ID, "late")
		for range 30 {
			stuck()
		}
		if stats, _ := m.Spooled(); observer.held != 0 || !stats.Oldest.Equal(noon.Add(150*time.Second)) {
			t.Errorf("after a minute, held %d times, the oldest ping is of %v", observer.held, stats.Oldest)
		}
		for range 30 {
			stuck()
		}
		if stats, _ := m.Spooled(); observer.held != 1 || !stats.Oldest.Equal(noon.Add(150*time.Second)) {
			t.Errorf("after two minutes, held %d times, the oldest ping is of %v", observer.held, stats.Oldest)
		}
		s.logIs(t)
		other.SettledAt = s.clock.Now()
		stuck()
		s.logIs(t, "late 150")
	})
}
