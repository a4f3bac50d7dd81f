package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"
	"github.com/uptrace/bun/dialect/sqlitedialect"
	"modernc.org/sqlite"

	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/sqlstore"
)

const (
	// connectTimeout is how long PostgreSQL may take to answer, unless the URL says otherwise.
	connectTimeout = 10 * time.Second
	// busyTimeout is how long a statement waits for another process that writes to the same SQLite file.
	busyTimeout = 10 * time.Second
	// sqliteConns is how many statements may run at once on SQLite, where all but one of them read.
	sqliteConns = 8
	// postgresConns stays well below the 100 connections of a default PostgreSQL, so that several servers fit.
	postgresConns = 20
	// probeIdle is how long a connection to PostgreSQL must have been idle to be tested before it is used again. A busy
	// server tests none.
	probeIdle = 50 * time.Millisecond
)

// database is where the data are kept: a parsed --database.
type database struct {
	path     string          // of the SQLite file, or ""
	postgres *pgx.ConnConfig // or nil
	busy     time.Duration
}

// parseDatabase reads the value of --database. Its errors do not repeat the value, which may have a password.
func parseDatabase(text string) (database, error) {
	scheme, rest, found := strings.Cut(text, ":")
	switch {
	case found && scheme == "sqlite":
		path, err := sqlitePath(rest)
		return database{path: path, busy: busyTimeout}, err
	case found && (scheme == "postgres" || scheme == "postgresql") && strings.HasPrefix(rest, "//"):
		config, err := postgresConfig(text)
		return database{postgres: config}, err
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

func postgresConfig(text string) (*pgx.ConnConfig, error) {
	if !unambiguous(text) {
		return nil, usagef("--database: is not a valid URL; characters such as / ? # @ & %% in a user name or password must be percent-encoded")
	}
	config, err := pgx.ParseConfig(text)
	if err != nil {
		reason := "is not a valid PostgreSQL URL"
		if cause := errors.Unwrap(err); cause != nil { // without the URL, which err itself repeats
			reason += ": " + cause.Error()
		}
		return nil, usagef("--database: %s", reason)
	}
	if config.ConnectTimeout == 0 {
		config.ConnectTimeout = connectTimeout
	}
	if config.RuntimeParams["application_name"] == "" {
		config.RuntimeParams["application_name"] = "rollcall"
	}
	return config, nil
}

// unambiguous reports whether a URL has its parts where everyone sees them. Elsewhere a part of the password would be
// taken for that of a host or a parameter, and be shown by errors about those.
func unambiguous(text string) bool {
	u, err := url.Parse(text)
	if err != nil || u.Fragment != "" {
		return false
	}
	if at := strings.Count(text, "@"); at > 1 || at == 1 && u.User == nil {
		return false
	}
	for parameter := range strings.SplitSeq(u.RawQuery, "&") {
		if u.RawQuery != "" && !strings.Contains(parameter, "=") {
			return false
		}
	}
	return true
}

// String names the database without its password.
func (d database) String() string {
	if d.postgres == nil {
		return "sqlite:" + d.path
	}
	return fmt.Sprintf("postgres://%s:%d/%s", d.postgres.Host, d.postgres.Port, d.postgres.Database)
}

// open connects to the database. An SQLite file that is missing is made when create is set.
func (d database) open(ctx context.Context, create bool) (*bun.DB, error) {
	if d.postgres != nil {
		return d.openPostgres(ctx)
	}
	if err := d.prepareFile(create); err != nil {
		return nil, err
	}
	db, err := sql.Open("sqlite", sqlstore.SQLiteDSN(d.path, d.busy))
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(sqliteConns)
	db.SetMaxIdleConns(sqliteConns)
	if err := d.ping(ctx, db); err != nil {
		return nil, errors.Join(d.explain(err), db.Close())
	}
	return bun.NewDB(db, sqlitedialect.New()), nil
}

func (d database) openPostgres(ctx context.Context) (*bun.DB, error) {
	// After a restart of PostgreSQL all connections of the pool are dead. The driver asks after one that was idle for a
	// second; a restart can be faster than that.
	db := stdlib.OpenDB(*d.postgres, stdlib.OptionShouldPing(func(_ context.Context, p stdlib.ShouldPingParams) bool {
		return p.IdleDuration > probeIdle
	}))
	db.SetMaxOpenConns(postgresConns)
	db.SetMaxIdleConns(postgresConns)
	db.SetConnMaxIdleTime(5 * time.Minute)
	if err := db.PingContext(ctx); err != nil {
		return nil, errors.Join(d.explain(err), db.Close())
	}
	return bun.NewDB(db, pgdialect.New()), nil
}

// prepareFile makes the SQLite file, readable by its owner alone: it has the bodies of pings. SQLite gives the
// files beside it the same permissions.
func (d database) prepareFile(create bool) error {
	info, err := os.Stat(d.path)
	switch {
	case err == nil && info.IsDir():
		return fmt.Errorf("database %s: is a directory", d)
	case err == nil:
		return nil
	case !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("database %s: %w", d, reason(err))
	case !create:
		return fmt.Errorf("database %s: there is no such file; rollcall serve or rollcall migrate makes it", d)
	}
	file, err := os.OpenFile(d.path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return fmt.Errorf("database %s: cannot be made: %w", d, reason(err))
	}
	return file.Close()
}

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

// reason returns an error of the file system without the path, which the message has already.
func reason(err error) error {
	if path, ok := errors.AsType[*fs.PathError](err); ok {
		return path.Err
	}
	return err
}

// ping opens the first connection. It tries again while the file is busy: SQLite does not wait by itself when two
// processes turn on write-ahead logging at once.
func (d database) ping(ctx context.Context, db *sql.DB) error {
	ctx, cancel := context.WithTimeout(ctx, d.busy)
	defer cancel()
	for {
		err := db.PingContext(ctx)
		if code, ok := sqliteCode(err); !ok || code != sqliteBusy {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// SQLite's primary result codes that have a text of their own here.
const (
	sqliteBusy     = 5
	sqliteReadOnly = 8
	sqliteCorrupt  = 11
	sqliteFull     = 13
	sqliteCantOpen = 14
	sqliteNotADB   = 26
)

func sqliteCode(err error) (int, bool) {
	coded, ok := errors.AsType[*sqlite.Error](err)
	if !ok {
		return 0, false
	}
	return coded.Code() & 0xff, true
}

// explain says which database an error is about, and why in words, where the driver has only a code. An error that
// does not come from the database stays as it is.
func (d database) explain(err error) error {
	if errors.Is(err, sqlstore.ErrNewerSchema) {
		return fmt.Errorf("database %s: it belongs to a newer version of rollcall than %s", d, version())
	}
	if errors.Is(err, sqlstore.ErrOldServer) {
		return fmt.Errorf("database %s: %w", d, err)
	}
	if code, ok := sqliteCode(err); ok {
		texts := map[int]string{
			sqliteBusy:     "is locked by another process",
			sqliteReadOnly: "is read-only",
			sqliteCorrupt:  "is damaged",
			sqliteFull:     "the disk is full",
			sqliteCantOpen: "cannot be opened",
			sqliteNotADB:   "is not an SQLite database",
		}
		if text, ok := texts[code]; ok {
			return fmt.Errorf("database %s: %s", d, text)
		}
	}
	if answer, ok := errors.AsType[*pgconn.PgError](err); ok {
		return fmt.Errorf("database %s: %s", d, answer.Message)
	}
	if !errors.Is(err, monitor.ErrUnavailable) && !errors.As(err, new(*pgconn.ConnectError)) {
		return err
	}
	// The driver tells of every attempt, with TLS and without; the first is enough.
	if lookup, ok := errors.AsType[*net.DNSError](err); ok {
		err = lookup
	} else if network, ok := errors.AsType[*net.OpError](err); ok {
		err = network
	}
	return fmt.Errorf("database %s: %w", d, err)
}

// withStore runs fn with a store on the database, which is closed after that.
func (d database) withStore(ctx context.Context, create bool, fn func(store *sqlstore.Store) error) error {
	db, err := d.open(ctx, create)
	if err != nil {
		return err
	}
	defer db.Close()
	store, err := sqlstore.New(db)
	if err != nil {
		return err
	}
	if err := fn(store); err != nil {
		return d.explain(err)
	}
	return nil
}
