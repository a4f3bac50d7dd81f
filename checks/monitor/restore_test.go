package monitor_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/pings"
)

// TestRestore undoes pauses and resumes: the check, its deadline and its statistics are as if they had not been.
func TestRestore(t *testing.T) {
	each(t, func(t *testing.T, s setup) {
		start := s.Now()
		c := s.create(t, checks.Spec{Timeout: new(time.Hour), Grace: new(10 * time.Minute)})
		s.ping(t, c.ID, pings.Success)
		s.clock.Advance(5 * time.Minute)
		s.ping(t, c.ID, pings.Start)
		before, err := s.Check(t.Context(), c.ID)
		must(t, err)
		s.clock.Advance(5 * time.Minute)
		paused, err := s.Pause(t.Context(), c.ID)
		must(t, err)
		s.clock.Advance(5 * time.Minute)
		if _, err := s.Restore(t.Context(), c.ID, before.State, s.Now()); !errors.Is(err, checks.ErrChanged) {
			t.Errorf("another pause: error %v, want ErrChanged", err)
		}
		got, err := s.Restore(t.Context(), c.ID, before.State, paused.StoredSince)
		must(t, err)
		if diff := cmp.Diff(before, got); diff != "" {
			t.Errorf("after a pause was undone (-before +now):\n%s", diff)
		}
		if times, err := s.Downtime(t.Context(), c.ID, start, s.Now()); err != nil || times.Up != 15*time.Minute {
			t.Errorf("the time is %+v, want 15 minutes up, error %v", times, err)
		}
		if list, err := s.Projects().Transitions(t.Context(), []uuid.UUID{c.ID}, start); err != nil || len(list[c.ID]) != 1 {
			t.Errorf("transitions %v, want one, error %v", list, err)
		}
		if _, err := s.Restore(t.Context(), c.ID, before.State, paused.StoredSince); !errors.Is(err, checks.ErrChanged) {
			t.Errorf("undone twice: error %v, want ErrChanged", err)
		}

		before, err = s.Pause(t.Context(), c.ID)
		must(t, err)
		s.clock.Advance(time.Minute)
		resumed, err := s.Resume(t.Context(), c.ID)
		must(t, err)
		got, err = s.Restore(t.Context(), c.ID, before.State, resumed.StoredSince)
		must(t, err)
		if diff := cmp.Diff(before, got); diff != "" {
			t.Errorf("after a resume was undone (-before +now):\n%s", diff)
		}
		s.ping(t, c.ID, pings.Success)
		if _, err := s.Restore(t.Context(), c.ID, before.State, before.StoredSince); !errors.Is(err, checks.ErrChanged) {
			t.Errorf("after a ping: error %v, want ErrChanged", err)
		}
	})
}
