package sqlstore

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"

	"github.com/uptrace/bun"
)

//go:embed migrations/*.sql
var migrations embed.FS

const createSchemaTable = "CREATE TABLE IF NOT EXISTS rollcall_schema (version BIGINT NOT NULL)"

// ErrNewerSchema means that a newer version of Rollcall has migrated the database.
var ErrNewerSchema = errors.New("sqlstore: the database needs a newer version of Rollcall")

// Migrate brings the schema up to date, as [Open] does. Call it at each start on a store of [New], before anything else.
// If there is nothing to do, it is one short transaction.
//
// All steps run in one transaction and under a lock. A crash leaves the schema and the data as they were. If several
// programs start at once, one migrates while the others wait, until ctx ends (on SQLite, until the busy timeout).
// Migrate changes only tables with the prefix rollcall_. The database user needs the right to create and alter tables.
// If it has none, run "rollcall migrate" as another user before the upgrade; Migrate then finds nothing to do.
//
// A migration cannot be undone: to return to an older version, restore a backup from before the upgrade. Programs of
// the older version keep running as long as migrations only add tables and columns; the changelog says when one does
// more.
//
// Errors: [ErrNewerSchema], which leaves the database as it is; [ErrOldServer]; [ErrEncoding]; [ErrWorker];
// [store.ErrUnavailable]; those of the driver.
func (s *Store) Migrate(ctx context.Context) error {
	_, _, err := s.migrateFiles(ctx, migrations)
	return err
}

// Migrated returns the version of the schema that [Open] found, which is 0 for an empty database, and the version that
// it left. For a store of [New], both are 0.
func (s *Store) Migrated() (before, after int) { return s.before, s.after }

// migrateFiles applies the migrations in set that the database lacks.
func (s *Store) migrateFiles(ctx context.Context, set fs.FS) (before, after int, err error) {
	files, err := fs.Glob(set, "migrations/*.sql") // sorted by name, so by number
	if err != nil {
		return 0, 0, err
	}
	if err := s.checkServer(ctx); err != nil {
		return 0, 0, err
	}
	err = s.db.RunInTx(ctx, nil, func(ctx context.Context, tx bun.Tx) error {
		if err := s.d.lockSchema(ctx, tx); err != nil {
			return err
		}
		if before, err = s.schemaVersion(ctx, tx); err != nil {
			return err
		}
		if before > len(files) {
			return fmt.Errorf("%w: its schema has version %d, this one knows up to %d", ErrNewerSchema, before, len(files))
		}
		if before == 0 {
			if err := s.refuseWorker(ctx, tx); err != nil {
				return err
			}
		}
		for _, file := range files[before:] {
			if err := s.migrate(ctx, tx, set, file); err != nil {
				return err
			}
		}
		after = len(files)
		if before == after {
			return nil
		}
		_, err := tx.NewRaw("DELETE FROM rollcall_schema; INSERT INTO rollcall_schema (version) VALUES (?)", after).Exec(ctx)
		return err
	})
	if err == nil {
		err = s.loadShards(ctx)
	}
	return before, after, translate(err)
}

// schemaVersion returns the version of the database's schema, 0 for an empty database.
func (s *Store) schemaVersion(ctx context.Context, tx bun.Tx) (version int, err error) {
	if err := s.d.createSchemaTable(ctx, tx); err != nil {
		return 0, err
	}
	err = tx.Tx.QueryRowContext(ctx, "SELECT coalesce(max(version), 0) FROM rollcall_schema").Scan(&version)
	return version, err
}

func (s *Store) migrate(ctx context.Context, tx bun.Tx, set fs.FS, file string) error {
	text, err := fs.ReadFile(set, file)
	if err != nil {
		return err
	}
	// Pass no arguments: with some, drivers accept only one statement.
	if _, err := tx.Tx.ExecContext(ctx, s.d.schema(string(text))); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return nil
}
