package sqlstore

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/uptrace/bun"

	"github.com/rollcall-dev/rollcall/checks/internal/background"
)

const (
	// lockWait is how long a change of the schema waits for a lock at first. Pings wait as long. It doubles up to lockWaitMost,
	// which is longer than PostgreSQL's deadlock_timeout: only after that does a vacuum make way.
	lockWait, lockWaitMost = 200 * time.Millisecond, 1500 * time.Millisecond
	// lockPauseMost bounds the pause after that, in which servers work on. The first one is lockWait.
	lockPauseMost = 3 * time.Second
	// lockLogAfter is how long a change of the schema waits before it says for what, and lockLogEvery how often it says so again.
	lockLogAfter, lockLogEvery = 2 * time.Second, 10 * time.Second
)

type loggerKey struct{}

// WithLogger returns a context for [Open] and [Store.Migrate], and the functions Open of packages sqlite and postgres. With it,
// they log what a migration waits for when others have locked the tables. Without it, they use slog.Default().
func WithLogger(ctx context.Context, log *slog.Logger) context.Context {
	return context.WithValue(ctx, loggerKey{}, log)
}

// changeSchema runs fn in a transaction that no other change of the schema runs beside. On PostgreSQL the transaction waits for
// each lock only briefly, and begins again until ctx ends: a lock that waits for a table holds up all pings.
func (s *database) changeSchema(ctx context.Context, fn func(ctx context.Context, tx bun.Tx) error) error {
	log, _ := ctx.Value(loggerKey{}).(*slog.Logger)
	if log == nil {
		log = slog.Default()
	}
	waitsFor, logAt := "", time.Now().Add(lockLogAfter)
	for attempt := 1; ; attempt++ {
		wait := min(lockWait<<min(attempt-1, 10), lockWaitMost)
		err := s.db.RunInTx(ctx, nil, func(ctx context.Context, tx bun.Tx) error {
			if err := s.d.limitLocks(ctx, tx, wait); err != nil {
				return err
			}
			if err := s.d.lockSchema(ctx, tx); err != nil {
				return err
			}
			return fn(ctx, tx)
		})
		if !contended(err) {
			if waitsFor != "" && ctx.Err() != nil {
				err = fmt.Errorf("sqlstore: a migration waited for %s: %w", waitsFor, err)
			}
			return err
		}
		waitsFor = s.waitsFor(ctx)
		if now := time.Now(); now.After(logAt) {
			log.WarnContext(ctx, "a migration waits for locks, and servers work on meanwhile",
				slog.Group("rollcall", "component", "store"), "for", waitsFor)
			logAt = now.Add(lockLogEvery)
		}
		select {
		case <-ctx.Done():
		case <-time.After(background.Backoff(lockWait, lockPauseMost, attempt)):
		}
	}
}

// contended reports whether a transaction that changes the schema met others that it can wait for.
func contended(err error) bool {
	switch state, _ := sqlState(err); state {
	case "55P03", "40P01", "40001": // a lock is not available, deadlock, serialization failure
		return true
	}
	return false
}

// limitLocks bounds how long a statement of a transaction waits for a lock. SQLite has its busy timeout.
func (d dialect) limitLocks(ctx context.Context, tx bun.Tx, wait time.Duration) error {
	if !d.postgres {
		return nil
	}
	_, err := tx.Tx.ExecContext(ctx, fmt.Sprintf("SET LOCAL lock_timeout = %d", wait.Milliseconds()))
	return err
}

// tableNames lists the tables that a change of the schema locks: all but that of the schema's version, which health checks read.
const tableNames = `FROM pg_catalog.pg_class AS t WHERE t.relkind = 'r' AND t.relname LIKE 'rollcall\_%' AND t.relname <> 'rollcall_schema'
	AND pg_table_is_visible(t.oid)`

// lockTables locks all tables, in two steps that few transactions of servers can block. The first ends those that write: it takes the
// tables in the order in which they lock rows, and leaves them what they read. The second ends the queries.
func (s *database) lockTables(ctx context.Context, tx bun.Tx) error {
	if !s.d.postgres {
		return nil
	}
	for _, step := range []struct{ first, mode string }{
		{"rollcall_accounts,rollcall_states", "EXCLUSIVE"}, {"rollcall_checks,rollcall_states", "ACCESS EXCLUSIVE"},
	} {
		var tables string
		err := tx.Tx.QueryRowContext(ctx, `SELECT coalesce(string_agg(quote_ident(t.relname), ', '
			ORDER BY array_position($1::text[], t.relname::text), t.relname), '') `+tableNames, "{"+step.first+"}").Scan(&tables)
		if err == nil && tables != "" {
			_, err = tx.Tx.ExecContext(ctx, "LOCK TABLE "+tables+" IN "+step.mode+" MODE")
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// waitsFor says, for people, which table a change of the schema cannot lock and who has locked it: the oldest transaction does, or
// another change of the schema, which takes no table first.
func (s *database) waitsFor(ctx context.Context) string {
	var table, program, user, state string
	var pid int
	var age float64
	err := s.db.DB.QueryRowContext(ctx, `SELECT t.relname, a.pid, coalesce(nullif(a.application_name, ''), a.backend_type, ''),
			coalesce(a.usename, ''), coalesce(a.state, ''), coalesce(extract(epoch FROM clock_timestamp() - a.xact_start), 0)::float8
		FROM pg_catalog.pg_locks AS l JOIN pg_catalog.pg_stat_activity AS a ON a.pid = l.pid AND a.datname = current_database()
		JOIN (SELECT t.oid, t.relname `+tableNames+`) AS t ON t.oid = l.relation
		WHERE l.granted AND a.pid <> pg_backend_pid() ORDER BY a.xact_start, t.relname LIMIT 1`).
		Scan(&table, &pid, &program, &user, &state, &age)
	if err != nil {
		return "another migration, or the transactions of servers"
	}
	return fmt.Sprintf("the table %s, locked by process %d of PostgreSQL (%s, user %s, %s) for %v",
		table, pid, program, user, state, time.Duration(age*float64(time.Second)).Round(time.Millisecond))
}
