package sqlstore

import (
	"context"
	"errors"

	"github.com/uptrace/bun"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/monitor"
)

// maxAttempts is how often a transaction is run that the database asks to run again.
const maxAttempts = 5

// Store keeps checks, their logs, projects, keys and integrations in a database. It is safe for concurrent use.
type Store struct {
	db    *bun.DB
	d     dialect
	plans checks.Plans
	// writing lets one transaction at a time write to SQLite. Waiting here is fair and wakes at once; waiting for
	// SQLite's own lock is neither.
	writing chan struct{}
	sweep   sweep
}

var _ monitor.Store = (*Store)(nil)

// New returns a store on an open database, which is PostgreSQL or SQLite after its dialect. It runs no query; call
// [Store.Migrate] before the store is used. Closing the database is left to the caller.
func New(db *bun.DB) (*Store, error) {
	if db == nil {
		return nil, errors.New("sqlstore: no database")
	}
	d, err := newDialect(db)
	if err != nil {
		return nil, err
	}
	return &Store{db: db, d: d, writing: make(chan struct{}, 1)}, nil
}

// Update runs fn in a transaction; see [monitor.Store].
func (s *Store) Update(ctx context.Context, fn func(ctx context.Context, tx monitor.Tx) error) error {
	if !s.d.postgres {
		select {
		case s.writing <- struct{}{}:
			defer func() { <-s.writing }()
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	for attempt := 1; ; attempt++ {
		err := s.db.RunInTx(ctx, nil, func(ctx context.Context, tx bun.Tx) error {
			if err := s.d.begin(ctx, tx); err != nil {
				return err
			}
			return fn(ctx, &transaction{s: s, tx: tx})
		})
		if err == nil || !retryable(err) || attempt == maxAttempts {
			return translate(err)
		}
	}
}

// Probe runs a test query.
func (s *Store) Probe(ctx context.Context) error {
	var one int
	return translate(s.db.DB.QueryRowContext(ctx, "SELECT 1 FROM (SELECT count(*) FROM rollcall_settings) AS t").Scan(&one))
}

type settingRow struct {
	bun.BaseModel `bun:"table:rollcall_settings"`

	Name  string `bun:"name,pk"`
	Value string `bun:"value"`
}

// Setting returns a named value, or keeps and returns the given one when there is none.
func (s *Store) Setting(ctx context.Context, name, initial string) (string, error) {
	row := settingRow{Name: name, Value: initial}
	err := s.Update(ctx, func(ctx context.Context, tx monitor.Tx) error {
		db := tx.(*transaction).tx
		if _, err := db.NewInsert().Model(&row).On("CONFLICT (name) DO NOTHING").Returning("NULL").Exec(ctx); err != nil {
			return err
		}
		return db.NewSelect().Model(&row).WherePK().Scan(ctx)
	})
	return row.Value, err
}
