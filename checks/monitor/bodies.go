package monitor

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/store"
	"github.com/rollcall-dev/rollcall/pings"
)

// ErrBodyUnavailable means that object storage is unavailable, so its bodies cannot be read now (server/API.md section
// 4.9). The operation may succeed later.
var ErrBodyUnavailable = errors.New("the object storage is unavailable")

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

// bodies is the part of a monitor that uses object storage.
type bodies struct {
	store     BodyStore       // nil if there is none
	queue     store.BodyQueue // nil if there is none
	threshold int64
	every     time.Duration
}

func newBodies(c *Config, s store.Store) (bodies, error) {
	b := bodies{store: c.Bodies, threshold: orDefault(c.BodyThreshold, 100), every: orDefault(c.BodyEvery, time.Second)}
	b.queue, _ = s.(store.BodyQueue)
	if b.store != nil && b.queue == nil {
		return b, errors.New("monitor: Config.Bodies needs a store that is a store.BodyQueue")
	}
	return b, nil
}

// offloads reports whether a body moves to object storage.
func (b *bodies) offloads(body []byte) bool {
	return b.store != nil && int64(len(body)) > b.threshold
}

// PingBody returns the body of ping number n as it was received (server/API.md section 4.9), from the database or from
// object storage. The error is [checks.ErrNotFound] if the check does not exist, [Monitor.Pings] does not return the
// ping, or the ping has no body. It is [ErrBodyUnavailable] if object storage is unavailable.
func (m *Monitor) PingBody(ctx context.Context, id uuid.UUID, n int64) ([]byte, error) {
	limit, err := m.pingLimit(ctx, id)
	if err != nil {
		return nil, err
	}
	ping, err := m.store.Ping(ctx, id, n, limit)
	switch {
	case err != nil:
		return nil, err
	case ping.BodySize == 0:
		return nil, checks.ErrNotFound
	case ping.BodyKey == "":
		return ping.Body, nil
	}
	return m.storedBody(ctx, ping)
}

// storedBody reads a body from object storage.
func (m *Monitor) storedBody(ctx context.Context, ping pings.Ping) ([]byte, error) {
	if m.bodies.store == nil {
		return nil, fmt.Errorf("%w: none is configured", ErrBodyUnavailable)
	}
	body, err := m.bodies.store.Get(ctx, ping.BodyKey, ping.BodySize)
	switch {
	case err == nil && int64(len(body)) == ping.BodySize:
		return body, nil
	case err == nil:
		err = fmt.Errorf("%d bytes instead of %d", len(body), ping.BodySize)
	case errors.Is(err, checks.ErrNotFound):
		// The object was removed with its ping after the ping was read, or it is lost.
		m.logger("bodies").WarnContext(ctx, "the body of a ping is not in object storage", "object", ping.BodyKey)
		return nil, err
	case errors.Is(err, ErrBodyUnavailable) || ctx.Err() != nil:
		return nil, err
	}
	return nil, fmt.Errorf("%w: object %s: %w", ErrBodyUnavailable, ping.BodyKey, err)
}
