// Package limit bounds the requests of a client and the log lines about one kind of event.
package limit

import (
	"sync"
	"time"
)

// lineInterval is the time between two lines that pass [Lines].
const lineInterval = time.Second

// Lines limits the log lines about one kind of event to one a second. The zero value is ready.
type Lines struct {
	mu       sync.Mutex
	last     time.Time
	unlogged int
}

// Pass reports whether to log an event, and how many events went unlogged since the last line.
func (l *Lines) Pass(now time.Time) (unlogged int, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if since := now.Sub(l.last); since >= 0 && since < lineInterval {
		l.unlogged++
		return 0, false
	}
	unlogged, l.last, l.unlogged = l.unlogged, now, 0
	return unlogged, true
}
