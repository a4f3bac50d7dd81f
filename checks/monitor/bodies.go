package monitor

import (
	"context"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
)

// ErrBodyUnavailable means that object storage is unavailable, so its bodies cannot be read now (server/API.md section
// 4.9). The operation may succeed later. It is the error of package checks under the same name.
var ErrBodyUnavailable = checks.ErrBodyUnavailable

// BodyStore keeps the bodies of pings outside the database. Package s3store has one for S3-compatible object storage.
// It is safe for concurrent use. Its methods return soon after ctx ends, and should return within seconds even if the
// storage hangs. If an error concerns the storage as a whole, not one object, it wraps [ErrBodyUnavailable], and the
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

// PingBody returns the body of ping number n as it was received (server/API.md section 4.9), from the database or from
// object storage. The error is [checks.ErrNotFound] if the check does not exist, [Monitor.Pings] does not return the
// ping, or the ping has no body. It is [ErrBodyUnavailable] if object storage is unavailable.
func (m *Monitor) PingBody(ctx context.Context, id uuid.UUID, n int64) ([]byte, error) {
	limit, err := m.admin.PingLimit(ctx, id)
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

// UploadBodies moves all bodies that are due and larger than [Config].BodyThreshold from the database to object
// storage, and returns how many it moved. [Monitor.Run] calls it every [Config].BodyEvery. The error is
// [ErrBodyUnavailable] if object storage is unavailable; the bodies then stay in the database. If object storage
// refuses one body, UploadBodies logs that and retries it later.
func (m *Monitor) UploadBodies(ctx context.Context) (moved int, err error) {
	return m.bodies.Upload(ctx)
}

// RemoveBodies removes all objects that are due and whose pings no longer exist, and returns how many it removed.
// [Monitor.Run] calls it every [Config].BodyEvery. The error is [ErrBodyUnavailable] if object storage is unavailable;
// a later call then removes the objects.
func (m *Monitor) RemoveBodies(ctx context.Context) (removed int, err error) {
	return m.bodies.Remove(ctx)
}
