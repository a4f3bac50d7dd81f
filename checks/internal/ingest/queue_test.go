package ingest

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/pings"
)

// waited calls wait for a queue and returns how long it took, with the lock held as take does.
func waited(q *queue) time.Duration {
	begin := time.Now()
	q.mu.Lock()
	defer q.mu.Unlock()
	q.wait()
	return time.Since(begin)
}

// stampNow is the stamp of a process that has always run.
func stampNow() (at, waitedSince time.Time) { return time.Now(), time.Time{} }

// TestWait asks whether and how long a batch waits for more pings: it does for callers that come back with their next ping.
func TestWait(t *testing.T) {
	const took = 2 * time.Millisecond
	for name, test := range map[string]struct {
		size, left int // of the last batch, and queued at its end
		took       time.Duration
		queued     int
		waits      time.Duration
		wanted     int // as many end the wait at once
	}{
		"callers come back":   {60, 4, took, 5, took, 64},
		"all are back":        {60, 4, took, 64, 0, 0},
		"more than fit":       {400, 120, took, 130, took, 512},
		"nothing queued":      {60, 0, took, 0, 0, 0},
		"a slow database":     {60, 4, time.Second, 5, maxWait, 64},
		"few callers":         {15, 0, took, 1, 0, 0},
		"one caller":          {1, 0, took, 1, 0, 0},
		"nothing written yet": {0, 0, 0, 1, 0, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			q := &queue{maxBatch: 512, maxQueue: 1000, now: time.Now, stamp: stampNow, clock: time.Now, running: true}
			if test.size > 0 {
				q.committed(test.size, test.left, test.took)
			}
			q.pings = make([]*queued, test.queued)
			if got := waited(q); got != test.waits {
				t.Errorf("%s: waits for %v, want %v", name, got, test.waits)
			}
			if test.wanted == 0 {
				return
			}
			q.skip = 0
			go func() {
				time.Sleep(time.Millisecond)
				for range test.wanted - test.queued {
					if _, err := q.add(&queued{}); err != nil {
						t.Error(err)
					}
				}
			}()
			if got := waited(q); got != time.Millisecond {
				t.Errorf("%s: waits for %v although all are back after 1ms", name, got)
			}
			synctest.Wait()
		})
	}
}

// TestWaitSkips counts the waits after one that did not pay off.
func TestWaitSkips(t *testing.T) {
	for _, test := range []struct{ back, waits int }{{64, 100}, {56, 100}, {55, 4}, {1, 4}} {
		synctest.Test(t, func(t *testing.T) {
			q := &queue{maxBatch: 512, maxQueue: 1000, now: time.Now, stamp: stampNow, clock: time.Now, running: true}
			q.committed(64, 0, time.Millisecond)
			waits := 0
			for range 100 {
				q.pings = make([]*queued, 1)
				go func() {
					for range test.back - 1 {
						time.Sleep(time.Microsecond)
						if _, err := q.add(&queued{}); err != nil {
							t.Error(err)
						}
					}
				}()
				if waited(q) > 0 {
					waits++
				}
				time.Sleep(time.Second)
				synctest.Wait()
			}
			if waits != test.waits {
				t.Errorf("%d of 64 callers come back: %d waits in 100 batches, want %d", test.back, waits, test.waits)
			}
		})
	}
}

// TestWaitEnds has callers come back while the queue waits for them. The wait ends with the last of them, or in time.
func TestWaitEnds(t *testing.T) {
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
			q := &queue{maxBatch: 512, maxQueue: 1000, running: true, now: time.Now, stamp: stampNow, clock: time.Now, pings: []*queued{{}}}
			q.committed(64, 0, 4*time.Millisecond)
			for range test.back - 1 {
				go func() {
					time.Sleep(3 * time.Millisecond)
					p := queued{check: uuid.New(), signal: pings.Signal{Kind: pings.Success}}
					if _, err := q.add(&p); err != nil {
						t.Error(err)
					}
				}()
			}
			if got := waited(q); got != test.waits {
				t.Errorf("%s: waited for %v, want %v", name, got, test.waits)
			}
			synctest.Wait()
			if len(q.pings) != test.back {
				t.Errorf("%s: %d pings are queued, want %d", name, len(q.pings), test.back)
			}
		})
	}
}
