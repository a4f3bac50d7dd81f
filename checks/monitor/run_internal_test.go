package monitor

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// TestRestful has a task in the background rest between its steps, in proportion to them, but no longer in all than it may.
func TestRestful(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		rest := func(pause func(), step time.Duration) time.Duration {
			time.Sleep(step)
			begin := time.Now()
			pause()
			return time.Since(begin)
		}
		const ms = time.Millisecond
		pause := restful(ctx, 50*ms)
		for _, test := range []struct{ step, want time.Duration }{
			{2 * ms, 8 * ms}, {0, 0}, {5 * ms, 20 * ms}, {100 * ms, 22 * ms}, {ms, 0}, {ms, 0},
		} {
			if got := rest(pause, test.step); got != test.want {
				t.Errorf("after a step of %v it rests for %v, want %v", test.step, got, test.want)
			}
		}
		pause = restful(ctx, time.Hour)
		time.AfterFunc(3*ms, cancel)
		if got := rest(pause, 2*ms); got != ms {
			t.Errorf("it rests for %v when it is to end after %v", got, ms)
		}
	})
}
