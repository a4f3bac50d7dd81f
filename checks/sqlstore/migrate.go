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

// ErrNewerSchema says that the database was written by a newer version of Rollcall than this one.
var ErrNewerSchema = errors.New("sqlstore: the database has a newer schema than this version of Rollcall knows")

// Migrate brings the schema up to date. A program that embeds Rollcall calls it at each start, before anything else;
// when there is nothing to do, that is one short transaction.
//
// All steps are made in one transaction and under a lock: a crash leaves the schema and the data as they were, and of
// several programs that start at once one does the work while the others wait for it, for as long as ctx lasts (on
// SQLite, for its busy timeout). Only tables with the prefix rollcall_ are touched. The user of the database needs
// the right to create and to alter tables in its schema; a program whose user has not runs the command
// "rollcall migrate" as another before it is upgraded, and Migrate then finds nothing to do.
//
// There is no way back: the error is [ErrNewerSchema] when this version is older than the database, which is then left
// alone. To return to an older version, restore the backup that was made before the upgrade. A program of the older
// version that runs meanwhile goes on working when the steps have only added tables and columns; the changelog tells
// when they do more, and it must be stopped first.
//
// Other errors: [ErrOldServer], monitor.ErrUnavailable, and those of the driver.
func (s *Store) Migrate(ctx context.Context) error {
	_, _, err := s.MigrateFrom(ctx)
	return err
}

// MigrateFrom does what [Store.Migrate] does, and returns the versions of the schema before and after; 0 is an
// empty database.
func (s *Store) MigrateFrom(ctx context.Context) (before, after int, err error) {
	return s.migrateFiles(ctx, migrations)
}

// migrateFiles applies those of a set of migrations that the database has not had yet.
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
			return fmt.Errorf("%w: %d, the newest known is %d", ErrNewerSchema, before, len(files))
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
	// Without arguments, so that drivers take several statements in one text.
	if _, err := tx.Tx.ExecContext(ctx, s.d.schema(string(text))); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return nil
}
