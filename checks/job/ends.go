package job

import (
	"slices"
	"sync"
)

// Ends is a writer that keeps the beginning and the end of what is written to it, such as the output of a command for the
// body of a ping. It is safe for concurrent use.
type Ends struct {
	limit int

	mu    sync.Mutex
	head  []byte
	tail  []byte // up to twice as long as what stays of it, so that moving its end to the front is rare
	total int64
}

// NewEnds returns a writer that keeps at most limit bytes, as [pings.Cut] does; see BodyLimit of [Config]. A negative limit
// is 0.
func NewEnds(limit int) *Ends { return &Ends{limit: max(limit, 0)} }

// Write keeps what belongs to the beginning, and what may be the end. It never fails.
func (e *Ends) Write(p []byte) (int, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	n := len(p)
	e.total += int64(n)
	if room := e.limit/2 - len(e.head); room > 0 {
		e.head = append(e.head, p[:min(room, n)]...)
		p = p[min(room, n):]
	}
	kept := e.limit - e.limit/2
	p = p[max(0, len(p)-kept):]
	if len(e.tail)+len(p) > 2*kept {
		e.tail = append(e.tail[:0], e.tail[len(e.tail)+len(p)-kept:]...)
	}
	e.tail = append(e.tail, p...)
	return n, nil
}

// Body returns a copy of the bytes that the writer keeps, and how many it left out between them: Body and BodyCut of a
// [pings.Signal].
func (e *Ends) Body() (kept []byte, cut int64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	tail := e.tail[max(0, len(e.tail)-(e.limit-e.limit/2)):]
	kept = slices.Concat(e.head, tail)
	return kept, e.total - int64(len(kept))
}
