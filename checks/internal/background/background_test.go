package background

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// TestPaced has a background task pause between its steps, in proportion to them, up to its budget.
func TestPaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		wait := func(pause func(), step time.Duration) time.Duration {
			time.Sleep(step)
			begin := time.Now()
			pause()
			return time.Since(begin)
		}
		const ms = time.Millisecond
		pause := Paced(ctx, 50*ms)
		for _, test := range []struct{ step, want time.Duration }{
			{2 * ms, 8 * ms}, {0, 0}, {5 * ms, 20 * ms}, {100 * ms, 22 * ms}, {ms, 0}, {ms, 0},
		} {
			if got := wait(pause, test.step); got != test.want {
				t.Errorf("after a step of %v it pauses for %v, want %v", test.step, got, test.want)
			}
		}
		pause = Paced(ctx, time.Hour)
		time.AfterFunc(3*ms, cancel)
		if got := wait(pause, 2*ms); got != ms {
			t.Errorf("it pauses for %v although ctx ends after %v", got, ms)
		}
	})
}
