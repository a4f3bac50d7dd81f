package sqlstore

import (
	"context"
	"database/sql"
	"sync"
)

// statements are those of the ping path. On SQLite they stay prepared, because parsing them takes longer than running
// them; PostgreSQL's drivers keep them themselves.
type statements struct {
	record, readAny, readByKey string

	mu                            sync.Mutex
	lock, newest, read, save, log *sql.Stmt // prepared by the first batch
}

// prepare prepares the statements on SQLite. It must not be called within a transaction: with a pool of one
// connection it would wait for itself.
func (s *Store) prepare(ctx context.Context) error {
	prepared := &s.statements
	prepared.mu.Lock()
	defer prepared.mu.Unlock()
	for _, p := range []struct {
		stmt  **sql.Stmt
		query string
	}{
		{&prepared.lock, lockSQLite},
		{&prepared.newest, newestID("rollcall_pings")},
		{&prepared.read, s.statements.readAny},
		{&prepared.save, updateEach("rollcall_states", stateUpdate) + " AND revision = ?"},
		{&prepared.log, insertEach("rollcall_pings", pingInsert)},
	} {
		if *p.stmt != nil {
			continue
		}
		stmt, err := s.db.DB.PrepareContext(ctx, p.query)
		if err != nil {
			return err
		}
		*p.stmt = stmt
	}
	return nil
}
