package monitor

import (
	"context"
	"time"
)

// BodyTask is what a [BodyJob] asks for.
type BodyTask string

// The tasks. Each has a queue of its own.
const (
	UploadTask  BodyTask = "upload"  // move the body of a ping from the database to object storage
	RemovalTask BodyTask = "removal" // remove the object of a ping that no longer exists
)

// BodyJob is an entry of a [BodyQueue].
type BodyJob struct {
	Task BodyTask
	// ID is the store's own number of the ping, or 0 for a removal.
	ID int64
	// Key is the name of the object. It belongs to one ping only, so an upload may be repeated.
	Key string
	// Attempts counts the claims.
	Attempts int
	// Due is the end of the lease.
	Due time.Time
}

// BodyResult is what became of a job.
type BodyResult struct {
	// BodyJob is the job as it was claimed. Attempts may be changed.
	BodyJob
	// RetryAt is when a job that failed may be claimed again. It is the zero time for a job that is done.
	RetryAt time.Time
}

// BodyQueue is what a [Store] must be besides when a monitor has [Config].Bodies: the outbox of object storage.
// [Tx].SaveChecks adds an upload for each of Locked.Uploads. [Pruner].PrunePings adds removals. All methods work whatever
// has happened to the ping meanwhile.
type BodyQueue interface {
	// ClaimBodies leases up to limit jobs of a task that are due at now, the longest due first: it adds 1 to Attempts and
	// sets Due to until, the end of the lease.
	ClaimBodies(ctx context.Context, task BodyTask, now, until time.Time, limit int) ([]BodyJob, error)
	// UploadBody returns the body of an upload. The error is [checks.ErrNotFound] when the upload is no longer queued.
	UploadBody(ctx context.Context, job BodyJob) ([]byte, error)
	// SettleBodies records results in one transaction.
	//
	// When an upload is done, its body leaves the database, its ping gets the key, and it leaves the queue. When its ping
	// no longer exists, a removal of the object is queued instead, due at once. A removal that is done leaves the queue,
	// unless its Due has changed: the object was uploaded once more meanwhile. A job that failed gets Attempts and RetryAt
	// if it is still queued and, for a removal, its Due has not changed.
	SettleBodies(ctx context.Context, results []BodyResult) error
}
