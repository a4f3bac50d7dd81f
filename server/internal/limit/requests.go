package limit

import (
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// PagesPerRequest is how many pages Config.RateLimit allows for each request to the management interface. A person with
// pages of a busy project open in several tabs stays far below the limit.
const PagesPerRequest = 10

// Requests limits the requests of each client. It forgets a client whose allowance is full again, so it keeps no more than
// the clients of the last two minutes, or of twice the time in which an allowance fills. A nil *Requests sets no limit.
type Requests[K comparable] struct {
	perMinute, burst int
	// refill is how long an empty allowance takes at most to be full again.
	refill time.Duration
	now    func() time.Time

	mu      sync.Mutex
	clients map[K]*allowance
	cleaned time.Time
}

type allowance struct {
	bucket *rate.Limiter
	used   time.Time
}

// NewRequests returns a limit of requests a minute on average, and of burst at once.
func NewRequests[K comparable](perMinute, burst int, now func() time.Time) *Requests[K] {
	refill := max(time.Minute, time.Duration(burst)*time.Minute/time.Duration(perMinute))
	return &Requests[K]{perMinute: perMinute, burst: burst, refill: refill, now: now, clients: make(map[K]*allowance)}
}

// Wait counts a request and returns 0, or it returns how long the client has to wait for its next request.
func (l *Requests[K]) Wait(client K) time.Duration {
	if l == nil {
		return 0
	}
	now := l.now()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.forgetIdle(now)
	a := l.clients[client]
	if a == nil {
		a = &allowance{bucket: rate.NewLimiter(rate.Limit(float64(l.perMinute)/time.Minute.Seconds()), l.burst)}
		l.clients[client] = a
	}
	a.used = now
	turn := a.bucket.ReserveN(now, 1)
	delay := turn.DelayFrom(now)
	if delay > 0 {
		turn.CancelAt(now) // refused requests do not count
	}
	return delay
}

// forgetIdle forgets the clients that are idle, at most once per refill.
func (l *Requests[K]) forgetIdle(now time.Time) {
	if now.Sub(l.cleaned) < l.refill {
		return
	}
	l.cleaned = now
	for client, a := range l.clients {
		if now.Sub(a.used) >= l.refill {
			delete(l.clients, client)
		}
	}
}
