package health

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks/internal/store"
)

// waiting is a store with an alert that has been due for an hour.
type waiting struct{}

func (waiting) Probe(context.Context, bool) error { return nil }

func (waiting) Backlog(_ context.Context, now time.Time) (store.Backlog, error) {
	return store.Backlog{Pending: 1, OldestDue: now.Add(-time.Hour)}, nil
}

func (waiting) DueChannels(context.Context, time.Time, uuid.UUID, int) ([]store.DueChannel, error) {
	return []store.DueChannel{{Channel: uuid.New()}}, nil
}

// TestHealthWithSlowReceiver has alerts wait for a slow receiver. While any are tried, the monitor is healthy.
func TestHealthWithSlowReceiver(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	h := &Health{
		Vitals: &Vitals{Clock: func() time.Time { return now }}, Store: waiting{},
		Unreachable: func(context.Context) (string, error) { return "", nil },
		Delivers:    func() bool { return true }, Serves: func(uuid.UUID) bool { return true },
	}
	for _, step := range []struct {
		after   time.Duration
		attempt bool
		want    string
	}{
		{0, false, "are stuck: one has been due for 1h0m0s"},
		{0, true, ""},
		{5 * time.Minute, false, ""},
		{time.Second, false, "are stuck: one has been due for 1h0m0s"},
	} {
		now = now.Add(step.after)
		if step.attempt {
			h.Tried()
		}
		if got := h.deliveries(t.Context()); got.Problem != step.want {
			t.Errorf("after %v: %q, want %q", step.after, got.Problem, step.want)
		}
	}
}
