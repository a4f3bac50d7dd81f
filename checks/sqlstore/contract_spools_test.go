package sqlstore_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks/internal/store"
	"github.com/rollcall-dev/rollcall/checks/sqlstore"
)

// spools returns the states of the spools that are not closed, by their IDs.
func (f fixture) spools(t *testing.T) (list []store.SpoolState) {
	t.Helper()
	f.update(t, func(ctx context.Context, tx store.Tx) (err error) {
		list, _, err = tx.Spools(ctx)
		return err
	})
	slices.SortFunc(list, func(a, b store.SpoolState) int { return bytes.Compare(a.ID[:], b.ID[:]) })
	return list
}

func (f fixture) saveSpool(t *testing.T, s store.SpoolState) {
	t.Helper()
	f.update(t, func(ctx context.Context, tx store.Tx) error { return tx.SaveSpool(ctx, s) })
}

// recorded returns the number that is recorded for a run.
func (f fixture) recorded(t *testing.T, run uuid.UUID) (n int64) {
	t.Helper()
	f.update(t, func(ctx context.Context, tx store.Tx) (err error) {
		n, err = sqlstore.Recorded(ctx, tx, run)
		return err
	})
	return n
}

func (f fixture) setRecorded(t *testing.T, run uuid.UUID, n int64, now time.Time) {
	t.Helper()
	f.update(t, func(ctx context.Context, tx store.Tx) error { return tx.SetRecorded(ctx, run, n, now) })
}

// testSpools saves, replaces, closes and prunes the states of spools.
func testSpools(t *testing.T, f fixture) {
	first := store.SpoolState{ID: uuid.UUID{1}, SpoolID: uuid.UUID{7}, SettledAt: noon, SeenAt: noon.Add(time.Second)}
	second := store.SpoolState{ID: uuid.UUID{2}, SpoolID: uuid.UUID{7}, SettledAt: noon.Add(time.Microsecond), SeenAt: noon, MissingSince: noon.Add(time.Minute)}
	same(t, "none", len(f.spools(t)), 0)
	f.saveSpool(t, first)
	f.saveSpool(t, second)
	same(t, "saved", f.spools(t), []store.SpoolState{first, second})
	first.SettledAt, first.SeenAt, first.MissingSince = noon.Add(time.Hour), noon.Add(time.Hour), noon.Add(time.Hour)
	second.MissingSince = time.Time{}
	f.saveSpool(t, first)
	f.saveSpool(t, second)
	same(t, "replaced", f.spools(t), []store.SpoolState{first, second})

	second.SettledAt = store.SpoolClosed
	f.saveSpool(t, second)
	same(t, "closed", f.spools(t), []store.SpoolState{first})
	f.setRecorded(t, second.ID, 5, noon)
	f.setRecorded(t, first.ID, 6, noon)
	prune := func(before, closedBefore time.Time) {
		t.Helper()
		fresh := store.SpoolState{ID: uuid.UUID{9}, SettledAt: noon, SeenAt: noon.Add(3 * time.Hour), Forget: before, ForgetClosed: closedBefore}
		f.saveSpool(t, fresh)
	}
	prune(noon, noon)
	same(t, "kept", []int64{f.recorded(t, first.ID), f.recorded(t, second.ID)}, []int64{6, 5})
	prune(noon, noon.Add(2*time.Hour))
	same(t, "closed ones pruned", []int64{f.recorded(t, first.ID), f.recorded(t, second.ID)}, []int64{6, 0})
	prune(noon.Add(2*time.Hour), noon)
	same(t, "all pruned", f.recorded(t, first.ID), int64(0))
	same(t, "after pruning", len(f.spools(t)), 1)
}

// testRecorded sets the number of a run's last ping, with a state and without, also in transactions that fail and in
// several at once.
func testRecorded(t *testing.T, f fixture) {
	run := uuid.UUID{3}
	same(t, "unknown", f.recorded(t, run), int64(0))
	f.setRecorded(t, run, 1<<40, noon)
	same(t, "set", f.recorded(t, run), int64(1<<40))
	same(t, "states", len(f.spools(t)), 0)
	f.saveSpool(t, store.SpoolState{ID: run, SpoolID: uuid.UUID{7}, SettledAt: noon, SeenAt: noon})
	same(t, "after SaveSpool", f.recorded(t, run), int64(1<<40))
	broken := errors.New("broken")
	err := f.Update(t.Context(), func(ctx context.Context, tx store.Tx) error {
		if err := tx.SetRecorded(ctx, run, 1<<41, noon); err != nil {
			return err
		}
		return broken
	})
	if !errors.Is(err, broken) {
		t.Fatal(err)
	}
	same(t, "after a failure", f.recorded(t, run), int64(1<<40))

	const callers = 8
	errs := make(chan error, callers)
	for range callers {
		go func() {
			errs <- f.Update(t.Context(), func(ctx context.Context, tx store.Tx) error {
				n, err := sqlstore.Recorded(ctx, tx, run)
				if err != nil {
					return err
				}
				return tx.SetRecorded(ctx, run, n+1, noon)
			})
		}()
	}
	for range callers {
		must(t, <-errs)
	}
	same(t, "counted", f.recorded(t, run), int64(1<<40+callers))

	// Several servers add the same pings, one of which is dropped and one was recorded before.
	var list []store.SpooledPing
	for i := range 4 {
		list = append(list, store.SpooledPing{At: noon, Data: []byte{byte(i)}, Run: run, Number: 1<<40 + callers + int64(i)})
	}
	list[2].Data = nil
	list = append(list, store.SpooledPing{At: noon, Data: []byte("first"), Run: uuid.UUID{4}, Number: 1})
	for range callers {
		go func() {
			errs <- f.Update(t.Context(), func(ctx context.Context, tx store.Tx) error { return tx.AddSpooled(ctx, noon, list) })
		}()
	}
	for range callers {
		must(t, <-errs)
	}
	same(t, "recorded", []int64{f.recorded(t, run), f.recorded(t, uuid.UUID{4})}, []int64{1<<40 + callers + 3, 1})
	f.update(t, func(ctx context.Context, tx store.Tx) error {
		taken, err := tx.TakeSpooled(ctx, noon, 100, 1000)
		var data []string
		for _, p := range taken {
			data = append(data, string(p.Data))
		}
		slices.Sort(data)
		same(t, "added once", data, []string{"\x01", "\x03", "first"})
		return err
	})
}

// testSpooled adds pings out of spools and takes them in the order of their times, also in transactions that fail and in
// several at once.
func testSpooled(t *testing.T, f fixture) {
	oldest := func() (at time.Time) {
		t.Helper()
		f.update(t, func(ctx context.Context, tx store.Tx) (err error) {
			_, at, err = tx.Spools(ctx)
			return err
		})
		return at
	}
	take := func(upTo time.Time, limit, maxBytes int) (names []string) {
		t.Helper()
		f.update(t, func(ctx context.Context, tx store.Tx) error {
			list, err := tx.TakeSpooled(ctx, upTo, limit, maxBytes)
			for _, p := range list {
				names = append(names, fmt.Sprint(p.At.Sub(noon), " ", string(p.Data)))
			}
			return err
		})
		return names
	}
	ping := func(after time.Duration, data string) store.SpooledPing {
		return store.SpooledPing{At: noon.Add(after), Data: []byte(data)}
	}
	same(t, "none", oldest(), time.Time{})
	same(t, "nothing to take", len(take(noon, 10, 10)), 0)
	for _, list := range [][]store.SpooledPing{
		{ping(3*time.Second, "a"), ping(5*time.Second, "bb")},
		{},
		{ping(time.Second, "ccc"), ping(4*time.Second, "d\x00"), ping(4*time.Second, "")},
		{ping(time.Microsecond, "e"), ping(3*time.Second, "f")},
	} {
		f.update(t, func(ctx context.Context, tx store.Tx) error { return tx.AddSpooled(ctx, noon, list) })
	}
	same(t, "oldest", oldest(), noon.Add(time.Microsecond))
	broken := errors.New("broken")
	err := f.Update(t.Context(), func(ctx context.Context, tx store.Tx) error {
		if _, err := tx.TakeSpooled(ctx, noon.Add(time.Hour), 10, 1000); err != nil {
			return err
		}
		return broken
	})
	if !errors.Is(err, broken) {
		t.Fatal(err)
	}
	same(t, "up to an instant", take(noon.Add(time.Second), 10, 1000), []string{"1µs e", "1s ccc"})
	same(t, "limited", take(noon.Add(time.Hour), 1, 1000), []string{"3s a"})
	same(t, "at least one", take(noon.Add(time.Hour), 10, 0), []string{"3s f"})
	same(t, "limited bytes", take(noon.Add(time.Hour), 10, 2), []string{"4s d\x00", "4s "})
	same(t, "too early", len(take(noon.Add(5*time.Second-1), 10, 1000)), 0)

	var list []store.SpooledPing
	for n := range 40 {
		list = append(list, ping(time.Minute, fmt.Sprint(n)))
	}
	f.update(t, func(ctx context.Context, tx store.Tx) error { return tx.AddSpooled(ctx, noon, list) })
	var mu sync.Mutex
	taken := make(map[string]int)
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for more := true; more; {
				var got []store.SpooledPing
				err := f.Update(t.Context(), func(ctx context.Context, tx store.Tx) (err error) {
					got, err = tx.TakeSpooled(ctx, noon.Add(time.Hour), 3, 1000)
					return err
				})
				if err != nil {
					t.Error(err)
				}
				mu.Lock()
				for _, p := range got {
					taken[string(p.Data)]++
				}
				more = len(got) > 0
				mu.Unlock()
			}
		})
	}
	group.Wait()
	for name, times := range taken {
		if times != 1 {
			t.Errorf("ping %s was taken %d times", name, times)
		}
	}
	same(t, "taken", len(taken), 41)
	same(t, "none is left", oldest(), time.Time{})
}
