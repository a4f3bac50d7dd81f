package monitor

import (
	"context"
	"time"

	"github.com/rollcall-dev/rollcall/checks/audit"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
	"github.com/rollcall-dev/rollcall/checks/records"
)

// Installation is what the servers on one database share beside the projects: secrets, keys and records.
type Installation struct{ *service }

// Installation returns what the servers on the database share.
func (m *Monitor) Installation() *Installation { return &Installation{m.service} }

// Audit returns entries of the audit log, newest first: those of all projects and of the installation itself, or those of one
// project. Entries outlive what they are about, so neither a project nor a check of the query need exist.
func (i *Installation) Audit(ctx context.Context, q audit.Query) ([]audit.Entry, error) {
	return i.store.Audit(ctx, q)
}

// Audits reports whether the monitor writes an audit log: whether it has [Config].AuditRetention.
func (i *Installation) Audits() bool { return i.config.AuditRetention > 0 }

// Secret returns a secret of the installation by name. The first call generates it and stores it in the database.
func (i *Installation) Secret(ctx context.Context, name string) (string, error) {
	s, err := i.store.Setting(ctx, i.now(), store.Setting{Name: name, Value: randomText(52)})
	return s.Value, err
}

// Records returns the store of records, for the packages that keep people, their sessions and the like, and for the notes that
// programs on one database leave for each other. The kinds of records belong to those packages.
func (i *Installation) Records() records.Store { return recordStore{i.store} }

// recordStore is the part of a store that keeps records.
type recordStore struct{ db store.Records }

// Records returns records that have not ended.
func (s recordStore) Records(ctx context.Context, now time.Time, q records.Query) ([]records.Record, error) {
	return s.db.Records(ctx, now, q)
}

// Update runs fn in a transaction.
func (s recordStore) Update(ctx context.Context, fn func(ctx context.Context, tx records.Tx) error) error {
	return s.db.Update(ctx, func(ctx context.Context, tx store.Tx) error { return fn(ctx, tx) })
}
