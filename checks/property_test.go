package checks_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/pings"
)

// history is a check with random events at random instants.
type history struct {
	check checks.Check
	now   time.Time
	made  []checks.Transition
}

func newHistory(t *rapid.T) *history {
	spec := checks.Spec{Timeout: new(time.Hour), Grace: new(10 * time.Minute), ManualResume: new(rapid.Bool().Draw(t, "manual"))}
	if rapid.Bool().Draw(t, "limited") {
		spec.MaxRuntime = new(time.Duration(rapid.IntRange(1, 90).Draw(t, "max_runtime")) * time.Minute)
	}
	if rapid.Bool().Draw(t, "cron") {
		spec.Schedule, spec.TZ = new("*/30 * * * *"), new("Europe/Riga")
	}
	c, err := checks.New(uuid.New(), spec, noon)
	if err != nil {
		t.Fatal(err)
	}
	return &history{check: c, now: noon}
}

func (h *history) event(t *rapid.T) {
	h.now = h.now.Add(time.Duration(rapid.IntRange(0, 90).Draw(t, "minutes")) * time.Minute)
	var made checks.Effects
	switch do := rapid.IntRange(0, 7).Draw(t, "event"); do {
	case 0:
		h.check, made = h.check.Pause(h.now)
	case 1:
		var err error
		if h.check, err = h.check.Resume(h.now); err != nil { // nothing happened, so nothing was settled either
			h.check, made = h.check.Settle(h.now)
		}
	case 2:
		var err error
		grace := time.Duration(rapid.IntRange(1, 60).Draw(t, "grace")) * time.Minute
		if h.check, made, err = h.check.Update(checks.Spec{Grace: &grace}, h.now); err != nil {
			t.Fatal(err)
		}
	default:
		kind := []pings.Kind{pings.Success, pings.Start, pings.Failure, pings.Log, pings.Success}[do-3]
		var run uuid.NullUUID
		if n := rapid.ByteRange(0, 2).Draw(t, "run"); n > 0 {
			run = uuid.NullUUID{UUID: uuid.UUID{n}, Valid: true}
		}
		h.check, _, made, _ = h.check.Ping(pings.Signal{Kind: kind, RunID: run}, h.now)
	}
	h.made = append(h.made, made.Transitions...)
}

func TestProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := newHistory(t)
		for range rapid.IntRange(1, 30).Draw(t, "events") {
			h.event(t)
			c, now := h.check, h.now
			if d := c.Deadline(); !d.IsZero() {
				if c.Status(d.Add(-1)) == checks.StatusDown || c.Status(d) != checks.StatusDown {
					t.Fatalf("the deadline is %v: %v before, %v at it", d, c.Status(d.Add(-1)), c.Status(d))
				}
				if !d.After(now) {
					t.Fatalf("an event at %v left the deadline %v", now, d)
				}
			}
			switch c.Status(now) {
			case checks.StatusUp, checks.StatusGrace:
				if c.LastPing.IsZero() {
					t.Fatal("up without a ping")
				}
			default:
				if !c.NextPing(now).IsZero() {
					t.Fatalf("%v with a next ping", c.Status(now))
				}
			}
			settled, made := c.Settle(now.Add(time.Hour))
			if again, more := settled.Settle(now.Add(time.Hour)); len(more.Transitions) > 0 || len(made.Transitions) > 1 || again.Stored != settled.Stored {
				t.Fatalf("settling twice: %v, then %v", made, more)
			}
		}
		for i, tr := range h.made {
			if tr.From == tr.To || tr.To != checks.StatusUp && tr.To != checks.StatusDown {
				t.Fatalf("transition %+v", tr)
			}
			if i > 0 && tr.At.Before(h.made[i-1].At) {
				t.Fatalf("transition %+v comes after %+v", tr, h.made[i-1])
			}
		}
	})
}

// TestWatcherMakesNoDifference applies the same events to two checks and settles one of them at random instants in
// between. Whether and when a watcher looks must make no difference.
func TestWatcherMakesNoDifference(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		watched := newHistory(t)
		alone := &history{check: watched.check, now: watched.now}
		for range rapid.IntRange(1, 20).Draw(t, "events") {
			gap := time.Duration(rapid.IntRange(0, 120).Draw(t, "gap")) * time.Minute
			watch := rapid.SliceOfN(rapid.IntRange(0, int(gap/time.Minute)), 0, 4).Draw(t, "watch")
			for _, m := range watch {
				c, made := watched.check.Settle(watched.now.Add(time.Duration(m) * time.Minute))
				watched.check, watched.made = c, append(watched.made, made.Transitions...)
			}
			kind := rapid.SampledFrom([]pings.Kind{pings.Success, pings.Start, pings.Failure, pings.Log}).Draw(t, "kind")
			for _, h := range []*history{watched, alone} {
				h.now = h.now.Add(gap)
				var made checks.Effects
				h.check, _, made, _ = h.check.Ping(pings.Signal{Kind: kind}, h.now)
				h.made = append(h.made, made.Transitions...)
			}
			if diff := cmp.Diff(alone.check, watched.check); diff != "" {
				t.Fatalf("a watcher made a difference:\n%s", diff)
			}
			if diff := cmp.Diff(alone.made, watched.made); diff != "" {
				t.Fatalf("a watcher made a difference in flips:\n%s", diff)
			}
		}
	})
}
