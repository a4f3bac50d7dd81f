package server

import (
	"context"
	"sync/atomic"
	"time"
)

// patience gives pings contexts that end when they have been waited for long enough. Pings that come shortly after one
// another share the timer of the first, as one for each would be a noticeable part of their cost.
type patience struct {
	limit  time.Duration
	latest atomic.Pointer[term]
}

// term is the time that is given to the pings of an interval.
type term struct {
	context.Context
	began time.Time
}

// shareable is the part of the limit in which pings share a term: so much less may the last of them be waited for.
const shareable = 50

// of returns a context with the values of a request that ends the limit after now, or up to a shareable part of it
// earlier, and not with the request.
func (p *patience) of(request context.Context, now time.Time) context.Context {
	t := p.latest.Load()
	if t == nil || now.Sub(t.began) >= p.limit/shareable {
		ctx, cancel := context.WithDeadline(context.Background(), now.Add(p.limit))
		context.AfterFunc(ctx, cancel)
		t = &term{ctx, now}
		p.latest.Store(t)
	}
	return waiting{t.Context, request}
}

// waiting is a context that ends with one and has the values of another.
type waiting struct {
	context.Context
	values context.Context
}

// Value returns the value of the request.
func (w waiting) Value(key any) any { return w.values.Value(key) }
