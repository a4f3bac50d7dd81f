package hold

import (
	"context"
	"errors"
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

// TestMerge asks how far pings out of spools can be merged: up to what every other monitor has recorded.
func TestMerge(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	since := now.Add(-time.Minute)
	mine := uuid.New()
	state := func(settled, seen time.Duration) store.SpoolState {
		return store.SpoolState{ID: uuid.New(), SpoolID: uuid.New(), SettledAt: now.Add(-settled), SeenAt: now.Add(-seen)}
	}
	given := state(time.Hour, time.Hour)
	given.MissingSince = now.Add(-time.Minute)
	own := state(time.Hour, time.Hour)
	own.SpoolID = mine
	all := Merge{UpTo: now, Complete: true, Present: true}
	for name, test := range map[string]struct {
		states []store.SpoolState
		want   Merge
	}{
		"alone":                          {nil, all},
		"this monitor's own spool":       {[]store.SpoolState{own}, all},
		"an empty spool":                 {[]store.SpoolState{state(emptied, 0)}, all},
		"a spool with pings":             {[]store.SpoolState{state(9*time.Second, 0), state(5*time.Second, 0)}, Merge{now.Add(-9 * time.Second), false, true}},
		"a monitor without the database": {[]store.SpoolState{state(4*time.Second, 4*time.Second)}, Merge{now.Add(-4 * time.Second), false, false}},
		"one not seen since the outage":  {[]store.SpoolState{state(2*time.Minute, 2*time.Minute)}, Merge{now.Add(-2 * time.Minute), false, false}},
		"one that was waited for":        {[]store.SpoolState{given}, all},
	} {
		if got := (Rule{Spool: mine, Wait: time.Minute}).Merge(test.states, since, now); got != test.want {
			t.Errorf("%s: %+v, want %+v", name, got, test.want)
		}
	}
}

// spools is what a transaction reads, and how often.
type spools struct {
	states []store.SpoolState
	err    error
	reads  int
}

func (s *spools) Spools(context.Context) ([]store.SpoolState, time.Time, error) {
	s.reads++
	return s.states, time.Time{}, s.err
}

// TestJudge: a transaction reads the states once, and only if a deadline has passed. Without them no deadline is judged.
func TestJudge(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	tx := &spools{states: []store.SpoolState{{SpoolID: uuid.New(), SeenAt: now, SettledAt: now.Add(-time.Minute)}}}
	judge := Rule{}.Judge(t.Context(), tx, func() time.Time { return now })
	for _, deadline := range []time.Time{{}, now.Add(time.Second)} {
		if err := judge(deadline, now); err != nil || tx.reads != 0 {
			t.Errorf("%v: %v after %d reads", deadline, err, tx.reads)
		}
	}
	for _, test := range []struct {
		ago  time.Duration
		want error
	}{{2 * time.Minute, nil}, {time.Minute, nil}, {59 * time.Second, ErrHeld}} {
		if err := judge(now.Add(-test.ago), now); !errors.Is(err, test.want) || tx.reads != 1 {
			t.Errorf("%v ago: %v after %d reads, want %v after one", test.ago, err, tx.reads, test.want)
		}
	}
	tx.err = errors.New("away")
	if err := (Rule{}).Judge(t.Context(), tx, func() time.Time { return now })(now, now); !errors.Is(err, store.ErrUnavailable) || !errors.Is(err, tx.err) {
		t.Errorf("without the states: %v", err)
	}
}
