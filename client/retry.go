package client

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"sync"
	"time"
)

const (
	// firstPause bounds the pause before the first retry. The bound doubles with each further retry.
	firstPause = 250 * time.Millisecond
	// longestPause bounds every pause except one that a Retry-After asks for.
	longestPause = 15 * time.Second
)

// longestLimit is the longest pause that a 429 may ask for. A longer one ends the call.
const longestLimit = 15 * time.Minute

// do sends a request until it succeeds, must not be retried, or runs out of time or tries. It passes a response with a
// status of 200 to 299 to read, and then closes its body unless read keeps it. A pause of all calls takes none of the
// time, and a 429 none of the tries.
func (c *caller) do(ctx context.Context, r request, read func(*response) error) error {
	end := r.end
	if end.IsZero() {
		end = time.Now().Add(c.timeout)
	}
	left := func() time.Duration {
		if own, ok := ctx.Deadline(); ok && own.Before(end) {
			return time.Until(own)
		}
		return time.Until(end)
	}
	backoff := firstPause
	for n := 1; ; {
		if paused, err := c.pause.wait(ctx); err != nil {
			return describe(ctx, r, n, err)
		} else {
			end = end.Add(paused)
		}
		limit := left()
		if r.idempotent && n < c.tries {
			limit = min(limit, c.timeout/2)
		}
		err := c.try(ctx, r, limit, read)
		if err == nil {
			return nil
		}
		wait := backoff/2 + rand.N(backoff/2)
		backoff = min(2*backoff, longestPause)
		refused, _ := errors.AsType[*Error](err)
		if refused != nil {
			wait = max(wait, refused.RetryAfter)
		}
		switch limited := refused != nil && refused.StatusCode == http.StatusTooManyRequests; {
		case limited && wait <= longestLimit && c.pause.begin(wait, refused):
			continue
		case !limited && n >= c.tries, !mayRetry(err, r.idempotent), left() <= wait:
			return describe(ctx, r, n, err)
		case !limited:
			n++
		}
		if sleep(ctx, wait) != nil {
			return describe(ctx, r, n, err)
		}
	}
}

// pause keeps the calls of a client from sending requests after a 429.
type pause struct {
	mu    sync.Mutex
	until time.Time
	why   *Error
}

// begin pauses all calls. It returns false for a nil pause.
func (p *pause) begin(length time.Duration, why *Error) bool {
	if p == nil {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if until := time.Now().Add(length); until.After(p.until) {
		p.until, p.why = until, why
	}
	return true
}

// wait waits for the end of the pause and returns how long that took. The error is the response that began the pause, if
// ctx ends before the pause.
func (p *pause) wait(ctx context.Context) (time.Duration, error) {
	if p == nil {
		return 0, nil
	}
	for began := time.Now(); ; {
		p.mu.Lock()
		left, why := time.Until(p.until), p.why
		p.mu.Unlock()
		if left <= 0 {
			return time.Since(began), nil
		}
		if end, ok := ctx.Deadline(); ok && time.Until(end) <= left || sleep(ctx, left) != nil {
			return 0, why
		}
	}
}

// sleep waits. Its error is that of ctx.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// describe adds the name of the request, the number of tries and the error of ctx to an error.
func describe(ctx context.Context, r request, tries int, err error) error {
	if ended := ctx.Err(); ended != nil && !errors.Is(err, ended) {
		err = fmt.Errorf("%w: %w", ended, err)
	}
	if tries > 1 {
		return fmt.Errorf("client: %s: %w (after %d tries)", r.name, err, tries)
	}
	return fmt.Errorf("client: %s: %w", r.name, err)
}

// mayRetry reports whether another try can help and is safe.
func mayRetry(err error, idempotent bool) bool {
	if e, ok := errors.AsType[*Error](err); ok {
		switch e.StatusCode {
		case http.StatusTooManyRequests: // the server refused before it acted
			return true
		case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
			return idempotent
		}
		return false
	}
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return false
	}
	e, ok := errors.AsType[*connectionError](err)
	return ok && (idempotent || e.unsent)
}

// retryAfter returns how long a response asks to wait, 0 if it does not say. If the response has a Date header, a date
// in Retry-After counts from that, because the clocks may differ.
func retryAfter(res *http.Response, now time.Time) time.Duration {
	text := res.Header.Get("Retry-After")
	if seconds, err := strconv.ParseUint(text, 10, 32); err == nil {
		return time.Duration(seconds) * time.Second
	}
	until, err := http.ParseTime(text)
	if err != nil {
		return 0
	}
	if date, err := http.ParseTime(res.Header.Get("Date")); err == nil {
		now = date
	}
	return max(0, until.Sub(now))
}
