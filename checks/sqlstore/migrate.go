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

// Migrate brings the schema up to date, in one transaction and under a lock, so that a crash leaves the schema as
// it was and several programs may start at once. The error is [ErrNewerSchema] when this version is older than
// the database.
func (s *Store) Migrate(ctx context.Context) error {
	_, _, err := s.MigrateFrom(ctx)
	return err
}

// MigrateFrom does what [Store.Migrate] does, and returns the versions of the schema before and after; 0 is an
// empty database.
func (s *Store) MigrateFrom(ctx context.Context) (before, after int, err error) {
	files, err := fs.Glob(migrations, "migrations/*.sql") // sorted by name, so by number
	if err != nil {
		return 0, 0, err
	}
	err = s.db.RunInTx(ctx, nil, func(ctx context.Context, tx bun.Tx) error {
		if err := s.d.lockSchema(ctx, tx); err != nil {
			return err
		}
		if before, err = schemaVersion(ctx, tx); err != nil {
			return err
		}
		if before > len(files) {
			return fmt.Errorf("%w: %d, the newest known is %d", ErrNewerSchema, before, len(files))
		}
		for _, file := range files[before:] {
			if err := s.migrate(ctx, tx, file); err != nil {
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
func schemaVersion(ctx context.Context, tx bun.Tx) (version int, err error) {
	if _, err := tx.Tx.ExecContext(ctx, createSchemaTable); err != nil {
		return 0, err
	}
	err = tx.Tx.QueryRowContext(ctx, "SELECT coalesce(max(version), 0) FROM rollcall_schema").Scan(&version)
	return version, err
}

func (s *Store) migrate(ctx context.Context, tx bun.Tx, file string) error {
	text, err := fs.ReadFile(migrations, file)
	if err != nil {
		return err
	}
	// Without arguments, so that drivers take several statements in one text.
	if _, err := tx.Tx.ExecContext(ctx, s.d.schema(string(text))); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return nil
}
