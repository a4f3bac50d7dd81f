package monitor

import (
	"context"
	"time"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
)

// asker is the store of a monitor with OnAlert. Its transactions ask for the alerts to it.
type asker struct {
	store.Store
	delivery *delivery
	clock    func() time.Time
}

// Update runs fn in a transaction.
func (s *asker) Update(ctx context.Context, fn func(ctx context.Context, tx store.Tx) error) error {
	now := checks.Instant(s.clock())
	until, ask := s.delivery.ask(now)
	if !ask {
		return s.Store.Update(ctx, fn)
	}
	err := s.Store.Update(ctx, func(ctx context.Context, tx store.Tx) error {
		if err := tx.OnAlertUntil(ctx, until); err != nil {
			return err
		}
		return fn(ctx, tx)
	})
	if err == nil {
		s.delivery.mu.Lock()
		s.delivery.asked = now
		s.delivery.mu.Unlock()
	}
	return err
}
