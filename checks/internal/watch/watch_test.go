package watch

import (
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks/internal/hold"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
)

// TestHorizon asks up to when deadlines may be judged.
func TestHorizon(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	ago := func(d time.Duration) time.Time { return now.Add(-d) }
	other := func(settled, seen, missing time.Duration) []store.SpoolState {
		s := store.SpoolState{ID: uuid.New(), SpoolID: uuid.New(), SettledAt: ago(settled), SeenAt: ago(seen)}
		if missing > 0 {
			s.MissingSince = ago(missing)
		}
		return []store.SpoolState{s}
	}
	for name, test := range map[string]struct {
		margin, received time.Duration
		states           []store.SpoolState
		back             time.Duration // how long ago the database came back
		want             time.Duration // ago, or -1 for none
		missing          int
	}{
		"alone":                               {},
		"with a margin":                       {margin: 2 * time.Second, want: 2 * time.Second},
		"with an older ping on its way":       {margin: 2 * time.Second, received: 5 * time.Second, want: 5 * time.Second},
		"with a newer ping on its way":        {margin: 2 * time.Second, received: time.Second, want: 2 * time.Second},
		"with a ping in another spool":        {states: other(8*time.Second, time.Second, 0), back: time.Hour, want: 8 * time.Second},
		"with a monitor that goes missing":    {states: other(8*time.Second, 7*time.Second, 0), back: time.Hour, want: 8 * time.Second, missing: 1},
		"with a monitor that is missing":      {states: other(8*time.Second, 7*time.Second, 4*time.Second), back: time.Hour, want: 8 * time.Second},
		"with a monitor that was waited for":  {states: other(time.Hour, time.Hour, time.Minute), back: time.Hour},
		"just after an outage":                {states: other(0, 0, 0), back: time.Second, want: -1},
		"just after an outage without spools": {back: time.Second},
	} {
		w := New(Config{Margin: test.margin, Hold: hold.Rule{Wait: time.Minute}})
		if test.back > 0 {
			w.database.lost()
			w.database.justBack(ago(test.back))
		}
		got, missing := w.horizon(test.states, time.Time{}, now, ago(test.received)), len(w.Hold.Missing(test.states, now))
		want := ago(test.want)
		if test.want < 0 {
			want = time.Time{}
		}
		if !got.Equal(want) || missing != test.missing {
			t.Errorf("%s: %v, %d missing; want %v, %d", name, got, missing, want, test.missing)
		}
	}
}
