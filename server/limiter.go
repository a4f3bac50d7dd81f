package server

import (
	"sync"
	"time"

	"github.com/google/uuid"
	"golang.org/x/time/rate"
)

// limiter counts the requests of each API key. A key that has been idle for so long that its allowance is full again
// is forgotten, so no more is kept than the keys of the last two minutes.
type limiter struct {
	perMinute int
	now       func() time.Time

	mu    sync.Mutex
	keys  map[uuid.UUID]*allowance
	swept time.Time
}

type allowance struct {
	bucket *rate.Limiter
	used   time.Time
}

// refill is how long it takes for an allowance to be full again.
const refill = time.Minute

func newLimiter(perMinute int, now func() time.Time) *limiter {
	if now == nil {
		now = time.Now
	}
	return &limiter{perMinute: perMinute, now: now, keys: make(map[uuid.UUID]*allowance)}
}

// wait counts a request and returns 0 when it is allowed, or how long it takes until one is.
func (l *limiter) wait(key uuid.UUID) time.Duration {
	now := l.now()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sweep(now)
	a := l.keys[key]
	if a == nil {
		a = &allowance{bucket: rate.NewLimiter(rate.Limit(float64(l.perMinute)/refill.Seconds()), l.perMinute)}
		l.keys[key] = a
	}
	a.used = now
	turn := a.bucket.ReserveN(now, 1)
	delay := turn.DelayFrom(now)
	if delay > 0 {
		turn.CancelAt(now) // a request that is refused does not count
	}
	return delay
}

// sweep forgets idle keys, now and then.
func (l *limiter) sweep(now time.Time) {
	if now.Sub(l.swept) < refill {
		return
	}
	l.swept = now
	for key, a := range l.keys {
		if now.Sub(a.used) >= refill {
			delete(l.keys, key)
		}
	}
}
