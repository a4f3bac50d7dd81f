package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/sqlitedialect"
	"modernc.org/sqlite"

	"github.com/rollcall-dev/rollcall/checks/internal/store"
	"github.com/rollcall-dev/rollcall/checks/sqlstore"
)

// Memory is the path of a database in memory, for tests and for programs that need no durability. It lasts until the
// store, or the pool of [OpenDB], is closed. Its pool has a single connection, to which it belongs.
const Memory = ":memory:"

const (
	// busyTimeout is how long a statement waits for another process to finish writing to the same file.
	busyTimeout = 10 * time.Second
	// maxConns bounds the concurrent statements. Only one can write at a time.
	maxConns = 8
)

// Open opens the store in an SQLite file, which it creates if there is none, and migrates it. Close the store when
// Monitor.Stop has returned. The path may contain any character. Only the owner can read a new file, because it will hold
// the output of jobs. A file that root creates belongs to the owner of its directory.
//
// Open fails if the path is a directory or another kind of file, if its directory does not exist, if the file is
// read-only or locked by another process for 10 seconds, or with [sqlstore.ErrNewerSchema] if this version cannot work with the
// tables. The path [Memory] opens a new database in memory.
func Open(ctx context.Context, path string) (*sqlstore.Store, error) {
	db, err := OpenDB(ctx, path)
	if err != nil {
		return nil, err
	}
	opened, err := sqlstore.Open(ctx, bun.NewDB(db, sqlitedialect.New()))
	if err != nil {
		return nil, explained(path, errors.Join(err, db.Close()))
	}
	opened.Contract().(interface{ Own() }).Own()
	return opened, nil
}

// OpenDB opens an SQLite file as [Open] does, but neither migrates it nor makes a store. It is for programs that keep
// tables of their own in the file: pass the pool to [sqlstore.Open] with bun's dialect sqlitedialect, and close it at the
// end.
//
// Each connection has a busy timeout of 10 seconds, write-ahead logging, synchronous=FULL, foreign keys, checkpoints
// after 64 MB of log and 2 MB of page cache; a transaction takes the write lock when it begins. The pool has at most
// 8 connections. A store gives the one that it writes with 32 MB of page cache.
func OpenDB(ctx context.Context, path string) (*sql.DB, error) { return openDB(ctx, path, busyTimeout) }

func openDB(ctx context.Context, path string, busy time.Duration) (*sql.DB, error) {
	if path == Memory {
		return openMemory(ctx)
	}
	if err := prepareFile(path); err != nil {
		return nil, err
	}
	// The pool opens connections later too, when the working directory may be another.
	file, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	known, err := os.Stat(file)
	if err != nil {
		return nil, err
	}
	toPath, err := sqlite.NewConnector(dsn(file, busy))
	if err != nil {
		return nil, err
	}
	db := sql.OpenDB(&connector{toPath, file, known})
	db.SetMaxOpenConns(maxConns)
	db.SetMaxIdleConns(maxConns)
	if err := connect(ctx, db, busy); err != nil {
		return nil, errors.Join(explained(path, err), db.Close())
	}
	return db, nil
}

// connector opens connections to the file that was there when the pool was opened. If somebody has replaced or removed that since,
// it opens none. All that one wrote to another file would be gone once the right file is back. Even one that only opened and closed
// another file would take the log away from the connections that are open: SQLite finds it by the path, and believes that nobody
// else has that file open.
type connector struct {
	driver.Connector
	path  string
	known os.FileInfo
}

func (c *connector) Connect(ctx context.Context) (driver.Conn, error) {
	if err := c.inPlace(); err != nil {
		return nil, err
	}
	conn, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	if err := c.inPlace(); err != nil { // it was replaced just now
		return nil, errors.Join(err, conn.Close())
	}
	return conn, nil
}

// inPlace returns [store.ErrReplaced] if another file, or none, is at the path.
func (c *connector) inPlace() error {
	info, err := os.Stat(c.path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !os.SameFile(info, c.known) {
		return &fileError{path: c.path, reason: strings.TrimPrefix(store.ErrReplaced.Error(), "the file "), err: store.ErrReplaced}
	}
	return nil
}

func openMemory(ctx context.Context) (*sql.DB, error) {
	db, err := sql.Open("sqlite", "file::memory:?_foreign_keys=1&_txlock=immediate")
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	if err := db.PingContext(ctx); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

// prepareFile creates the file if it does not exist. SQLite gives its -wal and -shm files the same permissions and, for
// root, the same owner.
func prepareFile(path string) error {
	if path == "" {
		return errors.New("sqlite: the path is empty")
	}
	info, err := os.Stat(path)
	switch {
	case err == nil && info.IsDir():
		return &fileError{path: path, reason: "is a directory"}
	case err == nil && !info.Mode().IsRegular():
		return &fileError{path: path, reason: "is not a regular file"}
	case err == nil:
		return nil
	case !errors.Is(err, fs.ErrNotExist):
		return &fileError{path: path, reason: "cannot be opened: " + cause(err).Error(), err: err}
	}
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return &fileError{path: path, reason: "cannot be created: " + cause(err).Error(), err: err}
	}
	giveToOwnerOfDirectory(file)
	return file.Close()
}

// cause returns the cause of a file system error, without the path.
func cause(err error) error {
	if path, ok := errors.AsType[*fs.PathError](err); ok {
		return path.Err
	}
	return err
}

// dsn returns the data source name of a file with an absolute path.
func dsn(path string, busy time.Duration) string {
	if filepath.VolumeName(path) != "" { // on Windows
		path = "/" + path
	}
	path = filepath.ToSlash(path)
	query := url.Values{
		"_busy_timeout": {fmt.Sprint(busy.Milliseconds())},
		// Readers and the writer work at the same time.
		"_journal_mode": {"WAL"},
		// Anything less can lose acknowledged pings in a power failure.
		"_synchronous":  {"FULL"},
		"_foreign_keys": {"1"},
		// Or a connection would create the file again after somebody has removed it; see prepareFile.
		"mode": {"rw"},
		// The store's transactions write. The driver applies this to explicit transactions only, so reads take no lock.
		"_txlock": {"immediate"},
		// In pages of 4 kB. Late checkpoints write fewer pages, because pings change the same ones again and again.
		"_pragma": {"wal_autocheckpoint(16000)", "cache_size(-2000)"},
	}
	return "file:" + (&url.URL{Path: path}).EscapedPath() + "?" + query.Encode()
}

// connect opens the first connection. It retries while the file is busy, because SQLite itself does not wait if two
// processes turn on write-ahead logging at once.
func connect(ctx context.Context, db *sql.DB, limit time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for {
		err := db.PingContext(ctx)
		if code, ok := codeOf(err); !ok || code != busy {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(20 * time.Millisecond):
		}
	}
}
