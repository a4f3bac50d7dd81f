package server

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// TestPatience asks for the contexts of pings that come one after the other, and of one that comes much later.
func TestPatience(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const limit = 5 * time.Second
		p := patience{limit: limit}
		type key struct{}
		for i, wait := range []time.Duration{0, time.Millisecond, limit/shareable - time.Millisecond - 1, 1, limit / 2, 10 * limit} {
			time.Sleep(wait)
			request, cancel := context.WithCancel(context.WithValue(t.Context(), key{}, i))
			received := time.Now()
			ctx := p.of(request, received)
			if ctx.Value(key{}) != i {
				t.Errorf("ping %d has the values of another", i)
			}
			derived, stop := context.WithCancel(ctx)
			cancel()
			synctest.Wait()
			if ctx.Err() != nil || derived.Err() != nil {
				t.Errorf("ping %d is not waited for any more when its client is gone", i)
			}
			go func() {
				<-derived.Done()
				if waited := time.Since(received); waited > limit || waited <= limit-limit/shareable || ctx.Err() != context.DeadlineExceeded {
					t.Errorf("ping %d was waited for %v: %v", i, waited, ctx.Err())
				}
				stop()
			}()
		}
		time.Sleep(limit)
	})
}
