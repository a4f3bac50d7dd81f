package monitor

import (
	"context"
	"errors"
	"fmt"
)

// removalBatch is how many removals are claimed at a time.
const removalBatch = 500

// RemoveBodies removes the objects of pings that are gone until none is left that is due, and returns how many it
// has removed. [Monitor.Run] calls it all the time. The error is [ErrBodyUnavailable] when object storage cannot be
// used; the objects are removed later then.
func (m *Monitor) RemoveBodies(ctx context.Context) (removed int, err error) {
	if m.bodies.store == nil {
		return 0, nil
	}
	for {
		now := m.Now()
		claimed, err := m.store.ClaimRemovals(ctx, now, now.Add(claimTime), removalBatch)
		if err != nil {
			return removed, err
		}
		n, err := m.removeClaimed(ctx, claimed)
		removed += n
		if err != nil || len(claimed) < removalBatch {
			return removed, err
		}
	}
}

// removeClaimed removes the objects that were claimed and records what became of them.
func (m *Monitor) removeClaimed(ctx context.Context, claimed []Removal) (removed int, err error) {
	if len(claimed) == 0 {
		return 0, nil
	}
	claim := claimed[0].Due
	results := m.removeAll(ctx, claimed)
	now := m.Now()
	var done, retry []Removal
	var cause error
	for i, r := range claimed {
		err := results[i]
		if err == nil {
			done = append(done, r)
			continue
		}
		if concernsAll(err) {
			cause = firstCause(cause, err)
		}
		r.Attempts, r.Due = m.failure(ctx, "cannot remove an object", r.Key, r.Attempts, now, err)
		retry = append(retry, r)
	}
	settle, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleTime)
	defer cancel()
	if err := m.store.FinishRemovals(settle, done); err != nil {
		return 0, errors.Join(cause, err)
	}
	return len(done), errors.Join(cause, m.store.RetryRemovals(settle, retry, claim))
}

// removeAll removes objects all at once and, when that fails because of some of them, one by one. It returns what
// became of each.
func (m *Monitor) removeAll(ctx context.Context, claimed []Removal) []error {
	ctx, cancel := context.WithTimeout(ctx, workTime)
	defer cancel()
	keys := make([]string, len(claimed))
	for i, r := range claimed {
		keys[i] = r.Key
	}
	results := make([]error, len(claimed))
	err := m.removeObjects(ctx, keys)
	if err == nil {
		return results
	}
	for i := range results {
		results[i] = err
		if !concernsAll(err) && len(keys) > 1 {
			results[i] = m.removeObjects(ctx, keys[i:i+1])
			if concernsAll(results[i]) {
				err = errNotTried // nor are the others
			}
		}
	}
	return results
}

func (m *Monitor) removeObjects(ctx context.Context, keys []string) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v", r)
		}
	}()
	return m.bodies.store.Remove(ctx, keys)
}
