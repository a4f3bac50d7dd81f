package s3store

import (
	"sync"
	"time"
)

// breaker is a circuit breaker: after several failures in a row, calls fail at once.
type breaker struct {
	failAfter int
	cooldown  time.Duration
	now       func() time.Time

	mu       sync.Mutex
	failures int       // in a row
	until    time.Time // earliest time of the next probe
	probing  bool      // a probe is running
}

// outcome is what an allowed call says about the service.
type outcome int

const (
	answered  outcome = iota // the service works
	failed                   // the service does not work
	abandoned                // unknown, the caller gave up
)

// allow reports whether a call may go through. The caller must report the outcome of each allowed call.
func (b *breaker) allow() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.failures < b.failAfter {
		return true
	}
	if b.probing || b.now().Before(b.until) {
		return false
	}
	b.probing = true
	return true
}

// report records the outcome of a call.
func (b *breaker) report(o outcome) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch o {
	case answered:
		b.failures, b.probing = 0, false
	case failed:
		b.failures++
		b.until, b.probing = b.now().Add(b.cooldown), false
	case abandoned:
		b.probing = false
	}
}
