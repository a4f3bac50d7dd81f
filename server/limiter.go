package server

import (
	"sync"
	"time"

	"github.com/google/uuid"
	"golang.org/x/time/rate"
)

// limiter limits the requests of each API key. It forgets a key whose allowance is full again, so it keeps no more than
// the keys of the last two minutes.
type limiter struct {
	perMinute int
	now       func() time.Time

	mu      sync.Mutex
	keys    map[uuid.UUID]*allowance
	cleaned time.Time
}

type allowance struct {
	bucket *rate.Limiter
	used   time.Time
}

// refill is how long an empty allowance takes to be full again.
const refill = time.Minute

func newLimiter(perMinute int, now func() time.Time) *limiter {
	if now == nil {
		now = time.Now
	}
	return &limiter{perMinute: perMinute, now: now, keys: make(map[uuid.UUID]*allowance)}
}

// wait counts a request and returns 0, or it returns how long the key has to wait for its next request.
func (l *limiter) wait(key uuid.UUID) time.Duration {
	now := l.now()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.forgetIdle(now)
	a := l.keys[key]
	if a == nil {
		a = &allowance{bucket: rate.NewLimiter(rate.Limit(float64(l.perMinute)/refill.Seconds()), l.perMinute)}
		l.keys[key] = a
	}
	a.used = now
	turn := a.bucket.ReserveN(now, 1)
	delay := turn.DelayFrom(now)
	if delay > 0 {
		turn.CancelAt(now) // refused requests do not count
	}
	return delay
}

// forgetIdle forgets the keys that are idle, at most once per refill.
func (l *limiter) forgetIdle(now time.Time) {
	if now.Sub(l.cleaned) < refill {
		return
	}
	l.cleaned = now
	for key, a := range l.keys {
		if now.Sub(a.used) >= refill {
			delete(l.keys, key)
		}
	}
}
