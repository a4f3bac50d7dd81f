// Package limit bounds the requests of a client and the log lines about one kind of event.
package limit

import (
	"cmp"
	"sync"
	"time"
)

// Lines limits the log lines about one kind of event to one each interval. The zero value is ready.
type Lines struct {
	// Interval is the time between two lines. Default: 1 second.
	Interval time.Duration

	mu       sync.Mutex
	last     time.Time
	unlogged int
}

// Pass reports whether to log an event, and how many events went unlogged since the last line.
func (l *Lines) Pass(now time.Time) (unlogged int, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if since := now.Sub(l.last); since >= 0 && since < cmp.Or(l.Interval, time.Second) {
		l.unlogged++
		return 0, false
	}
	unlogged, l.last, l.unlogged = l.unlogged, now, 0
	return unlogged, true
}

// maxNames is how many names a Names remembers.
const maxNames = 100

// Names limits the log lines about things with names to one each. It passes at most 100 names, so that clients cannot fill the
// log. The zero value is ready.
type Names struct {
	mu     sync.Mutex
	passed map[string]bool
}

// Pass reports whether to log a name.
func (n *Names) Pass(name string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.passed[name] || len(n.passed) == maxNames {
		return false
	}
	if n.passed == nil {
		n.passed = make(map[string]bool)
	}
	n.passed[name] = true
	return true
}
