package timeline_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/flips"
	"github.com/rollcall-dev/rollcall/pings"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/timeline"
)

// TestProperties holds a timeline of random pings against the log and the transitions of the state machine.
func TestProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		spec := rapid.SampledFrom([]checks.Spec{nightly, hourly, {Schedule: new("*/30 * * * *"), Grace: new(45 * time.Minute)},
			{Schedule: new("15 * * * *"), TZ: new("Europe/Riga"), Grace: new(time.Minute), MaxRuntime: new(3 * time.Hour)}}).Draw(t, "spec")
		j := newJob(t, spec, day)
		now := day
		for range rapid.IntRange(0, 40).Draw(t, "events") {
			now = now.Add(time.Duration(rapid.IntRange(1, 200).Draw(t, "minutes")) * time.Minute)
			if rapid.IntRange(0, 15).Draw(t, "pause") == 0 {
				j.pause(now)
				continue
			}
			s := pings.Signal{Kind: rapid.SampledFrom([]pings.Kind{pings.Start, pings.Success, pings.Failure, pings.Log}).Draw(t, "kind")}
			s.RunID = rapid.SampledFrom([]uuid.NullUUID{{}, {}, runA, runB}).Draw(t, "run")
			if rapid.IntRange(0, 10).Draw(t, "queued") == 0 {
				s.At = now.Add(-time.Duration(rapid.IntRange(1, 300).Draw(t, "ago")) * time.Minute)
				if s.Kind == pings.Start {
					s.RunID = uuid.NullUUID{} // or a later start with the identifier may repeat it: the log does not say that this one began no run
				}
			}
			j.ping(s, now)
		}
		now = now.Add(time.Duration(rapid.IntRange(0, 3000).Draw(t, "rest")) * time.Minute)
		limit := rapid.SampledFrom([]int{1000, 7}).Draw(t, "limit")
		since := now.Add(-24 * time.Hour)
		line := j.of(since, now, limit)

		ends := make(map[int64]timeline.Run)
		for i, r := range line.Runs {
			if i > 0 && r.Start.Before(line.Runs[i-1].Start) {
				t.Fatalf("run %d is out of order", i)
			}
			if !r.End.IsZero() && (r.End.Before(r.Start) || r.End.Before(line.Since)) || r.Start.After(now) {
				t.Errorf("%+v ends too early, or begins after now", r)
			}
			if r.EndN > 0 {
				if _, twice := ends[r.EndN]; twice {
					t.Errorf("ping %d ended two runs", r.EndN)
				}
				ends[r.EndN] = r
			}
			if r.Result == timeline.Missed {
				for _, other := range line.Runs {
					if came := other.StartN+other.EndN > 0 && other.Start.After(r.Start) && !other.Start.After(r.Limit); came {
						t.Errorf("%+v came with %+v", r, other)
					}
				}
			}
		}
		for _, p := range j.log[max(0, len(j.log)-limit):] {
			if p.At.Before(line.Since) || p.Kind != pings.Success && p.Kind != pings.Failure {
				continue
			}
			if r, found := ends[p.N]; !found || r.Result != timeline.Result(p.Kind) || !r.End.Equal(p.At) ||
				p.Duration != nil && r.End.Sub(r.Start).Round(10*time.Millisecond) != *p.Duration {
				t.Errorf("ping %+v is in %+v", p, r)
			}
		}
		_, effects := j.Settle(now)
		for _, tr := range append(j.transitions, effects.Transitions...) {
			if tr.Reason != flips.Overdue && tr.Reason != flips.Overrun || tr.At.Before(line.Since) || limit < len(j.log) {
				continue
			}
			if !covered(line.Runs, tr.At, j.RunLimit(), now) {
				t.Errorf("%+v has no run: %v", tr, text(line.Runs))
			}
		}
	})
}

// covered reports whether a run explains why the check went down: it did not come, it went on, or a ping that waited in a
// queue said later that it had come.
func covered(runs []timeline.Run, down time.Time, limit time.Duration, now time.Time) bool {
	for _, r := range runs {
		end := r.End
		if end.IsZero() {
			end = now
		}
		if !r.Start.After(down) && !end.Before(down.Add(-limit)) {
			return true
		}
	}
	return false
}
