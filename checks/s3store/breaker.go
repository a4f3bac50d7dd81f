package s3store

import (
	"sync"
	"time"
)

// breaker lets calls fail at once after several have failed in a row.
type breaker struct {
	failAfter int
	cooldown  time.Duration
	now       func() time.Time

	mu       sync.Mutex
	failures int       // in a row
	until    time.Time // when the next call may go through, once failures has reached failAfter
	probing  bool      // that call is under way
}

// outcome is what a call that was allowed says about the service.
type outcome int

const (
	answered  outcome = iota // it works
	failed                   // it does not
	abandoned                // nothing: the caller gave up
)

// allow reports whether a call may be made. Each that may is followed by one report.
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

// report takes the outcome of a call.
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
