package pings

import (
	"slices"
	"sync"
)

// Cut returns at most limit bytes of a body, and how many it left out: its first limit/2 bytes and its last ones are what stays
// of a longer body.
func Cut(body []byte, limit int) (kept []byte, cut int64) {
	limit = max(limit, 0)
	if len(body) <= limit {
		return body, 0
	}
	head := limit / 2
	kept = append(append(make([]byte, 0, limit), body[:head]...), body[len(body)-(limit-head):]...)
	return kept, int64(len(body) - limit)
}

// Head returns how many bytes of a body stand before those that [Cut] left out: all of them if cut is 0. size is the length of
// what it kept.
func Head(size, cut int64) int64 {
	if cut == 0 {
		return size
	}
	return size / 2
}

// Ends is a writer that keeps the beginning and the end of what is written to it, such as the output of a command for the
// body of a ping: what [Cut] keeps of the whole. It is safe for concurrent use.
type Ends struct {
	head, tail int // how long the beginning and the end may be

	mu    sync.Mutex
	start []byte
	end   []byte // once it is full, next is its oldest byte, which the next one replaces
	next  int
	total int64
}

// NewEnds returns a writer that keeps at most limit bytes. A negative limit is 0.
func NewEnds(limit int) *Ends { return EndsOf(nil, limit) }

// EndsOf returns a writer as [NewEnds] does, to which start has been written. It keeps a reference to start.
func EndsOf(start []byte, limit int) *Ends {
	limit = max(limit, 0)
	e := &Ends{head: limit / 2, tail: limit - limit/2}
	e.start = slices.Clip(start[:min(len(start), e.head)])
	e.total = int64(len(e.start))
	_, _ = e.Write(start[len(e.start):])
	return e
}

// Write keeps what belongs to the beginning, and what may be the end. It never fails.
func (e *Ends) Write(p []byte) (int, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	n := len(p)
	e.total += int64(n)
	room := min(e.head-len(e.start), len(p))
	e.start, p = append(e.start, p[:room]...), p[room:]
	p = p[max(0, len(p)-e.tail):]
	room = min(e.tail-len(e.end), len(p))
	e.end, p = append(e.end, p[:room]...), p[room:]
	for len(p) > 0 {
		copied := copy(e.end[e.next:], p)
		e.next, p = (e.next+copied)%e.tail, p[copied:]
	}
	return n, nil
}

// Body returns a copy of the bytes that the writer keeps, and how many it left out between them: Body and BodyCut of a
// [Signal].
func (e *Ends) Body() (kept []byte, cut int64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	kept = slices.Concat(e.start, e.end[e.next:], e.end[:e.next])
	return kept, e.total - int64(len(kept))
}
