package sqlstore

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks/internal/store"
)

// EndSession notes that a session has ended, and forgets old ones.
func (s *database) EndSession(ctx context.Context, id uuid.UUID, now, until time.Time) error {
	return s.Update(ctx, func(ctx context.Context, tx store.Tx) error {
		db := tx.(*transaction).tx
		if _, err := db.NewRaw("DELETE FROM rollcall_ended_sessions WHERE ends_at < ?", micros(now)).Exec(ctx); err != nil {
			return err
		}
		_, err := db.NewRaw("INSERT INTO rollcall_ended_sessions (id, ends_at) VALUES (?, ?) ON CONFLICT (id) DO NOTHING", id, micros(until)).Exec(ctx)
		return err
	})
}

// SessionEnded reports whether a session has ended.
func (s *database) SessionEnded(ctx context.Context, id uuid.UUID) (bool, error) {
	ended, err := s.db.NewSelect().TableExpr("rollcall_ended_sessions").Where("id = ?", id).Exists(ctx)
	return ended, translate(err)
}
