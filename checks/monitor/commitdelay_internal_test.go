package monitor

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/pings"
)

// TestCommitDelay asks whether a batch waits for more pings: it does for callers that come back with their next ping.
func TestCommitDelay(t *testing.T) {
	const took = 2 * time.Millisecond
	for name, test := range map[string]struct {
		size, left int // of the last batch, and queued at its end
		took       time.Duration
		queued     int
		wanted     int
		atMost     time.Duration
	}{
		"callers come back":   {60, 4, took, 5, 64, took},
		"all are back":        {60, 4, took, 64, 0, 0},
		"more than fit":       {400, 120, took, 130, 512, took},
		"nothing queued":      {60, 0, took, 0, 0, 0},
		"a slow database":     {60, 4, time.Second, 5, 64, maxWait},
		"few callers":         {15, 0, took, 1, 0, 0},
		"one caller":          {1, 0, took, 1, 0, 0},
		"nothing written yet": {0, 0, 0, 1, 0, 0},
	} {
		var d commitDelay
		d.committed(test.size, test.left, test.took)
		if wanted, atMost := d.next(test.queued, 512); wanted != test.wanted || atMost != test.atMost {
			t.Errorf("%s: waits for %d pings and %v, want %d and %v", name, wanted, atMost, test.wanted, test.atMost)
		}
	}
}

// TestCommitDelaySkips counts the waits after one that did not pay off.
func TestCommitDelaySkips(t *testing.T) {
	for _, test := range []struct{ back, waits int }{{64, 100}, {56, 100}, {55, 4}, {1, 4}} {
		var d commitDelay
		d.committed(64, 0, time.Millisecond)
		waits := 0
		for range 100 {
			if wanted, _ := d.next(1, 512); wanted > 0 {
				waits++
				d.waited(wanted, test.back)
			}
		}
		if waits != test.waits {
			t.Errorf("%d of 64 callers come back: %d waits in 100 batches, want %d", test.back, waits, test.waits)
		}
	}
}

// TestAwait has callers come back while the writer waits for them. The wait ends with the last of them, or in time.
func TestAwait(t *testing.T) {
	for name, test := range map[string]struct {
		back  int
		waits time.Duration
	}{
		"all":          {64, 3 * time.Millisecond},
		"more":         {70, 3 * time.Millisecond},
		"half of them": {32, 4 * time.Millisecond},
		"nobody":       {1, 4 * time.Millisecond},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := writer{maxBatch: 512, maxQueue: 1000, running: true, now: time.Now, queue: []*queuedPing{{}}}
			w.delay.committed(64, 0, 4*time.Millisecond)
			for range test.back - 1 {
				go func() {
					time.Sleep(3 * time.Millisecond)
					p := queuedPing{check: uuid.New(), signal: pings.Signal{Kind: pings.Success}}
					if err := w.enqueue(&p); err != nil {
						t.Error(err)
					}
				}()
			}
			begin := time.Now()
			w.await()
			if waited := time.Since(begin); waited != test.waits {
				t.Errorf("%s: waited for %v, want %v", name, waited, test.waits)
			}
			synctest.Wait()
			if len(w.queue) != test.back {
				t.Errorf("%s: %d pings are queued, want %d", name, len(w.queue), test.back)
			}
		})
	}
}
