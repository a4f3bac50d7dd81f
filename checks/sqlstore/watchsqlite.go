package sqlstore

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"

	"github.com/uptrace/bun"
)

// sqliteWriter is the connection that writes while somebody listens. SQLite counts the commits of other connections for
// it, so that the store can tell them from its own. Store.writing guards it.
type sqliteWriter struct {
	conn     *bun.Conn // nil if nobody listens or the connection was lost
	users    int       // calls of Listen
	reserved int       // how often a connection was reserved
}

// dataVersion changes when another connection than the reserved one has committed.
type dataVersion struct {
	reserved int // numbers of different connections cannot be compared
	number   int64
}

// runInTx runs fn in a transaction: on SQLite over the reserved connection, if there is one.
func (s *database) runInTx(ctx context.Context, fn func(ctx context.Context, tx bun.Tx) error) error {
	if s.d.postgres || s.writer.conn == nil {
		return s.db.RunInTx(ctx, nil, fn)
	}
	err := s.writer.conn.RunInTx(ctx, nil, fn)
	if errors.Is(err, driver.ErrBadConn) || errors.Is(err, sql.ErrConnDone) {
		s.releaseWriter() // Listen reserves another
	}
	return err
}

// releaseWriter gives the reserved connection back to the pool. The caller holds Store.writing.
func (s *database) releaseWriter() {
	if s.writer.conn != nil {
		_ = s.writer.conn.Close()
		s.writer.conn = nil
	}
}

// inMemory reports whether the database is in memory, where its connection is the only one.
func (s *database) inMemory(ctx context.Context) (bool, error) {
	var file string
	err := s.db.DB.QueryRowContext(ctx, "SELECT file FROM pragma_database_list WHERE name = 'main'").Scan(&file)
	return file == "", err
}

// watchSQLite calls heard when other connections have committed. Nobody else has one to a database in memory.
func (s *database) watchSQLite(ctx context.Context, heard func(message string)) error {
	alone, err := s.inMemory(ctx)
	if err != nil {
		return err
	}
	if alone {
		<-ctx.Done()
		return ctx.Err()
	}
	s.writing <- struct{}{}
	s.writer.users++
	<-s.writing
	defer func() {
		s.writing <- struct{}{}
		if s.writer.users--; s.writer.users == 0 {
			s.releaseWriter()
		}
		<-s.writing
	}()
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

// dataVersion asks the connection that writes, which it reserves if necessary.
func (s *database) dataVersion(ctx context.Context) (v dataVersion, err error) {
	release, err := s.writeAlone(ctx)
	if err != nil {
		return v, err
	}
	defer release()
	const query = "PRAGMA data_version"
	if s.db.DB.Stats().MaxOpenConnections == 1 { // it is the one that writes, and readers need it too
		err = s.db.DB.QueryRowContext(ctx, query).Scan(&v.number)
		return v, err
	}
	if s.writer.conn == nil {
		conn, err := s.db.Conn(ctx)
		if err != nil {
			return v, err
		}
		s.writer.conn = &conn
		s.writer.reserved++
	}
	v.reserved = s.writer.reserved
	if err = s.writer.conn.QueryRowContext(ctx, query).Scan(&v.number); err != nil {
		s.releaseWriter()
	}
	return v, err
}
