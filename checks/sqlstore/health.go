package sqlstore

import (
	"context"
	"fmt"
	"io/fs"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks/internal/store"
)

// Probe reads the version of the schema. It fails if the database does not answer or lacks migrations. A newer schema
// is fine: during an upgrade, servers of the old version keep running. With write, Probe also commits a transaction
// that changes one row, which nothing else uses.
func (s *database) Probe(ctx context.Context, write bool) error {
	files, err := fs.Glob(migrations, "migrations/*.sql")
	if err != nil {
		return err
	}
	var version int
	row := s.db.DB.QueryRowContext(ctx, "SELECT coalesce(max(version), 0) FROM rollcall_schema")
	if err := row.Scan(&version); err != nil {
		return translate(err)
	}
	if version < len(files) {
		return fmt.Errorf("%w: its schema has version %d, this program needs %d", ErrNotMigrated, version, len(files))
	}
	if !write {
		return nil
	}
	now := time.Now().UTC().Format(time.RFC3339Nano)
	return s.Update(ctx, func(ctx context.Context, tx store.Tx) error {
		_, err := tx.(*transaction).tx.NewRaw(`INSERT INTO rollcall_settings (name, value) VALUES ('probed_at', ?)
			ON CONFLICT (name) DO UPDATE SET value = excluded.value`, now).Exec(ctx)
		return err
	})
}

// maxBlocked bounds the due deliveries among which Backlog looks for the first of a line.
const maxBlocked = 1000

// Backlog summarizes the pending deliveries. It reads only their indexes.
func (s *database) Backlog(ctx context.Context, now time.Time) (b store.Backlog, err error) {
	err = s.db.NewRaw("SELECT count(*) FROM (SELECT 1 FROM rollcall_deliveries WHERE state = 'pending' LIMIT ?) AS p",
		store.MaxPending).Scan(ctx, &b.Pending)
	if err != nil {
		return store.Backlog{}, translate(err)
	}
	var due []int64
	err = s.db.NewRaw(`SELECT d.due_at FROM (
			SELECT id, check_id, channel_id, due_at FROM rollcall_deliveries
			WHERE state = 'pending' AND due_at <= ? ORDER BY due_at LIMIT ?
		) AS d WHERE d.id = `+firstOfLine+` ORDER BY d.due_at LIMIT 1`, micros(now), maxBlocked).Scan(ctx, &due)
	if err != nil {
		return store.Backlog{}, translate(err)
	}
	if len(due) > 0 {
		b.OldestDue = instant(due[0])
	}
	return b, nil
}

// maxBack bounds the pings of a check among which LastDurations looks for one with a duration.
const maxBack = 5

// LastDurations returns the duration of the last finished run of each check of a project, if its end is among the
// newest 5 pings of the check. It reads each ping by its key, so the size of the log does not matter.
func (s *database) LastDurations(ctx context.Context, projectID uuid.UUID) (map[uuid.UUID]time.Duration, error) {
	const back = `WITH RECURSIVE back (uuid, prev, duration, step) AS (
			SELECT c.uuid, p.prev, p.duration, 1 FROM %[1]s
			JOIN rollcall_states AS s ON s.check_id = c.id%[3]s JOIN rollcall_pings AS p ON p.id = s.log_head%[4]s
			WHERE %[2]s
			UNION ALL
			SELECT b.uuid, p.prev, p.duration, b.step + 1 FROM back AS b JOIN rollcall_pings AS p ON p.id = b.prev%[4]s
			WHERE b.duration IS NULL AND b.step < ?
		) SELECT uuid, duration FROM back WHERE duration IS NOT NULL`
	sources, err := s.logSources(ctx, "c.project_id = ?", projectID)
	if err != nil {
		return nil, translate(err)
	}
	durations := make(map[uuid.UUID]time.Duration)
	for _, l := range sources {
		var rows []struct {
			UUID     uuid.UUID `bun:"uuid"`
			Duration int64     `bun:"duration"`
		}
		if err := s.db.NewRaw(fmt.Sprintf(back, l.checks, l.where, l.state, l.ping), maxBack).Scan(ctx, &rows); err != nil {
			return nil, translate(err)
		}
		for _, row := range rows {
			durations[row.UUID] = time.Duration(row.Duration) * time.Microsecond
		}
	}
	return durations, nil
}
