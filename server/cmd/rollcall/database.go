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
	// connectTimeout is how long to wait for a connection to PostgreSQL, unless the URL sets connect_timeout.
	connectTimeout = 10 * time.Second
	// busyTimeout is how long a statement waits for another process to finish writing to the same SQLite file.
	busyTimeout = 10 * time.Second
	// sqliteConns bounds the concurrent statements on SQLite. Only one can write at a time.
	sqliteConns = 8
	// postgresConns leaves room for several servers within the 100 connections of a default PostgreSQL.
	postgresConns = 20
	// probeIdle is the idle time after which a connection to PostgreSQL is probed before its next use.
	probeIdle = 50 * time.Millisecond
)

// database is a parsed --database.
type database struct {
	path     string          // path of the SQLite file, "" for PostgreSQL
	postgres *pgx.ConnConfig // nil for SQLite
	busy     time.Duration   // SQLite's busy timeout
}

// parseDatabase parses the value of --database. Errors do not show the value, which may hold a password.
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
		return nil, usagef("--database: is not a valid URL; in a user name or password, characters such as / ? # @ & %% must be percent-encoded")
	}
	config, err := pgx.ParseConfig(text)
	if err != nil {
		reason := "is not a valid PostgreSQL URL"
		if cause := errors.Unwrap(err); cause != nil { // err itself contains the URL
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

// unambiguous reports whether all parsers split a URL into the same parts. Otherwise an error about a host or a parameter
// could show a piece of the password.
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

// open connects to the database. It creates a missing SQLite file if create is set.
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
	// A restart of PostgreSQL leaves dead connections in the pool. By default the driver only probes connections that
	// were idle for a second, and a restart can be faster.
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

// prepareFile creates the SQLite file. Only its owner can read it, because it holds the output of jobs. SQLite gives its
// -wal and -shm files the same permissions.
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
		return fmt.Errorf("database %s: no such file; rollcall serve or rollcall migrate creates it", d)
	}
	file, err := os.OpenFile(d.path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return fmt.Errorf("database %s: cannot be created: %w", d, reason(err))
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

// reason returns the cause of a file system error, without the path.
func reason(err error) error {
	if path, ok := errors.AsType[*fs.PathError](err); ok {
		return path.Err
	}
	return err
}

// ping opens the first connection. It retries while the file is busy, because SQLite itself does not wait if two
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

// Primary result codes of SQLite that explain translates.
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

// explain adds the database's name to its errors and translates SQLite's codes. It returns any other error unchanged.
func (d database) explain(err error) error {
	if errors.Is(err, sqlstore.ErrNewerSchema) {
		return fmt.Errorf("database %s: it belongs to a newer version of rollcall than %s; upgrade rollcall", d, version())
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
	// The driver reports its attempts with and without TLS. The first is enough.
	if lookup, ok := errors.AsType[*net.DNSError](err); ok {
		err = lookup
	} else if network, ok := errors.AsType[*net.OpError](err); ok {
		err = network
	}
	return fmt.Errorf("database %s: %w", d, err)
}

// withStore opens the database, runs fn with a store on it, and closes it.
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
