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

// ErrBodyUnavailable says that object storage cannot be reached or used, so that a body that is kept there cannot
// be read now (API-V3.md section 4.9). It may be possible later.
var ErrBodyUnavailable = errors.New("the object storage is unavailable")

// BodyStore keeps the bodies of pings outside of the database. Package s3store has one for S3-compatible object
// storage. All methods may be called by many goroutines at once and return soon after ctx ends; they should return
// within seconds whatever the storage does. An error that is about the storage as a whole, not about one object,
// wraps [ErrBodyUnavailable]: the monitor leaves it alone for a while then.
type BodyStore interface {
	// Put stores an object. When Put returns nil the object is durable: the database's copy of it is deleted next.
	// The same object may be put more than once.
	Put(ctx context.Context, key string, body []byte) error
	// Get returns an object, which has size bytes. The error is [checks.ErrNotFound] when there is none.
	Get(ctx context.Context, key string, size int64) ([]byte, error)
	// Remove removes up to 500 objects. One that does not exist is no error. When Remove returns an error, some of
	// the objects may have been removed.
	Remove(ctx context.Context, keys []string) error
}

// bodies is what a monitor has for object storage.
type bodies struct {
	store     BodyStore // nil when there is none
	threshold int64
	every     time.Duration
}

// offloads reports whether a body is to be moved to object storage.
func (b *bodies) offloads(body []byte) bool {
	return b.store != nil && int64(len(body)) > b.threshold
}

// PingBody returns the body of a check's ping with the number n as it was received (API-V3.md section 4.9),
// wherever it is kept at the moment. The error is [checks.ErrNotFound] when there is no such check, no such ping
// among those that [Monitor.Pings] returns, or no body, and [ErrBodyUnavailable] when the body is in object storage
// and cannot be read from there now.
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
		// Removed, with the ping, since that was read, or else lost.
		m.log.WarnContext(ctx, "the body of a ping is not in object storage", "object", ping.BodyKey)
		return nil, err
	case errors.Is(err, ErrBodyUnavailable) || ctx.Err() != nil:
		return nil, err
	}
	return nil, fmt.Errorf("%w: object %s: %w", ErrBodyUnavailable, ping.BodyKey, err)
}

const (
	// claimTime is how long what was claimed is left to the one who claimed it, who stops after workTime.
	claimTime, workTime = 30 * time.Second, 20 * time.Second
	// settleTime bounds recording what became of a claim. That is done even when the monitor is told to stop.
	settleTime = 5 * time.Second
	// After a failure of object storage as a whole, waiting doubles from the first of these to the second.
	outageWait, outageWaitMost = time.Second, time.Minute
	// The same for one object that is refused.
	objectWait, objectWaitMost = time.Minute, time.Hour
)

// errNotTried marks what was claimed and not tried, because something else had failed.
var errNotTried = errors.New("not tried")

// concernsAll reports whether an error is not the fault of the object that it came with.
func concernsAll(err error) bool {
	for _, target := range []error{ErrBodyUnavailable, ErrUnavailable, errNotTried, context.Canceled, context.DeadlineExceeded} {
		if errors.Is(err, target) {
			return true
		}
	}
	return false
}

// failure says when what was claimed at an instant, and failed, is tried again. An object that was refused is tried
// less and less often; when all fail, the task as a whole is (see insist), and no object has to pay for it.
func (m *Monitor) failure(ctx context.Context, what, key string, attempts int, now time.Time, err error) (counted int, due time.Time) {
	if concernsAll(err) {
		return max(1, attempts-1), now
	}
	wait := backoff(objectWait, objectWaitMost, attempts)
	m.log.WarnContext(ctx, what, "object", key, "attempts", attempts, "again_in", wait.Round(time.Second), "error", err)
	return attempts, now.Add(wait)
}

// firstCause returns the earlier error, unless only the later one says what has happened.
func firstCause(earlier, later error) error {
	if earlier == nil || earlier == errNotTried && later != nil {
		return later
	}
	return earlier
}

// insist runs a task again and again until ctx ends, after failures less and less often.
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

// backoff returns how long to wait after a number of failures: between half and all of a time that doubles with
// each, so that several servers do not come back all at once.
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
