package storetest

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/pings"
)

// batch saves what fn does to checks, as the writer of pings does.
func (f fixture) batch(t *testing.T, ids []uuid.UUID, fn func(locked []*monitor.Locked) error) error {
	return f.Update(t.Context(), func(ctx context.Context, tx monitor.Tx) error {
		locked, err := tx.LockChecks(ctx, ids)
		if err != nil {
			return err
		}
		if err := fn(locked); err != nil {
			return err
		}
		return tx.SaveChecks(ctx, locked)
	})
}

// testBatches writes batches and changes the checks in other ways between them: each batch must find what is there.
func testBatches(t *testing.T, f fixture) {
	a, b, gone := f.create(t, checks.Spec{}), f.create(t, checks.Spec{Methods: new("POST")}), f.create(t, checks.Spec{})
	at := noon
	ping := func(found int, signal pings.Signal) {
		t.Helper()
		at = at.Add(time.Second)
		var n int
		err := f.batch(t, []uuid.UUID{a.ID, uuid.New(), gone.ID, b.ID}, func(locked []*monitor.Locked) error {
			n = len(locked)
			for _, l := range locked {
				apply(l, signal, at)
				apply(l, signal, at.Add(time.Millisecond))
			}
			return nil
		})
		if err != nil || n != found {
			t.Fatalf("%d checks, want %d: %v", n, found, err)
		}
	}
	ping(3, pings.Signal{Kind: pings.Success})
	ping(3, pings.Signal{Kind: pings.Start, RunID: uuid.NullUUID{UUID: uuid.New(), Valid: true}})
	// A failing fn changes nothing, neither in the store nor in what it remembers.
	broken := fmt.Errorf("broken")
	err := f.batch(t, []uuid.UUID{a.ID}, func(locked []*monitor.Locked) error {
		apply(locked[0], pings.Signal{Kind: pings.Fail}, at)
		return broken
	})
	if err != broken {
		t.Errorf("a failing fn: %v", err)
	}
	f.update(t, func(ctx context.Context, tx monitor.Tx) error {
		l, err := tx.LockCheck(ctx, a.ID)
		if err != nil {
			return err
		}
		c, effects := l.Check.Pause(at)
		l.Apply(c, effects)
		return tx.SaveChecks(ctx, []*monitor.Locked{l})
	})
	if got := f.check(t, a.ID); got.Stored != checks.StatusPaused || got.NPings != 4 {
		t.Errorf("paused: %s with %d pings", got.Stored, got.NPings)
	}
	f.update(t, func(ctx context.Context, tx monitor.Tx) error {
		l, err := tx.LockCheck(ctx, a.ID)
		if err != nil {
			return err
		}
		c, effects, err := l.Check.Update(checks.Spec{ManualResume: new(true)}, at)
		if err != nil {
			return err
		}
		l.Apply(c, effects)
		l.SettingsChanged = true
		return tx.SaveChecks(ctx, []*monitor.Locked{l})
	})
	f.update(t, func(ctx context.Context, tx monitor.Tx) error {
		l, err := tx.LockCheck(ctx, gone.ID)
		if err != nil {
			return err
		}
		return tx.DeleteCheck(ctx, l)
	})
	ping(2, pings.Signal{Kind: pings.Success, Method: "GET", Scheme: "http"})
	for _, want := range []struct {
		id    uuid.UUID
		state checks.Status
		kinds []pings.Kind
	}{
		{a.ID, checks.StatusPaused, []pings.Kind{"ign", "ign", "start", "start", "success", "success"}},
		{b.ID, checks.StatusUp, []pings.Kind{"ign", "ign", "start", "start", "success", "success"}},
	} {
		list, err := f.Pings(t.Context(), want.id, 100)
		if err != nil {
			t.Fatal(err)
		}
		var kinds []pings.Kind
		for i, p := range list {
			kinds = append(kinds, p.Kind)
			if p.N != int64(len(list)-i) {
				t.Errorf("ping %d has the number %d", i, p.N)
			}
		}
		if diff := cmp.Diff(want.kinds, kinds); diff != "" {
			t.Errorf("pings (-want +got):\n%s", diff)
		}
		if got := f.check(t, want.id); got.Stored != want.state || got.NPings != 6 {
			t.Errorf("%s with %d pings, want %s with 6", got.Stored, got.NPings, want.state)
		}
	}
}

// createMany makes checks with default settings.
func (f fixture) createMany(t *testing.T, n int) (ids []uuid.UUID) {
	t.Helper()
	for range n {
		ids = append(ids, f.create(t, checks.Spec{}).ID)
	}
	return ids
}

// testBatchesWithBodies writes batches in which some pings have bodies of any bytes and others have none.
func testBatchesWithBodies(t *testing.T, f fixture) {
	ids := f.createMany(t, 7)
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i)
	}
	bodies := [][]byte{nil, []byte("first"), all, {}, {0}, bytes.Repeat([]byte("x\\\"{,}'\xff"), 20_000), []byte("last")}
	at := noon
	for round := range 4 { // a store may read at first and use a cache later
		at = at.Add(time.Second)
		with := round != 2 // a whole batch without bodies
		err := f.batch(t, ids, func(locked []*monitor.Locked) error {
			for _, l := range locked {
				var s pings.Signal
				if k := slices.Index(ids, l.ID); with {
					s.Body = bodies[(k+round)%len(bodies)]
				}
				apply(l, s, at)
				apply(l, pings.Signal{}, at)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		for k, id := range ids {
			var want []byte
			if with {
				want = bodies[(k+round)%len(bodies)]
			}
			n := int64(2*round + 1)
			if got := f.body(t, id, n); !bytes.Equal(got.Body, want) || got.BodySize != int64(len(want)) {
				t.Errorf("round %d: ping %d of check %d has %d bytes of %d, or others", round, n, k, len(got.Body), len(want))
			}
			if got := f.body(t, id, n+1); len(got.Body) != 0 {
				t.Errorf("round %d: a ping without a body has %d bytes", round, len(got.Body))
			}
		}
	}
}

// testBatchesTogether has many goroutines write pings of the same checks: none is lost.
func testBatchesTogether(t *testing.T, f fixture) {
	ids := f.createMany(t, 5)
	const goroutines, each = 6, 20
	var group sync.WaitGroup
	for g := range goroutines {
		group.Go(func() {
			for i := range each {
				add := func(locked []*monitor.Locked) error {
					for _, l := range locked {
						// Flips and runs now and then, so that all ways of writing are gone.
						kind := []pings.Kind{pings.Success, pings.Success, pings.Fail, pings.Start}[(g+i)%4]
						apply(l, pings.Signal{Kind: kind}, noon.Add(time.Duration(i)*time.Second))
					}
					return nil
				}
				if err := f.batch(t, ids, add); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	for _, id := range ids {
		list, err := f.Pings(t.Context(), id, 1000)
		if err != nil {
			t.Fatal(err)
		}
		if got := f.check(t, id).NPings; got != goroutines*each || len(list) != goroutines*each {
			t.Errorf("%d pings and %d log entries, want %d", got, len(list), goroutines*each)
		}
	}
}
