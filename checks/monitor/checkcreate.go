package monitor

import (
	"fmt"
	"sync"
	"time"

	"github.com/google/uuid"
	"golang.org/x/time/rate"

	"github.com/rollcall-dev/rollcall/checks"
)

// maxCreatedError is the [checks.ErrCheckLimit] of pings: their value is [Config].MaxCreated.
type maxCreatedError int

func (e maxCreatedError) Error() string {
	return fmt.Sprintf("the project has as many checks as pings may create: %d", int(e))
}

func (maxCreatedError) Unwrap() error { return checks.ErrCheckLimit }

// creations limits how fast pings create checks.
type creations struct {
	perMinute int // 0 is no limit

	mu       sync.Mutex
	projects map[uuid.UUID]*rate.Limiter
}

// take counts one creation in a project. If the caller creates no check after all, it calls undo. The error is a
// *[checks.CreateRateError].
func (c *creations) take(projectID uuid.UUID, now time.Time) (undo func(), err error) {
	if c.perMinute == 0 {
		return func() {}, nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	limiter := c.projects[projectID]
	if limiter == nil {
		if c.projects == nil || len(c.projects) >= maxLookups {
			c.projects = make(map[uuid.UUID]*rate.Limiter)
		}
		limiter = rate.NewLimiter(rate.Limit(float64(c.perMinute)/time.Minute.Seconds()), c.perMinute)
		c.projects[projectID] = limiter
	}
	turn := limiter.ReserveN(now, 1)
	if delay := turn.DelayFrom(now); delay > 0 {
		turn.CancelAt(now)
		return nil, &checks.CreateRateError{PerMinute: c.perMinute, RetryAfter: delay}
	}
	return func() { turn.CancelAt(now) }, nil
}
