package monitor

import (
	"context"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
	"github.com/rollcall-dev/rollcall/pings"
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

// pingWithBody returns ping number n of a check with its body.
func (m *Monitor) pingWithBody(ctx context.Context, projectID, id uuid.UUID, n int64) (p pings.Ping, err error) {
	limit, err := m.admin.PingLimit(ctx, projectID, id)
	if err != nil {
		return p, err
	}
	all, err := m.store.Pings(ctx, store.PingQuery{Checks: []uuid.UUID{id}, Number: &n, Limit: limit})
	if err != nil {
		return p, err
	}
	if found := all[id]; len(found) > 0 {
		p = found[0]
	}
	switch {
	case p.BodySize == 0:
		return p, checks.ErrNotFound
	case p.BodyKey != "":
		p.Body, err = m.bodies.Read(ctx, p)
	}
	return p, err
}
