package monitor

import (
	"context"
	"time"
)

// Upload is a body that is to move from the database to object storage.
type Upload struct {
	// ID is the store's own number of the ping.
	ID int64
	// Key is the name of the object. It belongs to this one ping, so that an upload may be repeated.
	Key string
	// Attempts counts how often the upload was claimed.
	Attempts int
	// Due is when the upload may be claimed next. Of a claimed one it is the end of the claim.
	Due time.Time
}

// UploadQueue holds the uploads, which [Tx].SaveChecks adds. All methods work whatever has happened to the ping
// meanwhile.
type UploadQueue interface {
	// ClaimUploads returns up to limit uploads that are due at the given instant, the longest due first, and makes
	// them due at until instead, so that nobody else is given them before. Attempts includes this one.
	ClaimUploads(ctx context.Context, now, until time.Time, limit int) ([]Upload, error)
	// UploadBody returns the body of an upload. The error is [checks.ErrNotFound] when the upload is not in the
	// queue any more.
	UploadBody(ctx context.Context, u Upload) ([]byte, error)
	// FinishUploads records, in one transaction, that the objects exist: the bodies leave the database, the pings
	// get the keys, and the uploads leave the queue. The object of a ping that is gone is put into the queue of
	// those to be removed, due at once.
	FinishUploads(ctx context.Context, done []Upload) error
	// RetryUploads writes Attempts and Due of uploads that are still in the queue.
	RetryUploads(ctx context.Context, list []Upload) error
}

// Removal is an object that is to be removed, because its ping is gone.
type Removal struct {
	// Key is the name of the object.
	Key string
	// Attempts counts how often the removal was claimed.
	Attempts int
	// Due is when the removal may be claimed next. Of a claimed one it is the end of the claim.
	Due time.Time
}

// RemovalQueue holds the removals, which [Pruner].PrunePings and [UploadQueue].FinishUploads add.
type RemovalQueue interface {
	// ClaimRemovals does what ClaimUploads does, for removals.
	ClaimRemovals(ctx context.Context, now, until time.Time, limit int) ([]Removal, error)
	// FinishRemovals takes removals off the queue, except those whose Due is not that of their claim any more: the
	// object came to be once more in the meantime.
	FinishRemovals(ctx context.Context, done []Removal) error
	// RetryRemovals writes Attempts and Due of removals. claimed is the Due that the claim gave them; those that
	// have another one by now are left alone.
	RetryRemovals(ctx context.Context, list []Removal, claimed time.Time) error
}
