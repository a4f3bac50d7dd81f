package monitor

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
	"github.com/rollcall-dev/rollcall/pings"
)

// BodyStore keeps the bodies of pings outside the database. Package s3store has one for S3-compatible object storage.
// It is safe for concurrent use. Its methods return soon after ctx ends, and should return within seconds even if the
// storage hangs. If an error concerns the storage as a whole, not one object, it wraps [checks.ErrBodyUnavailable], and the
// monitor pauses.
type BodyStore interface {
	// Put stores an object. When Put returns nil, the object is durable: the monitor reads it once, and if it is equal, deletes
	// the database's copy. The monitor may put the same object again.
	Put(ctx context.Context, key string, body []byte) error
	// Get returns an object of size bytes. The error is [checks.ErrNotFound] if it does not exist. It may be
	// [checks.ErrBodyCorrupt] for an object of another size, which the monitor notices, too.
	Get(ctx context.Context, key string, size int64) ([]byte, error)
	// Remove removes up to 500 objects. It ignores those that do not exist. If it returns an error, it may have removed
	// some.
	Remove(ctx context.Context, keys []string) error
}

// bodies keeps the large bodies of pings in object storage. The database has a queue of the bodies to upload and of the objects
// to remove, so that neither an outage of the storage nor a crash loses a body or leaves an object.
type bodies struct{ *service }

// read reads the body of a ping that has a BodyKey. Errors: [checks.ErrNotFound], [checks.ErrBodyUnavailable],
// [checks.ErrBodyCorrupt].
func (b bodies) read(ctx context.Context, ping pings.Ping) ([]byte, error) {
	if b.config.Bodies == nil {
		return nil, fmt.Errorf("%w: none is configured", checks.ErrBodyUnavailable)
	}
	body, err := b.config.Bodies.Get(ctx, ping.BodyKey, ping.BodySize)
	switch {
	case err == nil && int64(len(body)) == ping.BodySize && store.Proves(ping.BodyKey, body):
		return body, nil
	case err == nil || errors.Is(err, checks.ErrBodyCorrupt):
		if b.told.once(fmt.Sprintf("other %s %x %v", ping.BodyKey, sha256.Sum256(body), err)) {
			b.logger("bodies").ErrorContext(ctx, "object storage returned another body than the ping had", "object", ping.BodyKey,
				"size", ping.BodySize)
		}
		return nil, fmt.Errorf("%w: object %s", checks.ErrBodyCorrupt, ping.BodyKey)
	case errors.Is(err, checks.ErrNotFound):
		// The object was removed with its ping after the ping was read, or it is lost.
		if b.told.once("missing " + ping.BodyKey) {
			b.logger("bodies").WarnContext(ctx, "the body of a ping is not in object storage", "object", ping.BodyKey)
		}
		return nil, err
	case errors.Is(err, checks.ErrBodyUnavailable) || ctx.Err() != nil:
		return nil, err
	}
	return nil, fmt.Errorf("%w: object %s: %w", checks.ErrBodyUnavailable, ping.BodyKey, err)
}
