package limit

import (
	"context"
	"fmt"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"
)

// TestLines logs one event each interval, with the number of those that it has left out.
func TestLines(t *testing.T) {
	start := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for _, interval := range []time.Duration{0, time.Minute} {
		l := Lines{Interval: interval}
		if interval == 0 {
			interval = time.Second
		}
		for _, test := range []struct {
			after    time.Duration
			unlogged int
			ok       bool
		}{
			{0, 0, true}, {interval - 1, 0, false}, {interval - 1, 0, false}, {interval, 2, true}, {interval + 1, 0, false}, {2 * interval, 1, true},
			{0, 0, true}, // the clock was set back
		} {
			if unlogged, ok := l.Pass(start.Add(test.after)); unlogged != test.unlogged || ok != test.ok {
				t.Errorf("each %v, after %v: %d, %t, want %d, %t", interval, test.after, unlogged, ok, test.unlogged, test.ok)
			}
		}
	}
}

// TestNames logs each name once, and no more names than clients may fill the log with.
func TestNames(t *testing.T) {
	var n Names
	passed := 0
	for i := range 500 {
		for range 2 {
			if n.Pass(fmt.Sprint(i)) {
				passed++
			}
		}
	}
	if passed != maxNames {
		t.Errorf("%d names passed, want %d", passed, maxNames)
	}
}

// TestDetach: a request goes on when its client has closed its side, and ends by itself.
func TestDetach(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, gone := context.WithCancel(t.Context())
		r, cancel := Detach(httptest.NewRequest("GET", "/", nil).WithContext(ctx))
		defer cancel()
		gone()
		synctest.Wait()
		if err := r.Context().Err(); err != nil {
			t.Errorf("the request has ended: %v", err)
		}
		begin := time.Now()
		<-r.Context().Done()
		if took := time.Since(begin); took != AnswerTime {
			t.Errorf("the request ended after %v", took)
		}
	})
}
