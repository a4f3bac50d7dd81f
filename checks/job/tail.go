package job

import (
	"bytes"
	"sync"
	"unicode/utf8"
)

// Tail is a writer that keeps the last bytes written to it, such as the output of a command for the body of a ping. It
// is safe for concurrent use.
type Tail struct {
	limit int

	mu   sync.Mutex
	data []byte // up to twice the limit, so that moving its end to the front is rare
	cut  bool   // earlier bytes were dropped
}

// NewTail returns a writer that keeps the last limit bytes; see BodyLimit of [Config]. A negative limit is 0.
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

// Bytes returns a copy of the bytes that the writer keeps. If it has dropped earlier ones, the copy starts at a whole
// character.
func (t *Tail) Bytes() []byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	kept := lastBytes(t.data, t.limit)
	if t.cut && len(kept) == len(t.data) {
		kept = skipPartialRune(kept)
	}
	return bytes.Clone(kept)
}

// lastLines returns a copy of the last lines that the writer keeps, at most limit bytes. If the last line alone is
// longer, it returns the end of that.
func (t *Tail) lastLines(limit int) []byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	start := len(t.data) - max(min(limit, t.limit), 0)
	if start < 0 || start == 0 && !t.cut {
		return bytes.Clone(t.data)
	}
	_, lines, _ := bytes.Cut(t.data[max(start-1, 0):], []byte("\n")) // a line may begin at start
	if len(lines) == 0 {
		lines = skipPartialRune(t.data[start:])
	}
	return bytes.Clone(lines)
}

// lastBytes returns the end of a body, at most limit bytes. It starts at a whole character.
func lastBytes(body []byte, limit int) []byte {
	if len(body) <= limit {
		return body
	}
	return skipPartialRune(body[len(body)-limit:])
}

// skipPartialRune removes the rest of a cut character from the start of a text.
func skipPartialRune(text []byte) []byte {
	for i := range min(utf8.UTFMax, len(text)) {
		if utf8.RuneStart(text[i]) {
			return text[i:]
		}
	}
	return text // not UTF-8
}
