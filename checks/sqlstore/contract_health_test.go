package sqlstore_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
	"github.com/rollcall-dev/rollcall/pings"
)

// testProbes: Probe succeeds on a store that works, and fails with a cancelled context.
func testProbes(t *testing.T, f fixture) {
	for range 2 {
		for _, write := range []bool{false, true} {
			if err := f.Probe(t.Context(), write); err != nil {
				t.Errorf("probe, write %v: %v", write, err)
			}
		}
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if f.Probe(gone, false) == nil || f.Probe(gone, true) == nil {
		t.Error("a probe without an answer has succeeded")
	}
}

// testBacklog: pending deliveries are counted, and the longest due is that of a first in line.
func testBacklog(t *testing.T, f fixture) {
	backlog := func(now time.Time) store.Backlog {
		t.Helper()
		b, err := f.Backlog(t.Context(), now)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	if diff := cmp.Diff(store.Backlog{}, backlog(noon)); diff != "" {
		t.Errorf("of an empty outbox (-want +got):\n%s", diff)
	}
	one, two := f.addChannel(t, "one", noon), f.addChannel(t, "two", noon)
	c, err := checks.New(f.project.ID, checks.Spec{}, noon)
	if err != nil {
		t.Fatal(err)
	}
	c.Channels = []uuid.UUID{one.ID, two.ID}
	f.update(t, func(ctx context.Context, tx store.Tx) error { return insertCheck(ctx, tx, c) })
	f.ping(t, c.ID, pings.Signal{Kind: pings.Failure}, noon.Add(time.Second))
	f.ping(t, c.ID, pings.Signal{Kind: pings.Success}, noon.Add(time.Minute))
	// Two alerts to each of two channels. The second waits for the first.
	want := store.Backlog{Pending: 4, OldestDue: noon.Add(time.Second)}
	if diff := cmp.Diff(want, backlog(noon.Add(time.Hour))); diff != "" {
		t.Errorf("of two alerts (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(store.Backlog{Pending: 4}, backlog(noon)); diff != "" {
		t.Errorf("before they are due (-want +got):\n%s", diff)
	}
}

// testLastDurations: the duration of a run stands until the next one ends, also while a run is in progress. It is left
// out after as many other pings as the limit.
func testLastDurations(t *testing.T, f fixture) {
	minute := func(n int) time.Time { return noon.Add(time.Duration(n) * time.Minute) }
	never, done, running, noted, lost := f.create(t, checks.Spec{}), f.create(t, checks.Spec{}), f.create(t, checks.Spec{}),
		f.create(t, checks.Spec{}), f.create(t, checks.Spec{})
	f.ping(t, never.ID, pings.Signal{Kind: pings.Success}, noon)
	for _, c := range []checks.Check{done, running, noted, lost} {
		f.ping(t, c.ID, pings.Signal{Kind: pings.Start}, noon)
		f.ping(t, c.ID, pings.Signal{Kind: pings.Success}, minute(2))
	}
	f.ping(t, done.ID, pings.Signal{Kind: pings.Start}, minute(3))
	f.ping(t, done.ID, pings.Signal{Kind: pings.Failure}, minute(4))
	f.ping(t, running.ID, pings.Signal{Kind: pings.Start}, minute(3))
	f.ping(t, noted.ID, pings.Signal{Kind: pings.Log}, minute(3))
	for range 20 {
		f.ping(t, lost.ID, pings.Signal{Kind: pings.Log}, minute(3))
	}
	got := make(map[uuid.UUID]time.Duration)
	for id, log := range f.pings(t, store.PingQuery{Project: f.project.ID, Limit: 5, Timed: true}) {
		if got[id] = *log[0].Duration; len(log) > 1 {
			t.Errorf("%d pings of a check, want the newest with a duration", len(log))
		}
	}
	want := map[uuid.UUID]time.Duration{done.ID: time.Minute, running.ID: 2 * time.Minute, noted.ID: 2 * time.Minute}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := f.pings(t, store.PingQuery{Project: uuid.New(), Limit: 5, Timed: true}); len(got) != 0 {
		t.Errorf("of another project: %v", got)
	}
}
