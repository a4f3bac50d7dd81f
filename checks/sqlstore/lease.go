package sqlstore

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks/internal/store"
)

// leaseRow begins the names of the rows of rollcall_settings that hold leases: the holder, a blank, and the end in
// microseconds since 1970.
const leaseRow = "lease "

// Lease returns the lease of a task, which becomes mine if nobody else holds it.
func (s *database) Lease(ctx context.Context, task string, now time.Time, mine store.Lease) (lease store.Lease, err error) {
	name := leaseRow + task
	if _, err := s.Setting(ctx, name, leaseText(store.Lease{})); err != nil {
		return store.Lease{}, err
	}
	err = s.Update(ctx, func(ctx context.Context, tx store.Tx) error {
		db := tx.(*transaction).tx
		row := settingRow{Name: name}
		q := db.NewSelect().Model(&row).WherePK()
		if s.d.postgres {
			q = q.For("UPDATE")
		}
		if err := q.Scan(ctx); err != nil {
			return err
		}
		if lease, err = parseLease(row.Value); err != nil {
			return err
		}
		if lease.Holder != mine.Holder && now.Before(lease.Until) && !lease.Until.After(mine.Until) {
			return nil
		}
		lease = store.Lease{Holder: mine.Holder, Until: instant(micros(mine.Until))}
		row.Value = leaseText(lease)
		_, err := db.NewUpdate().Model(&row).WherePK().Exec(ctx)
		return err
	})
	return lease, err
}

func leaseText(l store.Lease) string { return fmt.Sprint(l.Holder, " ", micros(l.Until)) }

func parseLease(text string) (l store.Lease, err error) {
	var holder string
	var until int64
	if _, err := fmt.Sscan(text, &holder, &until); err != nil {
		return l, fmt.Errorf("sqlstore: the lease %q cannot be read: %w", text, err)
	}
	l.Holder, err = uuid.Parse(holder)
	l.Until = instant(until)
	return l, err
}
