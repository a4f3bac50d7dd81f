package sqlstore_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
	"github.com/rollcall-dev/rollcall/flips"
	"github.com/rollcall-dev/rollcall/pings"
)

// everyMinute makes a check go down two minutes after a ping.
func everyMinute() checks.Spec {
	return checks.Spec{Timeout: new(time.Minute), Grace: new(time.Minute)}
}

// sweep settles up to limit due checks, as the watcher does. It returns those that it found, and how many flips they had.
func (f fixture) sweep(t *testing.T, now time.Time, limit int) (found []uuid.UUID, flipped int) {
	t.Helper()
	f.update(t, func(ctx context.Context, tx store.Tx) error {
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

// testDueChecks: LockDue returns a check from the microsecond of its deadline on, and no longer once it is down. Checks
// that are new, paused or down are not due.
func testDueChecks(t *testing.T, f fixture) {
	late, later := f.create(t, everyMinute()), f.create(t, everyMinute())
	idle, paused, failed := f.create(t, everyMinute()), f.create(t, everyMinute()), f.create(t, everyMinute())
	for i, c := range []checks.Check{late, later, paused} {
		f.ping(t, c.ID, pings.Signal{}, noon.Add(time.Duration(i)*time.Second))
	}
	f.ping(t, failed.ID, pings.Signal{Kind: pings.Failure}, noon)
	f.pause(t, paused.ID, noon)
	deadline := noon.Add(2 * time.Minute)
	for _, test := range []struct {
		name string
		now  time.Time
		want []uuid.UUID
	}{
		{"a microsecond before the deadline", deadline.Add(-time.Microsecond), nil},
		{"at the deadline", deadline, []uuid.UUID{late.ID}},
		{"an hour later", deadline.Add(time.Hour), []uuid.UUID{later.ID}},
		{"a day later", deadline.Add(24 * time.Hour), nil},
	} {
		found, flipped := f.sweep(t, test.now, 10)
		same(t, "due "+test.name, found, test.want)
		same(t, "flips "+test.name, flipped, len(test.want))
	}
	same(t, "flips", f.flips(t, late.ID, time.Time{}, time.Time{}), []flips.Flip{{At: deadline, Reason: flips.Overdue}, {At: noon, Up: true, Reason: flips.Success}})
	if c := f.check(t, idle.ID); c.Stored != checks.StatusNew {
		t.Errorf("a check without pings is %v, want new", c.Stored)
	}
}

// testDueChecksAreShared: several watchers together find every due check, and none of them twice.
func testDueChecksAreShared(t *testing.T, f fixture) {
	const n = 60
	for range n {
		f.ping(t, f.create(t, everyMinute()).ID, pings.Signal{}, noon)
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
	f.sweep(t, noon.Add(time.Hour), n) // those that another watcher had locked when the last one looked
	for _, c := range f.list(t) {
		if got := f.flips(t, c.ID, time.Time{}, time.Time{}); c.Stored != checks.StatusDown || len(got) != 2 || times[c.ID] > 1 {
			t.Errorf("a check is %v with %d flips and was found %d times, want down with 2, found once", c.Stored, len(got), times[c.ID])
		}
	}
}

// testDeadlinesAreLazy: LockDue may return a check once too early if a ping has put its deadline off, but not again
// before the real deadline. A ping that moves the deadline earlier counts at once.
func testDeadlinesAreLazy(t *testing.T, f fixture) {
	c := f.create(t, everyMinute())
	for i := range 10 {
		f.ping(t, c.ID, pings.Signal{}, noon.Add(time.Duration(i)*30*time.Second))
	}
	last := noon.Add(270 * time.Second)
	if _, n := f.sweep(t, last, 10); n != 0 { // past the first deadline: the check may be found, but is not overdue
		t.Errorf("%d flips before the deadline, want 0", n)
	}
	if found, _ := f.sweep(t, last.Add(119*time.Second), 10); len(found) != 0 {
		t.Error("the check was found again before its deadline")
	}
	f.ping(t, c.ID, pings.Signal{Kind: pings.Start}, last.Add(time.Second)) // moves the deadline earlier
	if _, n := f.sweep(t, last.Add(61*time.Second), 10); n != 1 {
		t.Errorf("%d flips when the run has overrun, want 1", n)
	}
}

// testDueRuns: LockDue returns a check when its run has taken as long as MaxRuntime allows.
func testDueRuns(t *testing.T, f fixture) {
	for _, limit := range []time.Duration{time.Minute, 10 * time.Minute} { // shorter and longer than the grace time
		c := f.create(t, checks.Spec{Timeout: new(time.Hour), Grace: new(5 * time.Minute), MaxRuntime: &limit})
		f.ping(t, c.ID, pings.Signal{}, noon)
		f.ping(t, c.ID, pings.Signal{Kind: pings.Start}, noon)
		if _, n := f.sweep(t, noon.Add(limit-time.Microsecond), 10); n != 0 {
			t.Errorf("limit %v: %d flips before it, want 0", limit, n)
		}
		if found, n := f.sweep(t, noon.Add(limit), 10); n != 1 || found[0] != c.ID {
			t.Errorf("limit %v: %d flips at it, want 1", limit, n)
		}
	}
}

// testOutlook: Outlook returns the instant at which LockDue next finds a check, and never a later one.
func testOutlook(t *testing.T, f fixture) {
	is := func(when string, want time.Time) {
		t.Helper()
		next, states, oldest, err := f.Outlook(t.Context())
		if err != nil || len(states) > 0 || !oldest.IsZero() {
			t.Errorf("%s: states %v, oldest %v, error %v", when, states, oldest, err)
		}
		same(t, "next "+when, next, want)
	}
	is("without checks", time.Time{})
	first, second := f.create(t, everyMinute()), f.create(t, everyMinute())
	is("without pings", time.Time{})
	f.ping(t, second.ID, pings.Signal{}, noon.Add(time.Second))
	f.ping(t, first.ID, pings.Signal{}, noon)
	is("after pings", noon.Add(2*time.Minute))
	f.sweep(t, noon.Add(2*time.Minute), 10)
	is("after the first deadline", noon.Add(2*time.Minute+time.Second))
	f.ping(t, second.ID, pings.Signal{Kind: pings.Start}, noon.Add(30*time.Second))
	is("after a start that moves the deadline earlier", noon.Add(90*time.Second))
	f.pause(t, second.ID, noon)
	is("when no check is watched", time.Time{})

	state := store.SpoolState{ID: uuid.New(), SpoolID: uuid.New(), SettledAt: noon, SeenAt: noon.Add(time.Second), MissingSince: noon.Add(time.Minute)}
	f.update(t, func(ctx context.Context, tx store.Tx) error {
		list := []store.SpooledPing{{At: noon.Add(time.Minute), Data: []byte("x")}, {At: noon, Data: []byte("y")}}
		return errors.Join(tx.SaveSpool(ctx, state), tx.AddSpooled(ctx, noon, list))
	})
	next, states, oldest, err := f.Outlook(t.Context())
	if err != nil || !next.IsZero() || !oldest.Equal(noon) {
		t.Errorf("with a spool: next %v, oldest %v, error %v; want none, %v", next, oldest, err, noon)
	}
	same(t, "states", states, []store.SpoolState{state})
}
