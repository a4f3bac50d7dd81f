package sqlstore

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/uptrace/bun"
)

//go:embed migrations/*.sql
var migrations embed.FS

const createSchemaTable = "CREATE TABLE IF NOT EXISTS rollcall_schema (version BIGINT NOT NULL)"

// ErrNewerSchema means that a newer version of Rollcall has migrated the database.
var ErrNewerSchema = errors.New("sqlstore: the database needs a newer version of Rollcall")

// migrateFiles applies the migrations in set that the database lacks.
func (s *database) migrateFiles(ctx context.Context, set fs.FS) (before, after int, err error) {
	files, err := fs.Glob(set, "migrations/*.sql") // sorted by name, so by number
	if err != nil {
		return 0, 0, err
	}
	if err := s.checkServer(ctx); err != nil {
		return 0, 0, err
	}
	err = s.changeSchema(ctx, func(ctx context.Context, tx bun.Tx) error {
		if before, err = s.schemaVersion(ctx, tx); err != nil {
			return err
		}
		if before > len(files) {
			return fmt.Errorf("%w: its schema has version %d, this one knows up to %d", ErrNewerSchema, before, len(files))
		}
		after = len(files)
		if before == after {
			return nil
		}
		citus, err := s.prepareCitus(ctx, tx, before)
		if err == nil && !citus { // there, LOCK TABLE would reach the workers by connections of its own
			err = s.lockTables(ctx, tx)
		}
		if err != nil {
			return err
		}
		for _, file := range files[before:] {
			if err := s.migrate(ctx, tx, set, file); err != nil {
				return err
			}
		}
		_, err = tx.NewRaw("DELETE FROM rollcall_schema; INSERT INTO rollcall_schema (version) VALUES (?)", after).Exec(ctx)
		return err
	})
	if err == nil {
		err = s.readLayout(ctx)
	}
	if err == nil {
		err = s.noteFile(ctx)
	}
	if err == nil {
		s.compile(ctx)
	}
	return before, after, translate(err)
}

// schemaVersion returns the version of the database's schema, 0 for an empty database.
func (s *database) schemaVersion(ctx context.Context, tx bun.Tx) (version int, err error) {
	if err := s.d.createSchemaTable(ctx, tx); err != nil {
		return 0, err
	}
	err = tx.Tx.QueryRowContext(ctx, "SELECT coalesce(max(version), 0) FROM rollcall_schema").Scan(&version)
	return version, err
}

func (s *database) migrate(ctx context.Context, tx bun.Tx, set fs.FS, file string) error {
	text, err := fs.ReadFile(set, file)
	if err != nil {
		return err
	}
	if convert := conversions[file]; convert != nil {
		if err := convert(ctx, s.d, tx); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
	}
	// One after the other, because Citus changes distributed tables only by a statement alone. Pass no arguments: with some,
	// drivers accept only one statement of a line.
	for statement := range strings.SplitSeq(s.d.schema(string(text)), ";\n") {
		if _, err := tx.Tx.ExecContext(ctx, statement); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
	}
	return nil
}
