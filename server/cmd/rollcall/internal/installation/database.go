// Package installation is what serve and the commands on its database share: the database, the servers that run on it, and the
// flags with which alerts are sent.
package installation

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"
	"github.com/uptrace/bun/dialect/sqlitedialect"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/sqlstore"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/postgres"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/sqlite"
	"github.com/rollcall-dev/rollcall/server/cmd/rollcall/internal/console"
)

// Database is a parsed --database.
type Database struct {
	Path string // path of the SQLite file, "" for PostgreSQL
	URL  string // URL of the PostgreSQL database, "" for SQLite
	name string // without the password
}

// ParseDatabase parses the value of --database. Errors do not show the value, which may hold a password.
func ParseDatabase(text string) (Database, error) {
	scheme, rest, found := strings.Cut(text, ":")
	switch {
	case found && scheme == "sqlite":
		path, err := sqlitePath(rest)
		return Database{Path: path, name: "sqlite:" + path}, err
	case found && (scheme == "postgres" || scheme == "postgresql") && strings.HasPrefix(rest, "//"):
		name, err := postgres.Name(text)
		if err != nil {
			return Database{}, console.Usagef("--database: %s", strings.TrimPrefix(err.Error(), "postgres: "))
		}
		return Database{URL: text, name: "postgres://" + name}, nil
	}
	return Database{}, console.Usagef("--database: must begin with sqlite: or postgres://")
}

func sqlitePath(path string) (string, error) {
	switch {
	case path == "":
		return "", console.Usagef("--database: the path is missing, write sqlite:PATH")
	case path == ":memory:":
		return "", console.Usagef("--database: a database in memory would be lost with the process, write sqlite:PATH")
	case strings.HasPrefix(path, "//") && !strings.HasPrefix(path, "///"):
		return "", console.Usagef("--database: write sqlite:PATH, without //")
	}
	return filepath.Clean(path), nil
}

// String names the database without its password.
func (d Database) String() string { return d.name }

// Exposed returns the files of an SQLite database that other users of the machine can read or write.
func (d Database) Exposed() []string {
	var files []string
	for _, suffix := range []string{"", "-wal", "-shm", keySuffix} {
		info, err := os.Stat(d.Path + suffix)
		if d.Path != "" && runtime.GOOS != "windows" && err == nil && info.Mode().Perm()&0o007 != 0 {
			files = append(files, d.Path+suffix)
		}
	}
	return files
}

// keySuffix ends the name of the file with the key that encrypts secrets in an SQLite database. It is no part of a backup.
const keySuffix = ".key"

// KeyFile returns the path of the key that encrypts secrets in an SQLite database, or "" for PostgreSQL.
func (d Database) KeyFile() string {
	if d.Path == "" {
		return ""
	}
	return d.Path + keySuffix
}

// Key reads KeyFile, or else creates it if create is set. It returns "" if there is none.
func (d Database) Key(create bool) (string, error) {
	file := d.KeyFile()
	if file == "" {
		return "", nil
	}
	key, err := console.ReadSecret(file)
	if !errors.Is(err, fs.ErrNotExist) || !create {
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		return key, err
	}
	// Another server may create it at once: the file gets its name with its content, and only the first one does.
	draft, err := os.CreateTemp(filepath.Dir(file), filepath.Base(file)+".*.tmp") // for its owner alone
	if err != nil {
		return "", err
	}
	defer os.Remove(draft.Name())
	_, err = fmt.Fprintln(draft, rand.Text()+rand.Text())
	if err = cmp.Or(err, draft.Sync(), draft.Close()); err != nil {
		return "", err
	}
	err = os.Link(draft.Name(), file)
	if err != nil && !errors.Is(err, fs.ErrExist) { // not every file system has links
		err = os.Rename(draft.Name(), file)
	}
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return "", err
	}
	if dir, err := os.Open(filepath.Dir(file)); err == nil { // a power failure must not lose the name
		_ = dir.Sync() // not every system can
		_ = dir.Close()
	}
	return console.ReadSecret(file)
}

// Reason returns the cause of a file system error, without the path.
func Reason(err error) error {
	if path, ok := errors.AsType[*fs.PathError](err); ok {
		return path.Err
	}
	return err
}

// Explain adds the database's name to errors of the database, in the words of its package. It returns others unchanged.
func (d Database) Explain(err error) error {
	text := sqlite.Explain(err)
	if d.URL != "" {
		text = postgres.Explain(err)
	}
	switch {
	case err == nil:
		return nil
	case errors.Is(err, sqlstore.ErrNewerSchema):
		return fmt.Errorf("database %s: a newer version of rollcall has migrated this database; upgrade rollcall, which is %s here",
			d, console.VersionNumber(console.BuildInfo()))
	case text != "":
		return fmt.Errorf("database %s: %s", d, text)
	case errors.Is(err, checks.ErrUnavailable), errors.Is(err, sqlstore.ErrOldServer), errors.Is(err, sqlstore.ErrEncoding),
		errors.Is(err, sqlstore.ErrUnreleased):
		return fmt.Errorf("database %s: %w", d, err)
	}
	return err
}

// MustExist refuses an SQLite file that does not exist.
func (d Database) MustExist() error {
	if _, err := os.Stat(d.Path); d.Path != "" && errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("database %s: no such file; rollcall serve or rollcall migrate creates it", d)
	}
	return nil
}

// WithStore opens the database, migrates it, runs fn with a store on it, and closes it. It creates a missing SQLite file
// if create is set, and refuses a database that a newer version has migrated.
func (d Database) WithStore(ctx context.Context, create bool, fn func(store *sqlstore.Store) error) error {
	if !create {
		if err := d.MustExist(); err != nil {
			return err
		}
	}
	return d.WithOpen(ctx, d.Open, func(store *sqlstore.Store) error {
		if store.Contract().(interface{ Newer() bool }).Newer() {
			return sqlstore.ErrNewerSchema
		}
		return fn(store)
	})
}

// Peek runs fn with a store on the database as it is: it neither creates nor migrates it.
func (d Database) Peek(ctx context.Context, fn func(store *sqlstore.Store) error) error {
	if err := d.MustExist(); err != nil {
		return err
	}
	open := func() (*bun.DB, error) {
		db, err := sqlite.OpenDB(ctx, d.Path)
		return bun.NewDB(db, sqlitedialect.New()), err
	}
	if d.URL != "" {
		open = func() (*bun.DB, error) {
			db, err := postgres.OpenDB(d.URL)
			return bun.NewDB(db, pgdialect.New()), err
		}
	}
	db, err := open()
	if err != nil {
		return err
	}
	defer db.Close()
	store, err := sqlstore.New(db)
	if err != nil {
		return err
	}
	defer store.Close()
	return fn(store)
}

// Open opens the database and migrates it.
func (d Database) Open(ctx context.Context) (*sqlstore.Store, error) {
	if d.URL != "" {
		return postgres.Open(ctx, d.URL)
	}
	return sqlite.Open(ctx, d.Path)
}

// WithOpen runs fn with the store that open returns, and closes it.
func (d Database) WithOpen(ctx context.Context, open func(context.Context) (*sqlstore.Store, error), fn func(*sqlstore.Store) error) error {
	store, err := open(ctx)
	if err != nil {
		return d.Explain(err)
	}
	defer store.Close()
	return d.Explain(fn(store))
}
