package sqlstore

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/uptrace/bun"
)

// sqliteWriter is the connection that writes to a file, if the pool has another for readers. SQLite counts the commits of other
// connections for it, so that the store can tell them from its own. Store.writing guards it.
type sqliteWriter struct {
	conn     *bun.Conn // nil if none is reserved, or it was lost
	reserved int       // how often a connection was reserved
	patience int       // the busy timeout of the pool, in milliseconds
	// held is what SQLite said last, as long as another process keeps its lock: what waits for the transaction that waits says it, too.
	held atomic.Pointer[error]
}

// dataVersion changes when another connection than the reserved one has committed.
type dataVersion struct {
	reserved int // numbers of different connections cannot be compared
	number   int64
}

// runInTx runs fn in a transaction: on an SQLite file over the connection that writes.
func (s *database) runInTx(ctx context.Context, fn func(ctx context.Context, tx bun.Tx) error) error {
	if s.file != nil && s.writer.conn == nil {
		if err := s.reserveWriter(ctx); err != nil {
			return err
		}
	}
	if s.writer.conn == nil {
		return s.db.RunInTx(ctx, nil, fn)
	}
	// If ctx could end this transaction, database/sql would roll it back beside the next one on the same connection.
	err := s.writer.conn.RunInTx(context.WithoutCancel(ctx), nil, func(_ context.Context, tx bun.Tx) error { return fn(ctx, tx) })
	if errors.Is(err, driver.ErrBadConn) || errors.Is(err, sql.ErrConnDone) {
		s.releaseWriter() // the next transaction reserves another
	}
	return err
}

// writerCache is the page cache of the connection that writes, in kB: pings change the same pages again and again. The others need
// little, because a commit of the writer empties their caches, and the system keeps the file in memory.
const writerCache = 32000

// busyStep is the busy timeout of the connection that writes, in milliseconds. SQLite heeds no context while it waits for another
// process, so Update waits in such steps, up to the busy timeout of the pool.
const busyStep = 100

// waits reports whether a transaction that began at an instant must be tried again, because another process writes. The caller holds
// Store.writing.
func (w *sqliteWriter) waits(err error, begin time.Time) bool {
	if w.conn == nil || !locked(err) {
		return false
	}
	w.held.Store(&err)
	return time.Since(begin) < time.Duration(w.patience)*time.Millisecond
}

// restTime is longer than the 25 ms that SQLite lets pass at most before it looks again whether another process still writes.
const restTime = 35 * time.Millisecond

// Rest leaves SQLite's lock alone for a moment: a process that writes without a break keeps it from all others.
func (s *database) Rest(ctx context.Context) {
	if s.file == nil {
		return
	}
	timer := time.NewTimer(restTime)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// reserveWriter takes a connection out of the pool, unless it is the only one. The caller holds Store.writing.
func (s *database) reserveWriter(ctx context.Context) error {
	if s.db.DB.Stats().MaxOpenConnections == 1 { // readers need it too
		return nil
	}
	conn, err := s.db.Conn(ctx)
	if err != nil {
		return err
	}
	err = conn.QueryRowContext(ctx, "PRAGMA busy_timeout").Scan(&s.writer.patience)
	if err == nil {
		_, err = conn.ExecContext(ctx, fmt.Sprintf("PRAGMA cache_size = %d; PRAGMA busy_timeout = %d", -writerCache, min(busyStep, s.writer.patience)))
	}
	if err != nil {
		return errors.Join(err, conn.Close())
	}
	s.writer.conn = &conn
	s.writer.reserved++
	return nil
}

// releaseWriter gives the reserved connection back to the pool. The caller holds Store.writing.
func (s *database) releaseWriter() {
	if s.writer.conn != nil {
		// A connection that fails here is broken, and leaves the pool.
		_, _ = s.writer.conn.ExecContext(context.Background(), fmt.Sprint("PRAGMA busy_timeout = ", s.writer.patience))
		_ = s.writer.conn.Close()
		s.writer.conn = nil
	}
}

// sqlitePath returns the path of the database, or "" if it is in memory, where its connection is the only one.
func (s *database) sqlitePath(ctx context.Context) (path string, err error) {
	err = s.db.DB.QueryRowContext(ctx, "SELECT file FROM pragma_database_list WHERE name = 'main'").Scan(&path)
	return path, err
}

// watchSQLite calls heard when other connections have committed. Nobody else has one to a database in memory.
func (s *database) watchSQLite(ctx context.Context, heard func(message string)) error {
	path, err := s.sqlitePath(ctx)
	if err != nil {
		return err
	}
	if path == "" {
		<-ctx.Done()
		return ctx.Err()
	}
	known := dataVersion{number: -1}
	look := func() error {
		version, err := s.dataVersion(ctx)
		if err == nil && version != known {
			known = version
			heard("")
		}
		return err
	}
	if err := look(); err != nil {
		return err
	}
	return poll(ctx, look)
}

// dataVersion asks the connection that writes.
func (s *database) dataVersion(ctx context.Context) (v dataVersion, err error) {
	release, err := s.writeAlone(ctx)
	if err != nil {
		return v, err
	}
	defer release()
	const query = "PRAGMA data_version"
	if s.writer.conn == nil {
		if err := s.reserveWriter(ctx); err != nil {
			return v, err
		}
	}
	if s.writer.conn == nil {
		err = s.db.DB.QueryRowContext(ctx, query).Scan(&v.number)
		return v, err
	}
	v.reserved = s.writer.reserved
	if err = s.writer.conn.QueryRowContext(ctx, query).Scan(&v.number); err != nil {
		s.releaseWriter()
	}
	return v, err
}
