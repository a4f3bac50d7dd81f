package courier

import (
	"context"
	"sync"
	"time"

	"github.com/rollcall-dev/rollcall/checks/internal/store"
)

// asking is a store whose transactions ask for alerts to OnAlert.
type asking struct {
	store.Store
	period time.Duration
	now    func() time.Time

	mu    sync.Mutex
	asked time.Time // when this process last asked
}

// AskForAlerts returns a store whose transactions make the outbox of s take alerts to OnAlert, from the first one on until
// GiveUp has passed since the last one. It is for a process that has the function.
func AskForAlerts(s store.Store, limits Limits, now func() time.Time) store.Store {
	limits.setDefaults()
	return &asking{Store: s, period: limits.GiveUp, now: now}
}

// Update runs fn in a transaction.
func (s *asking) Update(ctx context.Context, fn func(ctx context.Context, tx store.Tx) error) error {
	now := s.now()
	if !s.due(now) {
		return s.Store.Update(ctx, fn)
	}
	err := s.Store.Update(ctx, func(ctx context.Context, tx store.Tx) error {
		if err := tx.OnAlertUntil(ctx, now.Add(s.period)); err != nil {
			return err
		}
		return fn(ctx, tx)
	})
	if err == nil {
		s.mu.Lock()
		s.asked = now
		s.mu.Unlock()
	}
	return err
}

// due reports whether it is time to ask: in the first transaction, and long before alerts would be missed.
func (s *asking) due(now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked.IsZero() || now.Before(s.asked) || now.Sub(s.asked) >= s.period/2
}
