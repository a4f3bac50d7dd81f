package server

import (
	"sync"
	"time"
)

// logInterval is the time between two lines that pass a logLimit.
const logInterval = time.Second

// logLimit limits the log lines about one kind of event.
type logLimit struct {
	mu       sync.Mutex
	last     time.Time
	unlogged int
}

// pass reports whether to log an event, and how many events went unlogged since the last line.
func (l *logLimit) pass(now time.Time) (unlogged int, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if since := now.Sub(l.last); since >= 0 && since < logInterval {
		l.unlogged++
		return 0, false
	}
	unlogged, l.last, l.unlogged = l.unlogged, now, 0
	return unlogged, true
}
