package limit

import (
	"testing"
	"time"

	"github.com/google/uuid"
)

func TestRequests(t *testing.T) {
	now := time.Date(2026, 3, 15, 12, 0, 0, 0, time.UTC)
	l := NewRequests[uuid.UUID](2, 2, func() time.Time { return now })
	a, b := uuid.New(), uuid.New()
	steps := []struct {
		wait time.Duration
		key  uuid.UUID
		want time.Duration
	}{
		{0, a, 0}, {0, a, 0}, {0, a, 30 * time.Second}, {0, a, 30 * time.Second}, {0, b, 0},
		{29 * time.Second, a, time.Second}, {time.Second, a, 0}, {0, a, 30 * time.Second},
		{-time.Hour, b, 0}, // the clock is set back
		{2 * time.Hour, a, 0}, {0, a, 0}, {0, a, 30 * time.Second},
	}
	for i, step := range steps {
		now = now.Add(step.wait)
		if got := l.Wait(step.key).Round(time.Microsecond); got != step.want { // the limiter computes in floating point
			t.Errorf("step %d: wait %v, want %v", i, got, step.want)
		}
	}
	for range 10_000 {
		l.Wait(uuid.New())
	}
	now = now.Add(2 * l.refill)
	l.Wait(a)
	if len(l.clients) != 1 {
		t.Errorf("the limiter has %d clients, want 1", len(l.clients))
	}
}
