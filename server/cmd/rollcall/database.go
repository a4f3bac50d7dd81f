package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/sqlstore"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/postgres"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/sqlite"
)

// database is a parsed --database.
type database struct {
	path string // path of the SQLite file, "" for PostgreSQL
	url  string // URL of the PostgreSQL database, "" for SQLite
	name string // without the password
}

// parseDatabase parses the value of --database. Errors do not show the value, which may hold a password.
func parseDatabase(text string) (database, error) {
	scheme, rest, found := strings.Cut(text, ":")
	switch {
	case found && scheme == "sqlite":
		path, err := sqlitePath(rest)
		return database{path: path, name: "sqlite:" + path}, err
	case found && (scheme == "postgres" || scheme == "postgresql") && strings.HasPrefix(rest, "//"):
		config, err := postgres.ParseURL(text)
		if err != nil {
			return database{}, usagef("--database: %s", strings.TrimPrefix(err.Error(), "postgres: "))
		}
		return database{url: text, name: "postgres://" + postgres.Name(config)}, nil
	}
	return database{}, usagef("--database: must begin with sqlite: or postgres://")
}

func sqlitePath(path string) (string, error) {
	switch {
	case path == "":
		return "", usagef("--database: the path is missing, write sqlite:PATH")
	case path == ":memory:":
		return "", usagef("--database: a database in memory would be lost with the process, write sqlite:PATH")
	case strings.HasPrefix(path, "//") && !strings.HasPrefix(path, "///"):
		return "", usagef("--database: write sqlite:PATH, without //")
	}
	return filepath.Clean(path), nil
}

// String names the database without its password.
func (d database) String() string { return d.name }

// exposed returns the files of an SQLite database that other users of the machine can read or write.
func (d database) exposed() []string {
	var files []string
	for _, suffix := range []string{"", "-wal", "-shm"} {
		info, err := os.Stat(d.path + suffix)
		if d.path != "" && runtime.GOOS != "windows" && err == nil && info.Mode().Perm()&0o007 != 0 {
			files = append(files, d.path+suffix)
		}
	}
	return files
}

// reason returns the cause of a file system error, without the path.
func reason(err error) error {
	if path, ok := errors.AsType[*fs.PathError](err); ok {
		return path.Err
	}
	return err
}

// explain adds the database's name to errors of the database, in the words of its package. It returns others unchanged.
func (d database) explain(err error) error {
	text := sqlite.Explain(err)
	if d.url != "" {
		text = postgres.Explain(err)
	}
	switch {
	case err == nil:
		return nil
	case errors.Is(err, sqlstore.ErrNewerSchema):
		return fmt.Errorf("database %s: it belongs to a newer version of rollcall than %s; upgrade rollcall", d, versionNumber(buildInfo()))
	case text != "":
		return fmt.Errorf("database %s: %s", d, text)
	case errors.Is(err, checks.ErrUnavailable), errors.Is(err, sqlstore.ErrOldServer), errors.Is(err, sqlstore.ErrEncoding):
		return fmt.Errorf("database %s: %w", d, err)
	}
	return err
}

// mustExist refuses an SQLite file that does not exist.
func (d database) mustExist() error {
	if _, err := os.Stat(d.path); d.path != "" && errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("database %s: no such file; rollcall serve or rollcall migrate creates it", d)
	}
	return nil
}

// withStore opens the database, migrates it, runs fn with a store on it, and closes it. It creates a missing SQLite file
// if create is set.
func (d database) withStore(ctx context.Context, create bool, fn func(store *sqlstore.Store) error) error {
	if !create {
		if err := d.mustExist(); err != nil {
			return err
		}
	}
	return d.withOpen(ctx, d.open, fn)
}

// open opens the database and migrates it.
func (d database) open(ctx context.Context) (*sqlstore.Store, error) {
	if d.url != "" {
		return postgres.Open(ctx, d.url)
	}
	return sqlite.Open(ctx, d.path)
}

// withOpen runs fn with the store that open returns, and closes it.
func (d database) withOpen(ctx context.Context, open func(context.Context) (*sqlstore.Store, error), fn func(*sqlstore.Store) error) error {
	store, err := open(ctx)
	if err != nil {
		return d.explain(err)
	}
	defer store.Close()
	return d.explain(fn(store))
}
