package main

import (
	"context"
	"database/sql"
	"encoding/binary"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/google/uuid"
	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect"
	"github.com/uptrace/bun/dialect/pgdialect"
	"github.com/uptrace/bun/dialect/sqlitedialect"
	_ "modernc.org/sqlite" // the driver "sqlite"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/sqlstore"
	"github.com/rollcall-dev/rollcall/pings"
)

// openDatabase opens a database the way the binary does.
func openDatabase(url string) (*bun.DB, error) {
	path, isFile := strings.CutPrefix(url, "sqlite:")
	if !isFile {
		db, err := sql.Open("pgx", url)
		if err != nil {
			return nil, err
		}
		db.SetMaxOpenConns(20)
		db.SetMaxIdleConns(20)
		return bun.NewDB(db, pgdialect.New()), nil
	}
	db, err := sql.Open("sqlite", sqlstore.SQLiteDSN(path, 10*time.Second))
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(8)
	db.SetMaxIdleConns(8)
	return bun.NewDB(db, sqlitedialect.New()), db.Ping()
}

// logFiles are 16 MB each: more than the rounds of a measurement fill.
const logFiles = 40

// recycleLog brings a new PostgreSQL server to where one is after its first checkpoints: with files of its write-ahead
// log that it can use again. A new one fills each file with zeroes first, for which all commits wait.
func recycleLog(ctx context.Context, url string) error {
	db, err := openDatabase(url)
	if err != nil {
		return err
	}
	defer db.Close()
	for range logFiles {
		_, err := db.ExecContext(ctx, "SELECT pg_logical_emit_message(false, 'load', 'x'), pg_switch_wal()")
		if err != nil {
			return err
		}
	}
	_, err = db.ExecContext(ctx, "CHECKPOINT")
	return err
}

// filling is what a database was filled with.
type filling struct {
	db      *bun.DB
	check   checks.Check // the first
	project checks.Project
	key     string
}

// fill makes the first project and the first check as any program does, and copies of their rows for the others,
// which is the only way to have a million of them soon. All checks are up, and those of the first project have a number of
// integrations. With no checks it leaves the database as it is.
func fill(ctx context.Context, db *bun.DB, store *sqlstore.Store, n, projects, integrations int) (f filling, err error) {
	f.db = db
	if n == 0 {
		return f, nil
	}
	mon, err := monitor.New(store, nil)
	if err != nil {
		return f, err
	}
	project, keys, err := mon.CreateProject(ctx, monitor.ProjectSpec{Name: "load"})
	if err != nil {
		return f, err
	}
	f.project, f.key = project, keys.ReadWrite
	f.check, err = mon.Create(ctx, project.ID, checks.Spec{ID: checkID(0), Name: new("check 0"), Slug: new("check-0"), Tags: new("prod db")})
	if err != nil {
		return f, err
	}
	if _, err := mon.Ping(ctx, f.check.ID, pings.Signal{Kind: pings.Success}); err != nil {
		return f, err
	}
	if err := f.copyAll(ctx, n-1, projects); err != nil {
		return f, err
	}
	for i := range integrations {
		_, err := mon.CreateChannel(ctx, project.ID, channels.Email, fmt.Sprint("mail ", i), map[string]string{"to": "jobs@example.org"})
		if err != nil {
			return f, err
		}
	}
	_, err = db.ExecContext(ctx, `INSERT INTO rollcall_check_channels (check_id, channel_id)
		SELECT c.id, ch.id FROM rollcall_checks AS c JOIN rollcall_channels AS ch ON ch.project_id = c.project_id`)
	return f, err
}

// copyAll copies the rows of the first project and of the first check.
func (f filling) copyAll(ctx context.Context, n, projects int) error {
	owner := "'" + f.project.ID.String() + "'"
	if projects > 1 {
		owner = fmt.Sprintf("CASE WHEN i %% %d = 0 THEN %s ELSE %s END", projects, f.asUUID(owner), f.uuid(1, fmt.Sprintf("(i %% %d)", projects)))
	}
	text := func(prefix string) string { return "'" + prefix + "' || i" }
	err := f.copyRows(ctx, "rollcall_projects", projects-1, map[string]string{
		"id": f.uuid(1, "i"), "name": text("load "), "badge_key": text("badge"), "ping_key": text("ping"),
	})
	if err != nil {
		return err
	}
	err = f.copyRows(ctx, "rollcall_checks", n, map[string]string{
		"id": "id + i", "uuid": f.uuid(0, "i"), "badge_key": f.uuid(2, "i"), "unique_key": text("key "), "project_id": f.asUUID(owner),
		"name": text("check "), "slug": text("check-"),
	})
	if err != nil {
		return err
	}
	err = f.copyRows(ctx, "rollcall_states", n, map[string]string{"check_id": "check_id + i", "n_pings": "0", "log_head": "NULL"})
	if err != nil || !f.postgres() {
		return err
	}
	_, err = f.db.ExecContext(ctx, "VACUUM ANALYZE") // which PostgreSQL would do by itself in the middle of a round
	return err
}

// copyRows adds n copies of the only row of a table. What replaces a column is an expression over i, which counts from 1.
func (f filling) copyRows(ctx context.Context, table string, n int, replace map[string]string) error {
	if n == 0 {
		return nil
	}
	rows, err := f.db.QueryContext(ctx, "SELECT * FROM "+table+" LIMIT 0")
	if err != nil {
		return err
	}
	columns, err := rows.Columns()
	if err := rows.Close(); err != nil {
		return err
	}
	if err != nil {
		return err
	}
	values := make([]string, len(columns))
	left := maps.Clone(replace)
	for k, column := range columns {
		values[k] = column
		if replacement, found := replace[column]; found {
			values[k] = replacement
			delete(left, column)
		}
	}
	if len(left) > 0 {
		return fmt.Errorf("%s has other columns than this program knows: %v", table, left)
	}
	series := fmt.Sprintf("generate_series(1::bigint, %d) AS series (i)", n)
	with := ""
	if !f.postgres() {
		with = fmt.Sprintf("WITH RECURSIVE series (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM series WHERE i < %d) ", n)
		series = "series"
	}
	_, err = f.db.ExecContext(ctx, fmt.Sprintf("%sINSERT INTO %s (%s) SELECT %s FROM %s, %s",
		with, table, strings.Join(columns, ", "), strings.Join(values, ", "), table, series))
	return err
}

// overdue makes the first n checks overdue, by setting back what was recorded of them.
func (f filling) overdue(ctx context.Context, n int) error {
	_, err := f.db.NewRaw("UPDATE rollcall_states SET last_ping = last_ping - ?, watch_at = watch_at - ?, revision = revision + 1 WHERE check_id <= ?",
		int64(48*time.Hour/time.Microsecond), int64(48*time.Hour/time.Microsecond), n).Exec(ctx)
	return err
}

func (f filling) postgres() bool { return f.db.Dialect().Name() == dialect.PG }

// checkID returns the identifier of check i. Neighbours are far apart, as random identifiers are.
func checkID(i int) (id uuid.UUID) {
	binary.BigEndian.PutUint64(id[8:], 0x8000<<48|uint64(i))
	binary.BigEndian.PutUint64(id[:8], uint64(uint32(i)*2654435761)<<32|0x4000)
	return id
}

// uuid is checkID for the database, for one of several kinds of things.
func (f filling) uuid(kind int, i string) string {
	if f.postgres() {
		return fmt.Sprintf("(lpad(to_hex(%s * 2654435761 %% 4294967296), 8, '0') || '-000%d-4000-8000-' || lpad(to_hex(%s), 12, '0'))::uuid", i, kind, i)
	}
	return fmt.Sprintf("printf('%%08x-000%d-4000-8000-%%012x', %s * 2654435761 %% 4294967296, %s)", kind, i, i)
}

func (f filling) asUUID(expression string) string {
	if f.postgres() {
		return "(" + expression + ")::uuid"
	}
	return expression
}
