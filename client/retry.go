package client

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"
)

const (
	// firstPause bounds the pause before the first retry. The bound doubles with each further retry.
	firstPause = 250 * time.Millisecond
	// longestPause bounds every pause except one that a Retry-After asks for.
	longestPause = 15 * time.Second
)

// do sends a request until it succeeds, must not be retried, or runs out of time or tries. It passes a response with a
// status of 200 to 299 to read, and then closes its body unless read keeps it.
func (c *caller) do(ctx context.Context, r request, read func(*response) error) error {
	end := time.Now().Add(c.timeout)
	if own, ok := ctx.Deadline(); ok && own.Before(end) {
		end = own
	}
	pause := firstPause
	for n := 1; ; n++ {
		limit := time.Until(end)
		if r.idempotent && n < c.tries {
			limit = min(limit, c.timeout/2)
		}
		err := c.try(ctx, r, limit, read)
		if err == nil {
			return nil
		}
		wait := pause/2 + rand.N(pause/2)
		pause = min(2*pause, longestPause)
		if refused, ok := errors.AsType[*Error](err); ok {
			wait = max(wait, refused.RetryAfter)
		}
		if n >= c.tries || !mayRetry(err, r.idempotent) || time.Until(end) <= wait {
			return describe(ctx, r, n, err)
		}
		select {
		case <-ctx.Done():
			return describe(ctx, r, n, err)
		case <-time.After(wait):
		}
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
