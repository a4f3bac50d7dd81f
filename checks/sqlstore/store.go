package sqlstore

import (
	"context"
	"errors"

	"github.com/uptrace/bun"
)

// Store keeps projects, keys, checks, their logs, channels and deliveries in a database. Only a monitor reads and writes
// them: pass the store to monitor.New. It is safe for concurrent use.
type Store struct {
	database *database
	// before and after are the versions of the schema that Open found and left.
	before, after int
}

// Open returns a store on the program's own pool and migrates the database; see [Store.Migrate]. The program closes the
// pool after its last use of the store: [Store.Close] leaves it open.
//
// Bun's dialect, pgdialect or sqlitedialect, must be that of the database. The program may use the pool for its own
// tables. The package comment says which settings the pool needs.
func Open(ctx context.Context, db *bun.DB) (*Store, error) {
	s, err := New(db)
	if err != nil {
		return nil, err
	}
	if err := s.database.checkDialect(ctx); err != nil {
		return nil, err
	}
	if s.before, s.after, err = s.database.open(ctx); err != nil {
		return nil, err
	}
	return s, nil
}

// New is [Open] without a query: call [Store.Migrate] before you use the store.
func New(db *bun.DB) (*Store, error) {
	if db == nil || db.DB == nil {
		return nil, errors.New("sqlstore: the database is nil")
	}
	d, err := newDialect(db)
	if err != nil {
		return nil, err
	}
	s := &database{lookup: lookup{db, &schema{db: db.DB}}, db: db, d: d, writing: make(chan struct{}, 1), cache: cache{limit: maxCacheBytes}}
	s.place(plain{})
	return &Store{database: s}, nil
}

// Contract returns what a monitor calls. Its type is internal, and changes with every version.
func (s *Store) Contract() any {
	if s == nil || s.database == nil {
		return nil // as of an Open that failed; the monitor refuses it
	}
	return s.database
}

// Close ends the use of the store. If package sqlite or postgres opened the database, Close closes it; a pool that the
// program opened itself stays open. Call Monitor.Stop first.
func (s *Store) Close() error {
	s.database.listeners.stop()
	s.database.writing <- struct{}{} // wait for the transaction that runs
	s.database.releaseWriter()
	for _, stmt := range s.database.compiled {
		_ = stmt.Close()
	}
	<-s.database.writing
	s.database.checkpoints.running.Lock() // wait for the one that runs
	defer s.database.checkpoints.running.Unlock()
	err := s.database.direct.close()
	if !s.database.owned {
		return err
	}
	return errors.Join(err, s.database.db.Close())
}

// Migrate brings the schema up to date, as [Open] does. Call it at each start on a store of [New], before anything else.
// If there is nothing to do, it is one short transaction.
//
// All steps run in one transaction and under a lock. A crash leaves the schema and the data as they were. If several
// programs start at once, one migrates while the others wait, until ctx ends (on SQLite, until the busy timeout). On PostgreSQL,
// programs that run may go on: Migrate waits for the locks of their transactions only moments at a time, and tries again until
// ctx ends. It logs what it waits for; see [WithLogger].
// Migrate changes only tables with the prefix rollcall_. The database user needs the right to create and alter tables.
// If it has none, run "rollcall migrate" as another user before the upgrade; Migrate then finds nothing to do.
//
// A migration cannot be undone: to return to an older version, restore a backup from before the upgrade. Programs of
// the older version keep running as long as migrations only add tables and columns; the changelog says when one does
// more.
//
// A schema that a newer version has migrated stays as it is. It is an [ErrNewerSchema] only if this version cannot record pings
// in it; else the store works as far as it can, and Monitor.Health says so.
//
// Errors: [ErrNewerSchema]; [ErrUnreleased]; [ErrOldServer]; [ErrEncoding]; one for a worker of Citus;
// checks.ErrUnavailable; those of the driver.
func (s *Store) Migrate(ctx context.Context) error {
	_, _, err := s.database.open(ctx)
	return err
}

// Migrated returns the version of the schema that [Open] found, which is 0 for an empty database, and the version that
// it left. For a store of [New], both are 0.
func (s *Store) Migrated() (before, after int) { return s.before, s.after }
