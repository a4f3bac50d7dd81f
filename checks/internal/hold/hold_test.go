package hold

import (
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks/internal/store"
)

// TestUntil asks up to when deadlines may be judged, with the states of other monitors and of this one.
func TestUntil(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	ago := func(d time.Duration) time.Time { return now.Add(-d) }
	mine, theirs := uuid.New(), uuid.New()
	rule := Rule{Spool: mine, Wait: time.Minute}
	state := func(spool uuid.UUID, settled, seen time.Duration) store.SpoolState {
		return store.SpoolState{ID: uuid.New(), SpoolID: spool, SettledAt: ago(settled), SeenAt: ago(seen)}
	}
	missing := func(s store.SpoolState, since time.Duration) store.SpoolState {
		s.MissingSince = ago(since)
		return s
	}
	for name, test := range map[string]struct {
		states []store.SpoolState
		oldest time.Duration // ago, 0 for none
		want   time.Duration // ago
	}{
		"no spools":                            {},
		"another spool with pings":             {states: []store.SpoolState{state(theirs, 9*time.Second, 0)}, want: 9 * time.Second},
		"this monitor's own spool":             {states: []store.SpoolState{state(mine, 9*time.Second, 0)}},
		"an earlier run with the same spool":   {states: []store.SpoolState{state(theirs, time.Hour, time.Hour), state(theirs, 0, 0)}},
		"a monitor that is missing":            {states: []store.SpoolState{missing(state(theirs, time.Hour, time.Hour), 59*time.Second)}, want: time.Hour},
		"a monitor that was waited for":        {states: []store.SpoolState{missing(state(theirs, time.Hour, time.Hour), time.Minute)}},
		"a ping that waits in the database":    {states: []store.SpoolState{state(theirs, 0, 0)}, oldest: time.Minute, want: time.Minute},
		"a ping that nobody is there to merge": {states: []store.SpoolState{missing(state(theirs, 0, time.Hour), time.Hour)}, oldest: time.Minute},
	} {
		var oldest time.Time
		if test.oldest > 0 {
			oldest = ago(test.oldest)
		}
		if got := rule.Until(test.states, oldest, now); !got.Equal(ago(test.want)) {
			t.Errorf("%s: %v, want %v", name, got, ago(test.want))
		}
	}
}

// TestMissing notes monitors that no longer save their state, once, and never this one.
func TestMissing(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	mine, late, known, present := uuid.New(), uuid.New(), uuid.New(), uuid.New()
	states := []store.SpoolState{
		{SpoolID: mine, SeenAt: now.Add(-time.Hour)},
		{SpoolID: late, SeenAt: now.Add(-MissingAfter - time.Microsecond)},
		{SpoolID: known, SeenAt: now.Add(-time.Hour), MissingSince: now.Add(-time.Minute)},
		{SpoolID: present, SeenAt: now.Add(-MissingAfter)},
	}
	got := Rule{Spool: mine}.Missing(states, now)
	if len(got) != 1 || got[0].SpoolID != late || !got[0].MissingSince.Equal(now) {
		t.Errorf("missing: %+v", got)
	}
}
