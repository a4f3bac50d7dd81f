package monitor

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
)

// waiting is a store with an alert that has been due for an hour.
type waiting struct{ store.Store }

func (w waiting) Contract() any { return w }

func (waiting) Sharder() store.Sharder { return nil }

func (waiting) Announce(context.Context, string) error { return errors.ErrUnsupported }

func (waiting) Backlog(_ context.Context, now time.Time) (store.Backlog, error) {
	return store.Backlog{Pending: 1, OldestDue: now.Add(-time.Hour)}, nil
}

func (waiting) DueChannels(context.Context, time.Time, uuid.UUID, int) ([]store.DueChannel, error) {
	return []store.DueChannel{{Channel: uuid.New()}}, nil
}

// TestHealthWithSlowReceiver has alerts wait for a slow receiver. While any are tried, the monitor is healthy.
func TestHealthWithSlowReceiver(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	m, err := New(waiting{}, &Config{
		Now:     func() time.Time { return now },
		OnAlert: func(context.Context, channels.Notification) error { return nil },
		Channels: []channels.Type{{Kind: "pager", Notifier: channels.NotifierFunc(
			func(context.Context, channels.Channel, channels.Notification) error { return nil })}},
	})
	if err != nil {
		t.Fatal(err)
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
			m.pulse.attempt()
		}
		if got := m.backlogHealth(t.Context()); got.Problem != step.want {
			t.Errorf("after %v: %q, want %q", step.after, got.Problem, step.want)
		}
	}
}
