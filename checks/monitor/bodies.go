package monitor

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/pings"
)

// ErrBodyUnavailable says that object storage cannot be used, so a body that is kept there cannot be read now
// (API-V3.md section 4.9). It may be possible later.
var ErrBodyUnavailable = errors.New("the object storage is unavailable")

// BodyStore keeps the bodies of pings outside the database. Package s3store has one for S3-compatible object storage. All
// methods may be called by many goroutines at once. They return soon after ctx ends, and should return within seconds
// whatever the storage does. An error about the storage as a whole, not about one object, wraps [ErrBodyUnavailable]:
// the monitor then pauses.
type BodyStore interface {
	// Put stores an object. When Put returns nil, the object is durable and the monitor deletes the database's copy. The
	// same object may be put more than once.
	Put(ctx context.Context, key string, body []byte) error
	// Get returns an object of size bytes. The error is [checks.ErrNotFound] when it does not exist.
	Get(ctx context.Context, key string, size int64) ([]byte, error)
	// Remove removes up to 500 objects. One that does not exist is no error. When Remove returns an error, it may have
	// removed some of them.
	Remove(ctx context.Context, keys []string) error
}

// bodies is the part of a monitor that uses object storage.
type bodies struct {
	store     BodyStore // nil when there is none
	queue     BodyQueue // nil when there is none
	threshold int64
	every     time.Duration
}

func newBodies(c *Config, store Store) (bodies, error) {
	b := bodies{store: c.Bodies, threshold: orDefault(c.BodyThreshold, 100), every: orDefault(c.BodyEvery, time.Second)}
	b.queue, _ = store.(BodyQueue)
	if b.store != nil && b.queue == nil {
		return b, errors.New("monitor: the store is no BodyQueue, so bodies cannot be moved to object storage")
	}
	return b, nil
}

// offloads reports whether a body is to be moved to object storage.
func (b *bodies) offloads(body []byte) bool {
	return b.store != nil && int64(len(body)) > b.threshold
}

// PingBody returns the body of the ping with the number n as it was received (API-V3.md section 4.9), wherever it is
// kept. The error is [checks.ErrNotFound] when there is no such check, no such ping among those that [Monitor.Pings]
// returns, or no body; and [ErrBodyUnavailable] when the body is in object storage and cannot be read now.
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
		m.log.WarnContext(ctx, "the body of a ping is not in object storage", "object", ping.BodyKey)
		return nil, err
	case errors.Is(err, ErrBodyUnavailable) || ctx.Err() != nil:
		return nil, err
	}
	return nil, fmt.Errorf("%w: object %s: %w", ErrBodyUnavailable, ping.BodyKey, err)
}

// outageWait is the first pause after a failure of object storage as a whole. It doubles up to outageWaitMost.
const outageWait, outageWaitMost = time.Second, time.Minute

// insist runs a task every interval until ctx ends. After failures it waits longer and longer.
func (m *Monitor) insist(ctx context.Context, interval time.Duration, failure string, task func(context.Context) (int, error)) {
	failures := 0
	for {
		wait := interval
		if failures > 0 {
			wait = backoff(outageWait, outageWaitMost, failures)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
		failures++
		if m.attempt(ctx, failure, task) {
			failures = 0
		}
	}
}

// backoff returns the pause after a number of failures, at least 1: a time that doubles with each from first up to most,
// less up to a half of jitter, so that several servers do not come back at once.
func backoff(first, most time.Duration, failures int) time.Duration {
	wait := first
	for range failures - 1 {
		if wait *= 2; wait >= most {
			wait = most
			break
		}
	}
	return wait/2 + rand.N(wait/2+1)
}
