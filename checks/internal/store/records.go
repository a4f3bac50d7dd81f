package store

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks/audit"
)

// Record is a document of what surrounds checks: a person, a session, a one-time link. Its kind and its key name it.
type Record struct {
	Kind, Key string
	// Owner groups records: the person of a session, or the project of a key. uuid.Nil is no owner. Deleting a project deletes
	// its records.
	Owner uuid.UUID
	// Value is a JSON document. SaveRecords deletes a record with a nil Value.
	Value []byte
	// Until is when the record ends, or the zero time if it never does. Records that have ended are not found.
	Until time.Time
	// New makes SaveRecords fail with [checks.ErrExists] if there is such a record. One that has ended gives way.
	New bool
}

// RecordQuery selects records. A nil field matches all.
type RecordQuery struct {
	Kind, Key *string
	Owner     *uuid.UUID
}

// People is what packages need that keep records: people, their sessions, keys of the installation.
type People interface {
	// Update is that of [Ingest].
	Update(ctx context.Context, fn func(ctx context.Context, tx Tx) error) error
	// Records returns the records that have not ended at an instant, by kind and key.
	Records(ctx context.Context, now time.Time, q RecordQuery) ([]Record, error)
	// Audit returns entries of the audit log, newest first.
	Audit(ctx context.Context, q audit.Query) ([]audit.Entry, error)
	// PruneRecords removes the records that have ended at an instant, and the entries of the audit log that are older than
	// another one, in steps with a pause between. It returns how many.
	PruneRecords(ctx context.Context, ended, audited time.Time, pause func()) (removed int, err error)
}

// PeopleTx is the part of a transaction that [People] need.
type PeopleTx interface {
	// LockRecords locks records and returns them, as [People].Records does. Two transactions that lock records of one kind
	// lock them in the order of their keys.
	LockRecords(ctx context.Context, now time.Time, q RecordQuery) ([]Record, error)
	// SaveRecords adds, replaces and deletes records at an instant.
	SaveRecords(ctx context.Context, now time.Time, records ...Record) error
	// SaveAudit adds entries to the audit log. Their IDs are not read.
	SaveAudit(ctx context.Context, entries ...audit.Entry) error
}
