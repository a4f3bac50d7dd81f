package monitor

import (
	"context"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
)

// BodyStore keeps the bodies of pings outside the database. Package s3store has one for S3-compatible object storage.
// It is safe for concurrent use. Its methods return soon after ctx ends, and should return within seconds even if the
// storage hangs. If an error concerns the storage as a whole, not one object, it wraps [checks.ErrBodyUnavailable], and the
// monitor pauses.
type BodyStore interface {
	// Put stores an object. When Put returns nil, the object is durable and the monitor deletes the database's copy.
	// The monitor may put the same object again.
	Put(ctx context.Context, key string, body []byte) error
	// Get returns an object of size bytes. The error is [checks.ErrNotFound] if it does not exist.
	Get(ctx context.Context, key string, size int64) ([]byte, error)
	// Remove removes up to 500 objects. It ignores those that do not exist. If it returns an error, it may have removed
	// some.
	Remove(ctx context.Context, keys []string) error
}

// pingBody returns the body of ping number n of a check.
func (m *Monitor) pingBody(ctx context.Context, projectID, id uuid.UUID, n int64) ([]byte, error) {
	limit, err := m.admin.PingLimit(ctx, projectID, id)
	if err != nil {
		return nil, err
	}
	all, err := m.store.Pings(ctx, store.PingQuery{Checks: []uuid.UUID{id}, Number: &n, Limit: limit})
	switch found := all[id]; {
	case err != nil:
		return nil, err
	case len(found) == 0 || found[0].BodySize == 0:
		return nil, checks.ErrNotFound
	case found[0].BodyKey == "":
		return found[0].Body, nil
	default:
		return m.bodies.Read(ctx, found[0])
	}
}
