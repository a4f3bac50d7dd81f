package storetest

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/flips"
	"github.com/rollcall-dev/rollcall/pings"
)

func testPingLog(t *testing.T, f fixture) {
	c, other := f.create(t, checks.Spec{}), f.create(t, checks.Spec{})
	run := uuid.NullUUID{UUID: uuid.New(), Valid: true}
	var want []pings.Ping
	for i, s := range []pings.Signal{
		{Kind: pings.Start, RunID: run, Scheme: "http", Method: "GET", RemoteAddr: "192.0.2.1", UserAgent: "curl/8"},
		{Kind: pings.Log, Body: []byte("hello")},
		{Kind: pings.Success, RunID: run, ExitStatus: new(0)},
		{Kind: pings.Fail, ExitStatus: new(255), UserAgent: "ünï 😀"},
	} {
		p := f.ping(t, c.ID, s, noon.Add(time.Duration(i)*time.Second))
		f.ping(t, other.ID, s, noon) // entries of other checks lie between
		p.Body = nil
		want = append([]pings.Ping{p}, want...)
	}
	got, err := f.Pings(t.Context(), c.ID, 10)
	if err != nil {
		t.Fatal(err)
	}
	same(t, "the log, newest first", got, want)
	if got[1].Duration == nil || *got[1].Duration != 2*time.Second {
		t.Errorf("duration: %v, want 2s", got[1].Duration)
	}
	got, err = f.Pings(t.Context(), c.ID, 2)
	if err != nil {
		t.Fatal(err)
	}
	same(t, "the newest two", got, want[:2])
	if got, err = f.Pings(t.Context(), uuid.New(), 10); err != nil || len(got) != 0 {
		t.Errorf("the log of no check: %v, %v", got, err)
	}
}

func testPingBodies(t *testing.T, f fixture) {
	c := f.create(t, checks.Spec{})
	random := make([]byte, 100_000)
	for i := range random {
		random[i] = byte(rand.Uint32())
	}
	bodies := [][]byte{[]byte("text"), nil, {0}, {0xff, 0xfe, 0, '\'', '"', '\\', '{', '\n', '\r'}, random}
	f.update(t, func(ctx context.Context, tx monitor.Tx) error {
		l, err := tx.LockCheck(ctx, c.ID)
		if err != nil {
			return err
		}
		for _, body := range bodies {
			apply(l, pings.Signal{Body: body}, noon)
		}
		return tx.SaveChecks(ctx, []*monitor.Locked{l})
	})
	for i, body := range bodies {
		p, err := f.Ping(t.Context(), c.ID, int64(i+1), 10)
		if err != nil {
			t.Fatal(err)
		}
		if p.N != int64(i+1) || !bytes.Equal(p.Body, body) || p.BodySize != int64(len(body)) {
			t.Errorf("body %d came back with %d bytes of %d, size %d", i, len(p.Body), len(body), p.BodySize)
		}
	}
	for _, n := range []int64{0, -1, 6, 1 << 60} {
		if _, err := f.Ping(t.Context(), c.ID, n, 10); !errors.Is(err, checks.ErrNotFound) {
			t.Errorf("ping %d: %v, want ErrNotFound", n, err)
		}
	}
	if _, err := f.Ping(t.Context(), c.ID, 3, 2); !errors.Is(err, checks.ErrNotFound) {
		t.Errorf("a ping that is not among the newest two: %v, want ErrNotFound", err)
	}
	if _, err := f.Ping(t.Context(), c.ID, 4, 2); err != nil {
		t.Errorf("the second newest ping of two: %v", err)
	}
}

func testFlipWindows(t *testing.T, f fixture) {
	c := f.create(t, checks.Spec{})
	at := func(seconds int) time.Time { return noon.Add(time.Duration(seconds) * time.Second) }
	for i, kind := range []pings.Kind{pings.Success, pings.Fail, pings.Success} {
		f.ping(t, c.ID, pings.Signal{Kind: kind}, at(i))
	}
	all := []flips.Flip{{At: at(2), Up: true}, {At: at(1), Up: false}, {At: at(0), Up: true}}
	for _, test := range []struct {
		name          string
		after, before time.Time
		want          []flips.Flip
	}{
		{"no bounds", time.Time{}, time.Time{}, all},
		{"after is exclusive", at(1), time.Time{}, all[:1]},
		{"a microsecond before", at(1).Add(-time.Microsecond), time.Time{}, all[:2]},
		{"before is exclusive", time.Time{}, at(1), all[2:]},
		{"both", at(0), at(2), all[1:2]},
		{"before 1970", time.Time{}, time.Unix(-5, 0), nil},
	} {
		got, err := f.Flips(t.Context(), c.ID, test.after, test.before)
		if err != nil {
			t.Fatal(err)
		}
		same(t, test.name, got, test.want)
	}
}

// sweep settles all checks that are due.
func (f fixture) sweep(t *testing.T, now time.Time, limit int) (found []uuid.UUID, flipped int) {
	t.Helper()
	f.update(t, func(ctx context.Context, tx monitor.Tx) error {
		found, flipped = nil, 0
		locked, err := tx.LockDue(ctx, now, limit)
		if err != nil {
			return err
		}
		for _, l := range locked {
			found = append(found, l.ID)
			c, effects := l.Check.Settle(now)
			l.Apply(c, effects)
			flipped += len(effects.Transitions)
		}
		return tx.SaveChecks(ctx, locked)
	})
	return found, flipped
}

func testDueChecks(t *testing.T, f fixture) {
	spec := checks.Spec{Timeout: new(time.Minute), Grace: new(time.Minute)}
	late, later := f.create(t, spec), f.create(t, spec)
	idle, paused, failed := f.create(t, spec), f.create(t, spec), f.create(t, spec)
	for i, c := range []checks.Check{late, later, paused} {
		f.ping(t, c.ID, pings.Signal{}, noon.Add(time.Duration(i)*time.Second))
	}
	f.ping(t, failed.ID, pings.Signal{Kind: pings.Fail}, noon)
	f.update(t, func(ctx context.Context, tx monitor.Tx) error {
		l, err := tx.LockCheck(ctx, paused.ID)
		if err != nil {
			return err
		}
		l.Check, _ = l.Check.Pause(noon)
		return tx.SaveChecks(ctx, []*monitor.Locked{l})
	})
	deadline := noon.Add(2 * time.Minute)
	if found, _ := f.sweep(t, deadline.Add(-time.Microsecond), 10); len(found) != 0 {
		t.Errorf("before the deadline: %v", found)
	}
	if found, n := f.sweep(t, deadline, 10); len(found) != 1 || found[0] != late.ID || n != 1 {
		t.Errorf("at the deadline: %v, %d flips", found, n)
	}
	if found, n := f.sweep(t, deadline.Add(time.Hour), 10); len(found) != 1 || found[0] != later.ID || n != 1 {
		t.Errorf("an hour later: %v, %d flips", found, n)
	}
	if found, _ := f.sweep(t, deadline.Add(24*time.Hour), 10); len(found) != 0 {
		t.Errorf("a day later: %v", found)
	}
	got, err := f.Flips(t.Context(), late.ID, time.Time{}, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	same(t, "flips", got, []flips.Flip{{At: deadline, Up: false}, {At: noon, Up: true}})
	if c := f.check(t, idle.ID); c.Stored != checks.StatusNew {
		t.Errorf("a check without pings: %v", c.Stored)
	}
}

// testDueChecksAreShared has several watchers look at once: together they find every overdue check exactly once.
func testDueChecksAreShared(t *testing.T, f fixture) {
	const n = 60
	for range n {
		c := f.create(t, checks.Spec{Timeout: new(time.Minute), Grace: new(time.Minute)})
		f.ping(t, c.ID, pings.Signal{}, noon)
	}
	var mu sync.Mutex
	times := make(map[uuid.UUID]int)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for {
				found, _ := f.sweep(t, noon.Add(time.Hour), 7)
				mu.Lock()
				for _, id := range found {
					times[id]++
				}
				mu.Unlock()
				if len(found) == 0 {
					return
				}
			}
		})
	}
	wg.Wait()
	f.sweep(t, noon.Add(time.Hour), n) // what was locked by another when the last one looked
	for _, c := range f.list(t) {
		got, err := f.Flips(t.Context(), c.ID, time.Time{}, time.Time{})
		if err != nil {
			t.Fatal(err)
		}
		if c.Stored != checks.StatusDown || len(got) != 2 || times[c.ID] > 1 {
			t.Errorf("a check is %v, has %d flips and was found %d times", c.Stored, len(got), times[c.ID])
		}
	}
}

// testDeadlinesAreLazy pings a check past what its first deadline was: it may be found then, but is not overdue, and
// is not found again before its real deadline.
func testDeadlinesAreLazy(t *testing.T, f fixture) {
	c := f.create(t, checks.Spec{Timeout: new(time.Minute), Grace: new(time.Minute)})
	for i := range 10 {
		f.ping(t, c.ID, pings.Signal{}, noon.Add(time.Duration(i)*30*time.Second))
	}
	last := noon.Add(270 * time.Second)
	if _, n := f.sweep(t, last, 10); n != 0 {
		t.Errorf("%d flips before the deadline", n)
	}
	if found, _ := f.sweep(t, last.Add(119*time.Second), 10); len(found) != 0 {
		t.Error("found again before its deadline")
	}
	// An event that moves the deadline earlier counts at once.
	f.ping(t, c.ID, pings.Signal{Kind: pings.Start}, last.Add(time.Second))
	if _, n := f.sweep(t, last.Add(61*time.Second), 10); n != 1 {
		t.Errorf("%d flips at the end of the run's grace time, want 1", n)
	}
}

func testPrunePings(t *testing.T, f fixture) {
	f.project = newProject("free")
	f.project.Plan = checks.Free
	f.update(t, func(ctx context.Context, tx monitor.Tx) error { return tx.InsertProject(ctx, f.project) })
	c, quiet := f.create(t, checks.Spec{}), f.create(t, checks.Spec{})
	f.ping(t, quiet.ID, pings.Signal{Body: []byte("old")}, noon)
	f.pingMany(t, c.ID, checks.FreePings+50)
	if n := f.pruneAll(t); n != 50 {
		t.Errorf("%d pings removed, want 50", n)
	}
	log, err := f.Pings(t.Context(), c.ID, 1000)
	if err != nil || len(log) != checks.FreePings || log[len(log)-1].N != 51 {
		t.Errorf("%d pings are left, %v", len(log), err)
	}
	f.ping(t, c.ID, pings.Signal{}, noon)
	if log, err = f.Pings(t.Context(), c.ID, 2); err != nil || len(log) != 2 || log[0].N != 151 {
		t.Errorf("the log goes on with %v, %v", log, err)
	}
	if p, err := f.Ping(t.Context(), quiet.ID, 1, 100); err != nil || string(p.Body) != "old" {
		t.Errorf("a check with one ping has lost it: %v, %v", p, err)
	}
}

// testPruneWhilePinged prunes while pings never stop: what can be removed is no more than what is to be kept, but for what
// has come since the log was looked at.
func testPruneWhilePinged(t *testing.T, f fixture) {
	c := f.create(t, checks.Spec{})
	const step, steps = 300, 20
	removed := 0
	for range steps {
		f.pingMany(t, c.ID, step)
		n, err := f.PrunePings(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		removed += n
	}
	if kept := step*steps - removed; kept < checks.PaidPings || kept > 2*checks.PaidPings+2*step {
		t.Errorf("%d pings are kept of a check that has %d, of which %d are to be kept", kept, step*steps, checks.PaidPings)
	}
}

// testPruneInSteps prunes a log with many pings to remove: it pauses between its steps, and pings are written meanwhile.
func testPruneInSteps(t *testing.T, f fixture) {
	c, busy := f.create(t, checks.Spec{}), f.create(t, checks.Spec{})
	const needless = 1500
	f.pingMany(t, c.ID, checks.PaidPings+needless)
	pauses := 0
	removed := f.pruneInSteps(t, func() {
		f.ping(t, busy.ID, pings.Signal{}, noon)
		pauses++
	})
	if removed != needless || pauses < needless/500 {
		t.Errorf("%d pings were removed with %d pauses, want %d", removed, pauses, needless)
	}
	if log, err := f.Pings(t.Context(), busy.ID, 1000); err != nil || len(log) != min(pauses, 1000) {
		t.Errorf("%d of %d pings that came in the pauses are there: %v", len(log), pauses, err)
	}
}

// pingMany records success pings in one transaction.
func (f fixture) pingMany(t *testing.T, id uuid.UUID, n int) {
	t.Helper()
	f.update(t, func(ctx context.Context, tx monitor.Tx) error {
		l, err := tx.LockCheck(ctx, id)
		if err != nil {
			return err
		}
		for range n {
			apply(l, pings.Signal{}, noon)
		}
		return tx.SaveChecks(ctx, []*monitor.Locked{l})
	})
}

// pruneAll goes round the whole log.
func (f fixture) pruneAll(t *testing.T) (removed int) {
	t.Helper()
	return f.pruneInSteps(t, nil)
}

func (f fixture) pruneInSteps(t *testing.T, pause func()) (removed int) {
	t.Helper()
	for range 4 {
		n, err := f.PrunePings(t.Context(), pause)
		if err != nil {
			t.Fatal(err)
		}
		removed += n
	}
	return removed
}

func testPruneLogOfDeleted(t *testing.T, f fixture) {
	kept, gone := f.create(t, checks.Spec{}), f.create(t, checks.Spec{})
	for range 3 {
		f.ping(t, kept.ID, pings.Signal{}, noon)
		f.ping(t, gone.ID, pings.Signal{}, noon)
	}
	f.update(t, func(ctx context.Context, tx monitor.Tx) error {
		l, err := tx.LockCheck(ctx, gone.ID)
		if err != nil {
			return err
		}
		return tx.DeleteCheck(ctx, l)
	})
	if n := f.pruneAll(t); n != 3 {
		t.Errorf("%d pings removed, want 3", n)
	}
	again := f.create(t, checks.Spec{})
	f.ping(t, again.ID, pings.Signal{}, noon)
	for id, want := range map[uuid.UUID]int{kept.ID: 3, again.ID: 1} {
		if log, err := f.Pings(t.Context(), id, 10); err != nil || len(log) != want {
			t.Errorf("%d pings, want %d; %v", len(log), want, err)
		}
	}
}

func testPruneFlips(t *testing.T, f fixture) {
	channel := f.addChannel(t, "ops", noon)
	c := f.create(t, checks.Spec{})
	f.assign(t, c.ID, channel.ID)
	f.ping(t, c.ID, pings.Signal{Kind: pings.Fail}, noon)
	f.ping(t, c.ID, pings.Signal{Kind: pings.Success}, noon.Add(time.Hour))
	n, err := f.PruneFlips(t.Context(), noon.Add(time.Hour), nil)
	if err != nil || n != 1 {
		t.Errorf("%d flips removed, want 1; %v", n, err)
	}
	got, err := f.Flips(t.Context(), c.ID, time.Time{}, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	same(t, "flips that are left", got, []flips.Flip{{At: noon.Add(time.Hour), Up: true}})
}
