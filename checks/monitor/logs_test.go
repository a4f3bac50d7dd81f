package monitor_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/timeline"
	"github.com/rollcall-dev/rollcall/pings"
)

func TestLogs(t *testing.T) {
	each(t, func(t *testing.T, s setup) {
		a, b, silent := s.create(t, everyMinute()), s.create(t, checks.Spec{}), s.create(t, checks.Spec{})
		ids := []uuid.UUID{a.ID, b.ID, silent.ID, uuid.New()}
		start := s.clock.Now()
		s.ping(t, a.ID, pings.Start)
		s.ping(t, b.ID, pings.Start)
		s.clock.Advance(30 * time.Second)
		s.ping(t, a.ID, pings.Success)
		s.ping(t, b.ID, pings.Fail)
		s.clock.Advance(90 * time.Second)
		// The second time the transition is in the database.
		for _, after := range [][]timeline.Result{{timeline.Late}, {timeline.Missed, timeline.Late}} {
			logs, err := s.Logs(t.Context(), s.project.ID, ids, start, 100)
			must(t, err)
			if len(logs) != 2 {
				t.Errorf("%d logs, want 2", len(logs))
			}
			for id, want := range map[uuid.UUID][]timeline.Result{a.ID: append([]timeline.Result{timeline.Success}, after...), b.ID: {timeline.Fail}, silent.ID: nil} {
				c, err := s.Check(t.Context(), id)
				must(t, err)
				line := timeline.Of(c, logs[id], start, s.clock.Now())
				if !line.Since.Equal(start) || len(line.Runs) != len(want) {
					t.Fatalf("timeline %+v, want %v", line, want)
				}
				for i, r := range line.Runs {
					if r.Result != want[i] || i == 0 && (!r.Start.Equal(start) || r.End.Sub(r.Start) != 30*time.Second) {
						t.Errorf("run %d: %+v, want %s", i, r, want[i])
					}
				}
			}
			s.clock.Advance(30 * time.Second)
			_, err = s.Sweep(t.Context())
			must(t, err)
		}
		if logs, err := s.Logs(t.Context(), s.project.ID, ids[:1], start, 1); err != nil || len(logs[a.ID].Pings) != 1 {
			t.Errorf("of one ping: %+v, %v", logs, err)
		}
		if _, err := s.Logs(t.Context(), uuid.New(), nil, start, 100); !errors.Is(err, checks.ErrNotFound) {
			t.Errorf("of an unknown project: error %v", err)
		}
	})
}
