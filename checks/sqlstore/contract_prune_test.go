package sqlstore_test

import (
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
	"github.com/rollcall-dev/rollcall/flips"
	"github.com/rollcall-dev/rollcall/pings"
)

// pruneAll prunes pings until the whole log was looked at.
func (f fixture) pruneAll(t *testing.T) (removed int) {
	t.Helper()
	return f.pruneInSteps(t, nil)
}

func (f fixture) pruneInSteps(t *testing.T, pause func()) (removed int) {
	t.Helper()
	for range 4 {
		n, err := f.PrunePings(t.Context(), pause)
		must(t, err)
		removed += n
	}
	return removed
}

// testPrunePings: the newest pings of each check stay with their bodies, as many as the plan allows, and numbers go on.
func testPrunePings(t *testing.T, f fixture) {
	free := newProject("free")
	free.Plan = "free"
	f.project = f.addProject(t, free)
	c, quiet := f.create(t, checks.Spec{}), f.create(t, checks.Spec{})
	f.ping(t, quiet.ID, pings.Signal{Body: []byte("old")}, noon)
	f.pingMany(t, c.ID, freePings+50)
	if n := f.pruneAll(t); n != 50 {
		t.Errorf("removed %d pings, want 50", n)
	}
	if log := f.log(t, c.ID); len(log) != freePings || log[len(log)-1].N != 51 {
		t.Errorf("%d pings are left, want %d from number 51 on", len(log), freePings)
	}
	f.ping(t, c.ID, pings.Signal{}, noon)
	if log := f.pings(t, store.PingQuery{Checks: []uuid.UUID{c.ID}, Limit: 2})[c.ID]; len(log) != 2 || log[0].N != 151 {
		t.Errorf("the log goes on with %v", log)
	}
	if p := f.body(t, quiet.ID, 1); string(p.Body) != "old" {
		t.Errorf("the only ping of a check: %v", p)
	}
}

// testPruneInSteps: PrunePings calls pause at least once in 500 pings that it removes, and others can write meanwhile.
func testPruneInSteps(t *testing.T, f fixture) {
	c, busy := f.create(t, checks.Spec{}), f.create(t, checks.Spec{})
	const excess = 1500
	f.pingMany(t, c.ID, paidPings+excess)
	pauses := 0
	removed := f.pruneInSteps(t, func() {
		f.ping(t, busy.ID, pings.Signal{}, noon)
		pauses++
	})
	if removed != excess || pauses < excess/500 {
		t.Errorf("removed %d pings with %d pauses, want %d with %d at least", removed, pauses, excess, excess/500)
	}
	if log := f.log(t, busy.ID); len(log) != min(pauses, 1000) {
		t.Errorf("the log has %d of the %d pings written during pauses", len(log), pauses)
	}
}

// testPruneWhilePinged: if each call finds 300 new pings, no more than about twice the pings to keep are in the log.
func testPruneWhilePinged(t *testing.T, f fixture) {
	c := f.create(t, checks.Spec{})
	const step, steps = 300, 20
	removed := 0
	for range steps {
		f.pingMany(t, c.ID, step)
		n, err := f.PrunePings(t.Context(), nil)
		must(t, err)
		removed += n
	}
	if kept := step*steps - removed; kept < paidPings || kept > 2*paidPings+2*step {
		t.Errorf("%d of %d pings are left, want %d and at most about as many again", kept, step*steps, paidPings)
	}
}

// testPruneLogOfDeleted: PrunePings removes the log of a deleted check and nothing else.
func testPruneLogOfDeleted(t *testing.T, f fixture) {
	kept, gone := f.create(t, checks.Spec{}), f.create(t, checks.Spec{})
	for range 3 {
		f.ping(t, kept.ID, pings.Signal{}, noon)
		f.ping(t, gone.ID, pings.Signal{}, noon)
	}
	f.deleteCheck(t, gone.ID)
	if n := f.pruneAll(t); n != 3 {
		t.Errorf("removed %d pings, want 3", n)
	}
	fresh := f.create(t, checks.Spec{})
	f.ping(t, fresh.ID, pings.Signal{}, noon)
	for id, want := range map[uuid.UUID]int{kept.ID: 3, fresh.ID: 1} {
		if log := f.log(t, id); len(log) != want {
			t.Errorf("the log has %d pings, want %d", len(log), want)
		}
	}
}

// testPruneFlips: flips of exactly the given instant stay, and older ones go.
func testPruneFlips(t *testing.T, f fixture) {
	channel := f.addChannel(t, "ops", noon)
	c := f.create(t, checks.Spec{})
	f.assign(t, c.ID, channel.ID)
	f.ping(t, c.ID, pings.Signal{Kind: pings.Failure}, noon)
	f.ping(t, c.ID, pings.Signal{Kind: pings.Success}, noon.Add(time.Hour))
	if n, err := f.PruneFlips(t.Context(), noon.Add(time.Hour), nil); err != nil || n != 1 {
		t.Errorf("removed %d flips, want 1; error %v", n, err)
	}
	same(t, "flips left", f.flips(t, c.ID, time.Time{}, time.Time{}), []flips.Flip{{At: noon.Add(time.Hour), Up: true, Reason: flips.Success}})
}
