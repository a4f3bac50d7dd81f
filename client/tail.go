package client

import (
	"bytes"
	"sync"
)

// Tail is a writer that keeps the end of what was written to it, such as the output of a command that goes into the
// body of a ping. It may be written to by several goroutines at once.
type Tail struct {
	limit int

	mu   sync.Mutex
	data []byte // up to twice the limit, so that it is moved only now and then
	cut  bool   // something was left out before data
}

// NewTail returns a writer that keeps the last bytes, up to the limit; see [Pinger.BodyLimit]. A limit below 0 is 0.
func NewTail(limit int) *Tail { return &Tail{limit: max(limit, 0)} }

// Write keeps the end of p. It never fails.
func (t *Tail) Write(p []byte) (int, error) {
	n := len(p)
	if len(p) > t.limit {
		p = p[len(p)-t.limit:]
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.cut = t.cut || len(p) < n
	if len(t.data)+len(p) > 2*t.limit {
		t.data = append(t.data[:0], t.data[len(t.data)+len(p)-t.limit:]...)
		t.cut = true
	}
	t.data = append(t.data, p...)
	return n, nil
}

// Bytes returns a copy of what is kept. It does not begin with a part of a character where something was left out.
func (t *Tail) Bytes() []byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	kept := end(t.data, t.limit)
	if t.cut && len(kept) == len(t.data) {
		kept = fromRune(kept)
	}
	return bytes.Clone(kept)
}
