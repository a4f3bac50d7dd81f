// Package records names the documents that the database keeps beside checks: people, sessions, one-time links. The
// packages that store them give them their meaning. A [Store] comes from monitor.Installation.Records.
package records

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks/audit"
)

// Record is a document. Its kind and its key name it.
type Record struct {
	Kind, Key string
	// Owner groups records: the person of a session, or the project of a key. uuid.Nil is no owner. Deleting a project deletes
	// its records.
	Owner uuid.UUID
	// Value is a JSON document. Tx.SaveRecords deletes a record with a nil Value.
	Value []byte
	// Until is when the record ends, or the zero time if it never does. Records that have ended are not found.
	Until time.Time
	// New makes Tx.SaveRecords fail with checks.ErrExists if there is such a record. One that has ended gives way.
	New bool
}

// Query selects records. A nil field matches all.
type Query struct {
	Kind, Key *string
	Owner     *uuid.UUID
}

// Store keeps records. Errors of the database wrap checks.ErrUnavailable while it is away.
type Store interface {
	// Records returns the records that have not ended at an instant, by kind and key.
	Records(ctx context.Context, now time.Time, q Query) ([]Record, error)
	// Update runs fn in a transaction, which ends with it: an error rolls it back. fn may run several times, and must use the
	// context that it gets.
	Update(ctx context.Context, fn func(ctx context.Context, tx Tx) error) error
}

// Tx is a transaction of a [Store]. Its methods must not be called by two goroutines at once.
type Tx interface {
	// LockRecords locks records and returns them, as [Store].Records does. Two transactions that lock records of one kind
	// lock them in the order of their keys.
	LockRecords(ctx context.Context, now time.Time, q Query) ([]Record, error)
	// SaveRecords adds, replaces and deletes records at an instant.
	SaveRecords(ctx context.Context, now time.Time, records ...Record) error
	// SaveAudit adds entries to the audit log. Their IDs are not read.
	SaveAudit(ctx context.Context, entries ...audit.Entry) error
}
