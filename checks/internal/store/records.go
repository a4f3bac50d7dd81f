package store

import (
	"context"
	"time"

	"github.com/rollcall-dev/rollcall/checks/audit"
	"github.com/rollcall-dev/rollcall/checks/records"
)

// Records is what those need who keep records: people, their sessions, keys of the installation. [records.Tx] is the part of a
// transaction.
type Records interface {
	// Update is that of [Ingest].
	Update(ctx context.Context, fn func(ctx context.Context, tx Tx) error) error
	// Records is that of [records.Store].
	Records(ctx context.Context, now time.Time, q records.Query) ([]records.Record, error)
	// Audit returns entries of the audit log, newest first.
	Audit(ctx context.Context, q audit.Query) ([]audit.Entry, error)
	// PruneRecords removes the records that have ended at an instant, and the entries of the audit log that are older than
	// another one, in steps with a pause between. It returns how many.
	PruneRecords(ctx context.Context, ended, audited time.Time, pause func()) (removed int, err error)
}
