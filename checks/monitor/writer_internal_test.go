package monitor

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/pings"
)

// TestAwait asks the writer whether its next batch waits for more pings, which PERFORMANCE.md promises for callers that
// come back with their next ping, and for nobody else.
func TestAwait(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	const took = 2 * time.Millisecond
	for name, test := range map[string]struct {
		last   lastBatch
		queued int
		wanted int
		rest   time.Duration
	}{
		"callers come back":   {lastBatch{60, 4, took, now}, 5, 64, took},
		"some time ago":       {lastBatch{60, 4, took, now.Add(-took / 2)}, 5, 64, took / 2},
		"long ago":            {lastBatch{60, 4, took, now.Add(-took)}, 5, 0, 0},
		"all are back":        {lastBatch{60, 4, took, now}, 64, 0, 0},
		"more than fit":       {lastBatch{400, 120, took, now}, 130, 512, took},
		"nothing queued":      {lastBatch{60, 0, took, now}, 0, 0, 0},
		"a slow database":     {lastBatch{60, 4, time.Second, now}, 5, 64, maxAwait},
		"few callers":         {lastBatch{15, 0, took, now}, 1, 0, 0},
		"one caller":          {lastBatch{1, 0, took, now}, 1, 0, 0},
		"nothing written yet": {lastBatch{}, 1, 0, 0},
	} {
		w := writer{maxBatch: 512, queue: make([]*pending, test.queued), last: test.last, worth: true}
		if wanted, rest := w.toAwait(now); wanted != test.wanted || rest != test.rest {
			t.Errorf("%s: waits for %d pings and %v, want %d and %v", name, wanted, rest, test.wanted, test.rest)
		}
	}
	// Where the last wait was in vain, as pings come at a pace of their own, there is another once in a while.
	w := writer{maxBatch: 512, queue: make([]*pending, 20), last: lastBatch{32, 32, took, now}}
	waits := 0
	for range 10 * (awaitAgain + 1) {
		if wanted, _ := w.toAwait(now); wanted > 0 {
			waits++
		}
	}
	if waits != 10 {
		t.Errorf("it waited %d times, want 10", waits)
	}
}

// TestAwaitIsWorth lets callers come back, or not, while they are waited for.
func TestAwaitIsWorth(t *testing.T) {
	for name, test := range map[string]struct {
		back  int
		worth bool
		took  time.Duration
	}{
		"all":          {64, true, 3 * time.Millisecond},
		"most":         {56, true, 4 * time.Millisecond},
		"half of them": {32, false, 4 * time.Millisecond},
		"nobody":       {1, false, 4 * time.Millisecond},
	} {
		synctest.Test(t, func(t *testing.T) {
			last := lastBatch{64, 0, 4 * time.Millisecond, time.Now()}
			w := writer{
				maxBatch: 512, maxQueue: 1000, running: true, last: last, worth: true, enough: make(chan struct{}, 1),
				queue: []*pending{{}},
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			for range test.back - 1 {
				go func() {
					time.Sleep(3 * time.Millisecond)
					_, _ = w.submit(ctx, uuid.Nil, pings.Signal{}, time.Now()) // nobody answers it
				}()
			}
			begin := time.Now()
			w.await()
			if took := time.Since(begin); took != test.took || w.worth != test.worth || w.wanted != 0 {
				t.Errorf("%s: it waited for %v, worth %v, then for %d pings", name, took, w.worth, w.wanted)
			}
		})
	}
}
