package sqlstore

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync/atomic"
	"time"

	"github.com/uptrace/bun"

	"github.com/rollcall-dev/rollcall/checks/internal/store"
)

//go:embed migrations/*.sql
var migrations embed.FS

const createSchemaTable = "CREATE TABLE IF NOT EXISTS rollcall_schema (version BIGINT NOT NULL)"

// ErrNewerSchema means that a newer version of Rollcall has migrated the database, and this one cannot work with it any more.
var ErrNewerSchema = store.ErrNewer

// schema is the version of the database's schema.
type schema struct {
	db    *sql.DB
	known atomic.Bool // it was newer when it was last read
}

const readVersion = "SELECT coalesce(max(version), 0) FROM rollcall_schema"

// newest returns the version that this program migrates to.
func newest() int {
	files, _ := fs.Glob(migrations, "migrations/*.sql") // fails only for a bad pattern
	return len(files)
}

// read returns the version, and notes whether it is newer than this program's.
func (s *schema) read(ctx context.Context) (version int, err error) {
	if err = s.db.QueryRowContext(ctx, readVersion).Scan(&version); err == nil {
		s.known.Store(version > newest())
	}
	return version, err
}

// newer reports whether the version is newer than this program's. If it cannot be read, what was noted counts. Call it after a
// failure and outside of a transaction, which may hold the only connection.
func (s *schema) newer() bool {
	ctx, cancel := context.WithTimeout(context.Background(), schemaTimeout)
	defer cancel()
	_, _ = s.read(ctx)
	return s.known.Load()
}

// schemaTimeout bounds how long a failure waits for its explanation.
const schemaTimeout = time.Second

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
		err = s.prepareUse(ctx)
	}
	return before, after, s.translate(err)
}

// prepareUse reads what the store needs to know of a migrated database.
func (s *database) prepareUse(ctx context.Context) error {
	if err := s.readLayout(ctx); err != nil {
		return err
	}
	if err := s.noteFile(ctx); err != nil {
		return err
	}
	s.compile(ctx)
	return nil
}

// open migrates the database. A newer schema is left as it is, and is no error if this version can record pings in it: newer
// versions only add to what there is, unless they say so.
func (s *database) open(ctx context.Context) (before, after int, err error) {
	before, after, err = s.migrateFiles(ctx, migrations)
	if !errors.Is(err, ErrNewerSchema) {
		return before, after, err
	}
	s.schema.known.Store(true)
	if err = s.prepareUse(ctx); err == nil {
		err = s.Update(ctx, func(ctx context.Context, tx store.Tx) error {
			if err := tx.(*transaction).tryPing(ctx); err != nil {
				return err
			}
			return errTried
		})
	}
	switch err = s.translate(err); {
	case errors.Is(err, errTried):
		return before, before, nil
	case refused(err):
		err = &partError{ErrNewerSchema, err}
	}
	return before, before, err
}

// errTried ends a transaction that was only a test.
var errTried = errors.New("sqlstore: it works")

// schemaVersion returns the version of the database's schema, 0 for an empty database.
func (s *database) schemaVersion(ctx context.Context, tx bun.Tx) (version int, err error) {
	if err := s.d.createSchemaTable(ctx, tx); err != nil {
		return 0, err
	}
	err = tx.Tx.QueryRowContext(ctx, readVersion).Scan(&version)
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
