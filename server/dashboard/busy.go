package dashboard

import (
	"sync"
	"time"

	"github.com/google/uuid"
	"golang.org/x/time/rate"
)

// busy bounds the actions of a project's viewers that make this server send requests: tests of integrations and imports.
type busy struct {
	mu       sync.Mutex
	limiters map[uuid.UUID]*rate.Limiter
}

const (
	busyBurst = 10
	busyEvery = 5 * time.Second
)

// allow reports whether the project may act now, and counts that.
func (b *busy) allow(project uuid.UUID, now time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	limiter := b.limiters[project]
	if limiter == nil {
		if b.limiters == nil || len(b.limiters) > 10_000 {
			b.limiters = map[uuid.UUID]*rate.Limiter{}
		}
		limiter = rate.NewLimiter(rate.Every(busyEvery), busyBurst)
		b.limiters[project] = limiter
	}
	return limiter.AllowN(now, 1)
}
