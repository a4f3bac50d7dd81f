package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/rollcall-dev/rollcall/checks"
)

const (
	// firstPause bounds the pause before the first retry. The bound doubles with each further retry.
	firstPause = 250 * time.Millisecond
	// longestPause bounds every pause except one that a Retry-After asks for.
	longestPause = 15 * time.Second
	// maxLimited bounds the 429s of a call. Their pauses grow up to longestPause, so that other calls with the key get their turn.
	maxLimited = 100
)

// do sends a request until it succeeds, must not be retried, or runs out of time or tries. It passes a response with a
// status of 200 to 299 to read. The pauses after a 429 take none of the time, and a 429 none of the tries; maxWait and maxLimited
// bound them.
func (c *caller) do(ctx context.Context, r request, read func(*http.Response) error) error {
	end := time.Now().Add(c.timeout)
	left := func() time.Duration {
		if own, ok := ctx.Deadline(); ok && own.Before(end) {
			return time.Until(own)
		}
		return time.Until(end)
	}
	mayWait, pauses := c.maxWait, pauser{}
	for sent, tries, limited := 0, 0, 0; ; {
		paused, err := c.pause.wait(ctx, mayWait)
		if err = cmp.Or(err, ctx.Err()); err != nil {
			return describe(ctx, r, sent, err)
		}
		mayWait, end = mayWait-paused, end.Add(paused)
		limit := left()
		if r.idempotent && tries+1 < c.tries {
			limit = min(limit, c.timeout/2)
		}
		sent++
		if err = c.try(ctx, r, limit, read); err == nil {
			return nil
		}
		wait := pauses.after(err)
		if refused, ok := errors.AsType[*Error](err); ok && refused.StatusCode == http.StatusTooManyRequests {
			if limited++; wait > mayWait || limited >= maxLimited {
				return describe(ctx, r, sent, err)
			}
			c.tell(err, wait)
			c.pause.begin(wait, refused)
			continue
		}
		tries++
		if tries >= c.tries || !mayRetry(err, r.idempotent) || left() <= wait {
			return describe(ctx, r, sent, err)
		}
		c.tell(err, wait)
		if sleep(ctx, wait) != nil {
			return describe(ctx, r, sent, err)
		}
	}
}

// tell says that a request is sent again after a pause.
func (c *caller) tell(err error, wait time.Duration) {
	if c.onRetry != nil {
		c.onRetry(err, wait)
	}
}

// pauser says how long to wait after a failed try. The zero value is for the first one.
type pauser struct{ bound time.Duration }

// after returns the pause, which is at least what the server asks for.
func (p *pauser) after(err error) time.Duration {
	p.bound = min(max(2*p.bound, firstPause), longestPause)
	wait := p.bound/2 + rand.N(p.bound/2)
	if refused, ok := errors.AsType[*Error](err); ok {
		wait = max(wait, refused.RetryAfter)
	}
	return wait
}

// pause keeps the calls of a client from sending requests after a 429.
type pause struct {
	mu    sync.Mutex
	until time.Time
	why   *Error
}

// begin pauses all calls.
func (p *pause) begin(length time.Duration, why *Error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if until := time.Now().Add(length); until.After(p.until) {
		p.until, p.why = until, why
	}
}

// wait waits for the end of the pause and returns how long that took. The error is the response that began the pause, if
// ctx ends before the pause or the pause ends later than in most.
func (p *pause) wait(ctx context.Context, most time.Duration) (time.Duration, error) {
	for began := time.Now(); ; {
		p.mu.Lock()
		left, why := time.Until(p.until), p.why
		p.mu.Unlock()
		waited := time.Since(began)
		if left <= 0 {
			return waited, nil
		}
		end, ok := ctx.Deadline()
		if waited+left > most || ok && time.Until(end) <= left || sleep(ctx, left) != nil {
			return waited, why
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

// describe adds the name of the request, the number of times that it was sent, and the error of ctx to an error.
func describe(ctx context.Context, r request, sent int, err error) error {
	if ended := ctx.Err(); ended != nil && !errors.Is(err, ended) {
		err = fmt.Errorf("%w: %w", ended, err)
	}
	if sent > 1 {
		return fmt.Errorf("client: %s: %w (after %d tries)", r.name, err, sent)
	}
	return fmt.Errorf("client: %s: %w", r.name, err)
}

// mayRetry reports whether another try can help and is safe.
func mayRetry(err error, idempotent bool) bool {
	if e, ok := errors.AsType[*Error](err); ok {
		if e.StatusCode == http.StatusTooManyRequests { // the server refused before it acted
			return true
		}
		return idempotent && !errors.Is(e, checks.ErrBodyCorrupt) && (isAway(e.StatusCode) || e.StatusCode == http.StatusInternalServerError)
	}
	if isCertificate(err) {
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
