package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/rollcall-dev/rollcall/pings"
)

const (
	// maxBody is the most that the body of a management request may have, in bytes.
	maxBody = 1_000_000
	// maxKeylessBody is how many bytes of a management body are read before a valid API key is known.
	maxKeylessBody = 64 << 10
	// maxDrained is how many bytes of a body are read and dropped after the answer. Clients that send all of a body
	// before they read would get a connection reset instead of the answer.
	maxDrained = 10_000_000

	// freeBody is how many bytes of each body need no reservation: the bound on connections bounds their sum.
	freeBody = 16 << 10
	// bodyMemory is how many bytes the bodies of all requests may reserve at once, beyond freeBody of each.
	bodyMemory = 16_000_000
	// reserveTimeout is how long a request waits for a reservation.
	reserveTimeout = time.Second
)

// body reads the body of a request step by step, and reserves memory for it.
type body struct {
	src      io.Reader
	length   int64 // as announced, or -1
	memory   *semaphore.Weighted
	reserved int64
	buf      bytes.Buffer
	ended    bool
}

// newBody returns the body of a request, before anything is read. The caller releases it.
func (s *Server) newBody(r *http.Request) *body {
	return &body{src: r.Body, length: r.ContentLength, memory: s.bodyMemory, ended: !hasBody(r)}
}

// release returns the reserved memory.
func (b *body) release() { b.memory.Release(b.reserved) }

// readTo reads until it has n bytes in all or the body ends, and returns what it has. Its errors are errBusy and
// errBrokenBody.
func (b *body) readTo(ctx context.Context, n int64) ([]byte, error) {
	for have := int64(b.buf.Len()); !b.ended && have < n; have = int64(b.buf.Len()) {
		step := min(n, max(freeBody, 8*have))
		if b.length >= 0 {
			step = min(step, max(b.length, have+1))
		}
		if err := b.reserve(ctx, step-freeBody); err != nil {
			return nil, err
		}
		if b.length > have {
			b.buf.Grow(int(step-have) + bytes.MinRead)
		}
		_, err := io.CopyN(&b.buf, b.src, step-have)
		if b.ended = err == io.EOF; err != nil && !b.ended {
			return nil, errBrokenBody
		}
	}
	return b.buf.Bytes(), nil
}

// readEnds reads all of a body. It keeps at most limit bytes: those of a longer body are its beginning and its end, as [pings.Cut]
// has them, and cut is how many it left out. start has the first bytes of the body, at most searched. If the rest of a longer body
// does not arrive, what has arrived is the body, because a job may hang up as soon as it has sent its ping.
func (b *body) readEnds(ctx context.Context, limit, searched int64) (kept, start []byte, cut int64, err error) {
	all, err := b.readTo(ctx, max(limit, searched))
	if err != nil {
		return nil, nil, 0, err
	}
	start = all[:min(int64(len(all)), searched)]
	total := int64(len(all))
	if total < limit || total == limit && b.ended {
		return all, start, 0, nil
	}
	if err := b.reserve(ctx, total+limit-limit/2-freeBody); err != nil {
		return nil, nil, 0, err
	}
	ends := pings.EndsOf(all, int(limit))
	if !b.ended {
		_, _ = io.Copy(ends, b.src)
		b.ended = true
	}
	kept, cut = ends.Body()
	return kept, start, cut, nil
}

// reserve raises the reservation to n bytes. The wait has its own bound: a client that has closed its writing side may still read.
func (b *body) reserve(ctx context.Context, n int64) error {
	if n <= b.reserved {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), reserveTimeout)
	defer cancel()
	if err := b.memory.Acquire(ctx, n-b.reserved); err != nil {
		return errBusy
	}
	b.reserved = n
	return nil
}

// keyInPrefix returns the field api_key of a JSON object of which only the start is known.
func keyInPrefix(prefix []byte) (key string, found bool) {
	d := json.NewDecoder(bytes.NewReader(prefix))
	if first, err := d.Token(); err != nil || first != json.Delim('{') {
		return "", false
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return "", false
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return "", false
		}
		if name == "api_key" {
			return key, json.Unmarshal(value, &key) == nil
		}
	}
	return "", false
}

func hasBody(r *http.Request) bool { return r.Body != nil && r.Body != http.NoBody }

// drain sends the answer and then drops what is left of the request's body. If the rest does not arrive in time, it closes the
// connection: net/http would read what comes later as the next request.
func drain(answer *response, r *http.Request) {
	if answer.status == 0 || r.ProtoMajor != 1 {
		return // without an answer, or with HTTP/2, which needs no draining
	}
	control := http.NewResponseController(answer)
	if control.Flush() != nil {
		return
	}
	_, err := io.CopyN(io.Discard, r.Body, maxDrained)
	if err == nil || err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF) { // the last: nothing comes later
		return
	}
	if conn, _, err := control.Hijack(); err == nil {
		conn.Close()
	}
}
