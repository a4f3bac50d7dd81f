package monitor

import (
	"testing"
	"time"
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
		"callers come back":         {lastBatch{60, 4, took, now}, 5, 64, took},
		"some time ago":             {lastBatch{60, 4, took, now.Add(-took / 2)}, 5, 64, took / 2},
		"long ago":                  {lastBatch{60, 4, took, now.Add(-took)}, 5, 0, 0},
		"all are back":              {lastBatch{60, 4, took, now}, 64, 0, 0},
		"more than fit":             {lastBatch{400, 120, took, now}, 130, 512, took},
		"nothing queued":            {lastBatch{60, 0, took, now}, 0, 0, 0},
		"a slow database":           {lastBatch{60, 4, time.Second, now}, 5, 64, maxAwait},
		"few callers":               {lastBatch{15, 0, took, now}, 1, 0, 0},
		"one caller":                {lastBatch{1, 0, took, now}, 1, 0, 0},
		"nothing written yet":       {lastBatch{}, 1, 0, 0},
		"pings at their own pace":   {lastBatch{20, 20, took, now}, 20, 0, 0},
		"the same after a wait":     {lastBatch{40, 20, took, now}, 20, 0, 0},
		"two halves that take turn": {lastBatch{32, 32, took, now}, 32, 0, 0},
	} {
		w := writer{maxBatch: 512, queue: make([]*pending, test.queued), last: test.last}
		if wanted, rest := w.toAwait(now); wanted != test.wanted || rest != test.rest {
			t.Errorf("%s: waits for %d pings and %v, want %d and %v", name, wanted, rest, test.wanted, test.rest)
		}
	}
	// Once in a while, it is tried whether two halves can be one.
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
