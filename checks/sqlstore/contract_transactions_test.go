package sqlstore_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
	"github.com/rollcall-dev/rollcall/pings"
)

// testUpdateRollsBack: if its function fails, Update returns that error and nothing has changed.
func testUpdateRollsBack(t *testing.T, f fixture) {
	c := f.create(t, checks.Spec{})
	failure := errors.New("no")
	err := f.Update(t.Context(), func(ctx context.Context, tx store.Tx) error {
		l, err := tx.LockCheck(ctx, c.ID)
		if err != nil {
			return err
		}
		receive(l, pings.Signal{}, noon)
		if err := tx.SaveChecks(ctx, []*store.Locked{l}); err != nil {
			return err
		}
		return failure
	})
	if !errors.Is(err, failure) {
		t.Errorf("Update returned %v, want the error of its function", err)
	}
	same(t, "check after a rollback", f.check(t, c.ID), c)
	same(t, "log after a rollback", f.log(t, c.ID), []pings.Ping(nil))
}

// testCancelledContext: with a cancelled context, Update returns [context.Canceled]. The store works on.
func testCancelledContext(t *testing.T, f fixture) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := f.Update(ctx, func(context.Context, store.Tx) error { return nil })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("Update with a cancelled context: error %v, want context.Canceled", err)
	}
	if err := f.Probe(t.Context(), false); err != nil {
		t.Errorf("the store no longer works: %v", err)
	}
}

// testLostUpdates: a transaction that has locked a check sees all that earlier ones wrote. None overwrites another.
func testLostUpdates(t *testing.T, f fixture) {
	c := f.create(t, checks.Spec{})
	const writers, each = 8, 10
	var wg sync.WaitGroup
	for range writers {
		wg.Go(func() {
			for range each {
				err := f.edit(t.Context(), c.ID, func(l *store.Locked) error {
					receive(l, pings.Signal{}, noon)
					return nil
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if got := f.check(t, c.ID).NPings; got != writers*each {
		t.Errorf("the check counts %d pings, want %d", got, writers*each)
	}
	for i, p := range f.log(t, c.ID) {
		if want := int64(writers*each - i); p.N != want {
			t.Fatalf("entry %d of the log has number %d, want %d", i, p.N, want)
		}
	}
}

// testLockOrder: LockChecks takes IDs in any order and never leads to a deadlock, or Update runs its function again.
func testLockOrder(t *testing.T, f fixture) {
	ids := f.createMany(t, 20)
	var wg sync.WaitGroup
	for n := range 8 {
		order := make([]uuid.UUID, len(ids))
		for i := range ids {
			order[i] = ids[(i*[]int{1, 19, 7, 13}[n%4]+n)%20]
		}
		wg.Go(func() {
			for range 5 {
				err := recordWith(t.Context(), f, order, func(locked []*store.Locked) error {
					if len(locked) != len(ids) {
						return fmt.Errorf("locked %d checks, want %d", len(locked), len(ids))
					}
					for _, l := range locked {
						receive(l, pings.Signal{}, noon)
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
		if got := f.check(t, id).NPings; got != 40 {
			t.Errorf("the check counts %d pings, want 40", got)
		}
	}
}

// testLockMissing: LockCheck returns [checks.ErrNotFound] for an unknown check. LockChecks leaves it out.
func testLockMissing(t *testing.T, f fixture) {
	err := f.Update(t.Context(), func(ctx context.Context, tx store.Tx) error {
		locked, err := tx.LockChecks(ctx, []uuid.UUID{uuid.New()})
		if err != nil || len(locked) != 0 {
			return fmt.Errorf("LockChecks of an unknown check: %v, error %w", locked, err)
		}
		_, err = tx.LockCheck(ctx, uuid.New())
		return err
	})
	if !errors.Is(err, checks.ErrNotFound) {
		t.Errorf("LockCheck of an unknown check: error %v, want ErrNotFound", err)
	}
}
