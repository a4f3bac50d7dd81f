package sqlstore

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strconv"
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

// ErrUnreleased means that a build from before version 0.1.0 has created the database, which stays as it is. The text of the error names
// the last commit that can open it.
var ErrUnreleased = errors.New("a build from before version 0.1.0 has created this database")

// unreleased has the last commit that could open each of them: one with a version below before. Whoever changes the first migration
// ahead of version 0.1.0 gives its file the next number, and adds a line with that number and the last commit before the change.
var unreleased = []struct {
	before int
	commit string
}{
	{100, "65c3c07bd9553ed0bda24380fa726db73f25c545"},
	{101, "b1b168f218eb583bb88f58834bec0fd8bab8a061"},
}

// checkReleased refuses the schema of a build from before version 0.1.0. Version 0 is an empty database.
func checkReleased(version int) error {
	for _, u := range unreleased {
		if version > 0 && version < u.before {
			return fmt.Errorf("%w: its schema has version %d, and commit %s is the last one that can open it; run rollcall at that commit to copy "+
				`its projects, as "Moving to PostgreSQL or to another server" in server/BACKUP.md says, or begin with a new database`,
				ErrUnreleased, version, u.commit)
		}
	}
	return nil
}

// schema is the version of the database's schema.
type schema struct {
	db    *sql.DB
	known atomic.Bool // it was newer when it was last read
}

const readVersion = "SELECT coalesce(max(version), 0) FROM rollcall_schema"

// newest returns the version that this program migrates to.
func newest() int {
	files, _ := fs.Glob(migrations, migrationFiles) // fails only for a bad pattern
	return versionOf(files[len(files)-1])
}

// migrationFiles matches the names of migrations. Sorted by name, they are sorted by version.
const migrationFiles = "migrations/*.sql"

// versionOf returns the version of the schema after a migration, with which its name begins.
func versionOf(file string) int {
	number, _, _ := strings.Cut(path.Base(file), "_")
	version, _ := strconv.Atoi(number) // TestMigrationsOnlyAdd reads the names
	return version
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
	files, err := fs.Glob(set, migrationFiles)
	if err != nil {
		return 0, 0, err
	}
	newest := versionOf(files[len(files)-1])
	if err := s.checkServer(ctx); err != nil {
		return 0, 0, err
	}
	err = s.changeSchema(ctx, func(ctx context.Context, tx bun.Tx) error {
		if before, err = s.schemaVersion(ctx, tx); err != nil {
			return err
		}
		if before > newest {
			return fmt.Errorf("%w: its schema has version %d, this one knows up to %d", ErrNewerSchema, before, newest)
		}
		if after = newest; before == after {
			return nil
		}
		if err := checkReleased(before); err != nil {
			return err
		}
		citus, err := s.prepareCitus(ctx, tx, before)
		if err == nil && !citus { // there, LOCK TABLE would reach the workers by connections of its own
			err = s.lockTables(ctx, tx)
		}
		if err != nil {
			return err
		}
		for _, file := range files {
			if versionOf(file) > before {
				if err := s.migrate(ctx, tx, set, file); err != nil {
					return err
				}
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
	// One after the other, because Citus changes distributed tables only by a statement alone. Pass no arguments: with some,
	// drivers accept only one statement of a line.
	for statement := range strings.SplitSeq(s.d.schema(string(text)), ";\n") {
		if _, err := tx.Tx.ExecContext(ctx, statement); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
	}
	return nil
}
