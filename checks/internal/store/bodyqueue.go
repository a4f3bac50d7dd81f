package store

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
)

// BodyTask is the kind of a [BodyJob].
type BodyTask string

// The tasks. Each has its own queue.
const (
	UploadTask  BodyTask = "upload"  // move the body of a ping from the database to object storage
	RemovalTask BodyTask = "removal" // remove the object of a ping that no longer exists
)

// ObjectKey names the object of a ping's body. It contains the row key of the check, which is never reused. The UUID may
// be: a program can create a check with the UUID of a deleted one whose objects still await removal. It ends with the
// digest of the body, by which [Proves] finds out whether object storage returns that body.
func ObjectKey(check uuid.UUID, row, n int64, body []byte) string {
	return fmt.Sprintf("%s/%d-%d.%s", check, row, n, digest(body))
}

// Proves reports whether a body is the one that an object's key was made of.
func Proves(key string, body []byte) bool {
	_, sum, _ := strings.Cut(key, ".")
	return sum == digest(body)
}

// digest returns the SHA-256 of a body in the 43 characters of unpadded base64.
func digest(body []byte) string {
	sum := sha256.Sum256(body)
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// BodyJob is an entry of a [BodyQueue].
type BodyJob struct {
	Task BodyTask
	// ID is the store's own number of the ping, or 0 for a removal.
	ID int64
	// Key is the name of the object. No other ping ever uses it, not even one of a later check with the same ID, so an
	// upload can be repeated.
	Key string
	// Attempts counts the claims.
	Attempts int
	// Due is the end of the lease. Together with Key it tells one claim of a removal from the next.
	Due time.Time
}

// BodyResult is the outcome of a job.
type BodyResult struct {
	// BodyJob is the job as it was claimed. Attempts may be changed.
	BodyJob
	// RetryAt is when a failed job may be claimed again. It is the zero time for a job that is done.
	RetryAt time.Time
}

// BodyQueue is the outbox of object storage. All methods work even if the ping no longer exists.
//
// [Tx].SaveChecks adds an upload for each of Locked.Uploads, due at the At of its ping. Until [BodyQueue].RecordBodies
// records that it is done, [History].Pings returns the body. [History].PrunePings adds removals.
type BodyQueue interface {
	// ClaimBodies leases up to limit jobs of a task that are due at now, the earliest due first. It adds 1 to Attempts
	// and sets Due to until, the end of the lease, and returns the jobs with both. It skips jobs that another transaction
	// has locked.
	ClaimBodies(ctx context.Context, task BodyTask, now, until time.Time, limit int) ([]BodyJob, error)
	// UploadBody returns the body of an upload. The error is [checks.ErrNotFound] if the upload is no longer queued,
	// because it is done or its ping was pruned.
	UploadBody(ctx context.Context, job BodyJob) ([]byte, error)
	// RecordBodies records results in one transaction.
	//
	// An upload that is done: RecordBodies clears the body from the database, stores the key with the ping and removes
	// the job. If another server has recorded that before, nothing changes. If the ping no longer exists, RecordBodies
	// queues the removal of the object, due at once; a removal that is queued for later becomes due at once, too.
	//
	// A removal that is done leaves the queue, unless its Due has changed since the claim: then the object was uploaded
	// again. A job that failed gets the given Attempts and is due at RetryAt, if it is still queued and, for a removal,
	// its Due has not changed.
	RecordBodies(ctx context.Context, results []BodyResult) error
}
