package sqlstore_test

import (
	"bytes"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
	"github.com/rollcall-dev/rollcall/pings"
)

// testBatches: a batch sees all that came between it and the batch before: pauses, new settings, deleted checks. A
// batch that fails leaves no trace, not even in a cache.
func testBatches(t *testing.T, f fixture) {
	a, b, gone := f.create(t, checks.Spec{}), f.create(t, checks.Spec{Methods: new("POST")}), f.create(t, checks.Spec{})
	at := noon
	pingAll := func(want int, signal pings.Signal) {
		t.Helper()
		at = at.Add(time.Second)
		found := 0
		err := recordWith(t.Context(), f, []uuid.UUID{a.ID, uuid.New(), gone.ID, b.ID}, func(locked []*store.Locked) error {
			found = len(locked)
			for _, l := range locked {
				receive(l, signal, at)
				receive(l, signal, at.Add(time.Millisecond))
			}
			return nil
		})
		if err != nil || found != want {
			t.Fatalf("the batch found %d checks, want %d; error %v", found, want, err)
		}
	}
	pingAll(3, pings.Signal{Kind: pings.Success})
	pingAll(3, pings.Signal{Kind: pings.Start, RunID: uuid.NullUUID{UUID: uuid.New(), Valid: true}})
	failure := errors.New("no")
	err := recordWith(t.Context(), f, []uuid.UUID{a.ID}, func(locked []*store.Locked) error {
		receive(locked[0], pings.Signal{Kind: pings.Failure}, at)
		return failure
	})
	if err != failure {
		t.Errorf("a batch that fails: error %v, want that of its function", err)
	}
	f.pause(t, a.ID, at)
	if got := f.check(t, a.ID); got.Stored != checks.StatusPaused || got.NPings != 4 {
		t.Errorf("after the pause the check is %s with %d pings, want paused with 4", got.Stored, got.NPings)
	}
	f.change(t, a.ID, checks.Spec{ManualResume: new(true)}, at)
	f.deleteCheck(t, gone.ID)
	pingAll(2, pings.Signal{Kind: pings.Success, Method: "GET", Scheme: "http"})

	kinds := []pings.Kind{"ign", "ign", "start", "start", "success", "success"}
	for id, status := range map[uuid.UUID]checks.Status{a.ID: checks.StatusPaused, b.ID: checks.StatusUp} {
		var got []pings.Kind
		list := f.log(t, id)
		for i, p := range list {
			got = append(got, p.Kind)
			if p.N != int64(len(list)-i) {
				t.Errorf("entry %d of the log has number %d", i, p.N)
			}
		}
		same(t, "kinds in the log", got, kinds)
		if c := f.check(t, id); c.Stored != status || c.NPings != 6 {
			t.Errorf("the check is %s with %d pings, want %s with 6", c.Stored, c.NPings, status)
		}
	}
}

// testMixedBatch: one batch may hold checks with several pings, with one and with none. Each gets its own.
func testMixedBatch(t *testing.T, f fixture) {
	a, b, c := f.create(t, checks.Spec{}), f.create(t, checks.Spec{}), f.create(t, checks.Spec{})
	const agent = `NULL "quoted" \back {,}`
	must(t, recordWith(t.Context(), f, []uuid.UUID{c.ID, a.ID, b.ID}, func(locked []*store.Locked) error {
		for _, l := range locked {
			switch l.ID {
			case a.ID:
				receive(l, pings.Signal{Kind: pings.Success}, noon)
				receive(l, pings.Signal{Kind: pings.Failure, Body: []byte("{\\\"1,")}, noon.Add(time.Second))
				receive(l, pings.Signal{Kind: pings.Success}, noon.Add(2*time.Second))
			case b.ID:
				receive(l, pings.Signal{Kind: pings.Log, UserAgent: agent}, noon)
			}
		}
		return nil
	}))
	for _, want := range []struct {
		id           uuid.UUID
		status       checks.Status
		pings, flips int
	}{{a.ID, checks.StatusUp, 3, 3}, {b.ID, checks.StatusNew, 1, 0}, {c.ID, checks.StatusNew, 0, 0}} {
		log, flips := f.log(t, want.id), f.flips(t, want.id, time.Time{}, time.Time{})
		if status := f.check(t, want.id).Stored; status != want.status || len(log) != want.pings || len(flips) != want.flips {
			t.Errorf("the check is %v with %d pings and %d flips, want %+v", status, len(log), len(flips), want)
		}
	}
	if log := f.log(t, b.ID); len(log) == 1 && log[0].UserAgent != agent {
		t.Errorf("user agent %s, want %s", log[0].UserAgent, agent)
	}
}

// testBatchesWithBodies: one batch may hold pings with bodies of any bytes and pings without.
func testBatchesWithBodies(t *testing.T, f fixture) {
	ids := f.createMany(t, 7)
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i)
	}
	bodies := [][]byte{nil, []byte("first"), all, {}, {0}, bytes.Repeat([]byte("x\\\"{,}'\xff"), 20_000), []byte("last")}
	at := noon
	for round := range 4 { // a store may read the checks at first and cache them later
		at = at.Add(time.Second)
		body := func(check int) []byte {
			if round == 2 { // a whole batch without bodies
				return nil
			}
			return bodies[(check+round)%len(bodies)]
		}
		must(t, recordWith(t.Context(), f, ids, func(locked []*store.Locked) error {
			for _, l := range locked {
				receive(l, pings.Signal{Body: body(slices.Index(ids, l.ID))}, at)
				receive(l, pings.Signal{}, at)
			}
			return nil
		}))
		for k, id := range ids {
			n, want := int64(2*round+1), body(k)
			if got := f.body(t, id, n); !bytes.Equal(got.Body, want) || got.BodySize != int64(len(want)) {
				t.Errorf("round %d, check %d: the body has %d bytes, size %d, and differs from the %d sent", round, k, len(got.Body), got.BodySize, len(want))
			}
			if got := f.body(t, id, n+1); len(got.Body) != 0 {
				t.Errorf("round %d, check %d: a ping without a body has %d bytes", round, k, len(got.Body))
			}
		}
	}
}

// testConcurrentBatches: concurrent batches of the same checks lose no ping.
func testConcurrentBatches(t *testing.T, f fixture) {
	ids := f.createMany(t, 5)
	const writers, each = 6, 20
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := range each {
				err := recordWith(t.Context(), f, ids, func(locked []*store.Locked) error {
					for _, l := range locked {
						// Some of these flip the check and some start a run, so that every way to write a state occurs.
						kind := []pings.Kind{pings.Success, pings.Success, pings.Failure, pings.Start}[(w+i)%4]
						receive(l, pings.Signal{Kind: kind}, noon.Add(time.Duration(i)*time.Second))
					}
					return nil
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	for _, id := range ids {
		if got, log := f.check(t, id).NPings, f.log(t, id); got != writers*each || len(log) != writers*each {
			t.Errorf("the check counts %d pings and the log has %d, want %d", got, len(log), writers*each)
		}
	}
}
