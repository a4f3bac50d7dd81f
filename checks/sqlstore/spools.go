package sqlstore

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/rollcall-dev/rollcall/checks/internal/store"
)

type spoolRow struct {
	bun.BaseModel `bun:"table:rollcall_spools,alias:s"`

	ID           uuid.UUID `bun:"id,pk"`
	SpoolID      uuid.UUID `bun:"spool_id"`
	SettledAt    int64     `bun:"settled_at"`
	SeenAt       int64     `bun:"seen_at"`
	MissingSince *int64    `bun:"missing_since"`
}

// Outlook returns the lowest bound of an instant at which a check has to be settled, and what Spools returns.
func (s *database) Outlook(ctx context.Context) (next time.Time, list []store.SpoolState, oldest time.Time, err error) {
	err = s.read(ctx, func(layout) error {
		const first = "SELECT min(watch_at) AS due FROM rollcall_states WHERE watch_at IS NOT NULL"
		within := ctx
		if !s.d.postgres {
			within = context.WithoutCancel(ctx) // no goroutine; see prepare
		}
		next, list, oldest, err = spools(within, s.db, first)
		return cmp.Or(err, ctx.Err())
	})
	return next, list, oldest, err
}

// Spools returns the states of all spools that are not closed, and the time of the oldest ping that waits.
func (t *transaction) Spools(ctx context.Context) (list []store.SpoolState, oldest time.Time, err error) {
	_, list, oldest, err = spools(ctx, t.tx(), "SELECT NULL AS due")
	return list, oldest, translate(err)
}

// spools reads the instant that a query returns as due, and what Spools returns, at once.
func spools(ctx context.Context, db bun.IDB, due string) (next time.Time, list []store.SpoolState, oldest time.Time, err error) {
	var rows []struct {
		Due, First                      *int64
		ID, SpoolID                     *uuid.UUID
		SettledAt, SeenAt, MissingSince *int64
	}
	err = db.NewRaw(`SELECT next.due, waiting.first, spool.id, spool.spool_id, spool.settled_at, spool.seen_at, spool.missing_since
		FROM (`+due+`) AS next CROSS JOIN (SELECT min(at) AS first FROM rollcall_spooled) AS waiting
		LEFT JOIN rollcall_spools AS spool ON spool.settled_at < ?`, micros(store.SpoolClosed)).Scan(ctx, &rows)
	at := func(us *int64) time.Time {
		if us == nil {
			return time.Time{}
		}
		return instant(*us)
	}
	for _, r := range rows {
		next, oldest = at(r.Due), at(r.First)
		if r.ID != nil {
			list = append(list, store.SpoolState{
				ID: *r.ID, SpoolID: *r.SpoolID, SettledAt: at(r.SettledAt), SeenAt: at(r.SeenAt), MissingSince: at(r.MissingSince),
			})
		}
	}
	return next, list, oldest, err
}

type spooledRow struct {
	bun.BaseModel `bun:"table:rollcall_spooled"`

	ID   int64  `bun:"id,pk,autoincrement"`
	At   int64  `bun:"at"`
	Data []byte `bun:"data"`
}

// AddSpooled adds pings out of a spool.
func (t *transaction) AddSpooled(ctx context.Context, now time.Time, list []store.SpooledPing) error {
	recorded := map[uuid.UUID]int64{uuid.Nil: -1}
	var rows []spooledRow
	for _, p := range list {
		if _, known := recorded[p.Run]; !known {
			var err error
			if recorded[p.Run], err = t.lockRecorded(ctx, p.Run); err != nil {
				return err
			}
		}
		if p.Number <= recorded[p.Run] {
			continue
		}
		if p.Data != nil {
			rows = append(rows, spooledRow{At: micros(p.At), Data: p.Data})
		}
		if p.Run != uuid.Nil {
			recorded[p.Run] = p.Number
		}
	}
	for run, number := range recorded {
		if number <= 0 {
			continue
		}
		if err := t.SetRecorded(ctx, run, number, now); err != nil {
			return err
		}
	}
	if len(rows) == 0 {
		return nil
	}
	_, err := t.tx().NewInsert().Model(&rows).Returning("NULL").Exec(ctx)
	return err
}

// TakeSpooled removes and returns the oldest pings. Other transactions wait for the lock of the first one.
func (t *transaction) TakeSpooled(ctx context.Context, upTo time.Time, limit, maxBytes int) ([]store.SpooledPing, error) {
	var sizes []struct{ ID, At, Size int64 }
	q := t.tx().NewSelect().TableExpr("rollcall_spooled AS p").ColumnExpr("p.id, p.at, length(p.data) AS size").
		Where("p.at <= ?", micros(upTo)).OrderExpr("p.at, p.id").Limit(int64(limit))
	if err := t.s.d.forUpdate(q, "p", "").Scan(ctx, &sizes); err != nil || len(sizes) == 0 {
		return nil, translate(err)
	}
	ids := make([]int64, 0, len(sizes))
	for i, row := range sizes {
		if maxBytes -= int(row.Size); maxBytes < 0 && i > 0 {
			break
		}
		ids = append(ids, row.ID)
	}
	var rows []spooledRow
	err := t.tx().NewRaw("DELETE FROM rollcall_spooled WHERE id IN (?) RETURNING id, at, data", bun.List(ids)).Scan(ctx, &rows)
	if err != nil {
		return nil, translate(err)
	}
	slices.SortFunc(rows, func(a, b spooledRow) int { return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.ID, b.ID)) })
	list := make([]store.SpooledPing, len(rows))
	for i, r := range rows {
		list[i] = store.SpooledPing{At: instant(r.At), Data: r.Data}
	}
	return list, nil
}

// SaveSpool adds or replaces the state of a spool.
func (t *transaction) SaveSpool(ctx context.Context, s store.SpoolState) error {
	row := &spoolRow{ID: s.ID, SpoolID: s.SpoolID, SettledAt: micros(s.SettledAt), SeenAt: micros(s.SeenAt)}
	if !s.MissingSince.IsZero() {
		row.MissingSince = new(micros(s.MissingSince))
	}
	_, err := t.tx().NewInsert().Model(row).On("CONFLICT (id) DO UPDATE").Set("spool_id = excluded.spool_id").
		Set("settled_at = excluded.settled_at").Set("seen_at = excluded.seen_at").Set("missing_since = excluded.missing_since").
		Returning("NULL").Exec(ctx)
	if err != nil || s.Forget.IsZero() && s.ForgetClosed.IsZero() {
		return err
	}
	_, err = t.tx().NewRaw("DELETE FROM rollcall_spools WHERE seen_at < ? OR settled_at = ? AND seen_at < ?",
		micros(s.Forget), micros(store.SpoolClosed), micros(s.ForgetClosed)).Exec(ctx)
	return err
}

// lockRecorded locks and returns the number of the last ping of a run that the database has, or 0.
func (t *transaction) lockRecorded(ctx context.Context, run uuid.UUID) (int64, error) {
	var numbers []int64
	q := t.tx().NewSelect().TableExpr("rollcall_spools AS s").ColumnExpr("s.recorded").Where("s.id = ?", run)
	if err := t.s.d.forUpdate(q, "s", "").Scan(ctx, &numbers); err != nil || len(numbers) == 0 {
		return 0, translate(err)
	}
	return numbers[0], nil
}

// SetRecorded sets the number of the last ping of a run that the database has.
func (t *transaction) SetRecorded(ctx context.Context, run uuid.UUID, number int64, now time.Time) error {
	_, err := t.tx().NewRaw(`INSERT INTO rollcall_spools (id, spool_id, recorded, settled_at, seen_at) VALUES (?, ?, ?, ?, ?)
		ON CONFLICT (id) DO UPDATE SET recorded = excluded.recorded`,
		run, uuid.Nil, number, micros(store.SpoolClosed), micros(now)).Exec(ctx)
	return err
}
