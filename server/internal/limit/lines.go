// Package limit bounds the requests of a client and the log lines about one kind of event.
package limit

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"
)

// longestPause bounds the pause between two lines about something that goes on.
const longestPause = time.Minute

// Lines limits the log lines about one kind of event: the first is logged at once, and while events go on, each pause is twice as
// long as the one before, up to a minute. After a minute without events it begins again. The zero value is ready.
type Lines struct {
	// Interval is the first pause between two lines. Default: 1 second.
	Interval time.Duration

	mu       sync.Mutex
	last     time.Time
	pause    time.Duration
	unlogged int
}

// Pass reports whether to log an event, and how many events went unlogged since the last line.
func (l *Lines) Pass(now time.Time) (unlogged int, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	since, first := now.Sub(l.last), cmp.Or(l.Interval, time.Second)
	if since >= 0 && since < l.pause {
		l.unlogged++
		return 0, false
	}
	if longest := max(first, longestPause); since < 0 || since >= l.pause+longest { // nothing happened for a while
		l.pause = first
	} else {
		l.pause = min(2*l.pause, longest)
	}
	unlogged, l.last, l.unlogged = l.unlogged, now, 0
	return unlogged, true
}

const (
	// repeatPause is the pause between two lines of a [Repeats] with the same key.
	repeatPause = time.Minute
	// maxRepeats bounds the keys that a [Repeats] tells apart at a time, and so its lines a minute.
	maxRepeats = 50
	// maxRepeatKey is how many bytes of a key count.
	maxRepeatKey = 200
)

// Repeats logs events that clients can cause as often as they like, such as refused sign-ins, and loses none: the first with a key
// is a line at once, and those that follow are one line a minute with their number. It tells 50 keys apart at a time and counts all
// others together, so that clients with many addresses cannot fill the log either. The zero value is ready.
type Repeats struct {
	mu    sync.Mutex
	known map[string]*repeat
}

// repeat are the events with one key. times counts those since the last line, and args describe the newest.
type repeat struct {
	times int
	args  []any
}

// Log logs an event, at once or with those that follow. The key is what is counted together, such as the reason and the address.
func (r *Repeats) Log(log *slog.Logger, level slog.Level, key, text string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	key = text + "\x00" + key[:min(len(key), maxRepeatKey)]
	if r.known[key] == nil && len(r.known) >= maxRepeats {
		key, args = text, []any{"from", "many others"}
	}
	if found := r.known[key]; found != nil {
		found.times, found.args = found.times+1, args
		return
	}
	if r.known == nil {
		r.known = make(map[string]*repeat)
	}
	found := &repeat{args: args}
	r.known[key] = found
	log.Log(context.Background(), level, text, args...)
	time.AfterFunc(repeatPause, func() { r.sum(log, level, key, text, found) })
}

// sum logs the number of events since the last line, until there are none.
func (r *Repeats) sum(log *slog.Logger, level slog.Level, key, text string, found *repeat) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if found.times == 0 {
		delete(r.known, key)
		return
	}
	log.Log(context.Background(), level, text, append(slices.Clone(found.args), "times", found.times)...)
	found.times = 0
	time.AfterFunc(repeatPause, func() { r.sum(log, level, key, text, found) })
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
