package gate_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/rollcall-dev/rollcall/checks/gate"
)

// departure is a message to a channel, with when the alerts in it were raised.
type departure struct {
	at     time.Duration
	alerts []time.Duration
}

// leave lets alerts about different checks leave as a courier does: one that waits leaves with all others that wait.
func leave(s gate.Storm, raised []time.Duration) (sent []departure) {
	start := time.Date(2026, time.March, 15, 4, 0, 0, 0, time.UTC)
	var b gate.Burst
	var held []time.Duration
	var until time.Time
	depart := func(now time.Time, alerts ...time.Duration) {
		b.Left(now)
		sent = append(sent, departure{now.Sub(start), alerts})
	}
	release := func(now time.Time) {
		if len(held) > 0 && !until.After(now) {
			depart(until, held...)
			held = nil
		}
	}
	for i, at := range raised {
		now := start.Add(at)
		release(now)
		b.Want(s, uuid.UUID{byte(i >> 8), byte(i)}, now)
		switch d := b.Decide(s, now, now); {
		case d.Action == gate.Wait:
			if len(held) > 0 && !d.Until.Equal(until) {
				panic("alerts that wait leave at different times")
			}
			held, until = append(held, at), d.Until
		case d.Why == gate.ByStorm:
			depart(now, append(held, at)...)
			held = nil
		default:
			depart(now, at)
		}
	}
	release(start.Add(1000 * time.Hour))
	return sent
}

// TestStorm compares what leaves with what the settings promise.
func TestStorm(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := gate.Storm{Checks: rapid.SampledFrom([]int{0, 2, 3, 5, 8}).Draw(t, "checks"), Window: time.Minute}
		var raised []time.Duration
		at := time.Duration(0)
		for range rapid.IntRange(1, 60).Draw(t, "alerts") {
			at += rapid.SampledFrom([]time.Duration{0, 0, time.Second, 7 * time.Second, 20 * time.Second, time.Minute, time.Hour}).Draw(t, "pause")
			raised = append(raised, at)
		}
		sent := leave(s, raised)
		var all []time.Duration
		for i, d := range sent {
			all = append(all, d.alerts...)
			for _, a := range d.alerts {
				within := 0 // alerts of the window that ends with this one, and those at the same instant
				for _, other := range raised {
					if a >= other && a-other < s.Window {
						within++
					}
				}
				if d.at < a || d.at-a > s.Window {
					t.Errorf("raised at %v, left at %v", a, d.at)
				}
				joined := slices.ContainsFunc(d.alerts, func(other time.Duration) bool { return other < a })
				if (within == 1 || within < s.Checks && !joined || !s.On()) && d.at != a {
					t.Errorf("one of few alerts was raised at %v and left at %v", a, d.at)
				}
			}
			n := 1 // messages of the window that begins with this one
			for n < len(sent)-i && sent[i+n].at-d.at < s.Window {
				n++
			}
			if s.On() && n > s.Checks {
				t.Errorf("%d messages from %v on: %v", n, d.at, sent)
			}
		}
		slices.Sort(all)
		if !slices.Equal(all, raised) {
			t.Errorf("raised %v, left %v", raised, all)
		}
	})
}

// TestStormOfOneHost has 30 checks that go down together, and 30 that do so one after the other.
func TestStormOfOneHost(t *testing.T) {
	s := gate.DefaultStorm()
	var b gate.Burst
	now := time.Date(2026, time.March, 15, 4, 0, 0, 0, time.UTC)
	for i := range 30 {
		b.Want(s, uuid.UUID{byte(i)}, now)
	}
	if d := b.Decide(s, now, now); d != (gate.Decision{Action: gate.Send, Why: gate.ByStorm}) {
		t.Errorf("the first of 30: %+v", d)
	}
	b.Left(now)
	if d := b.Decide(s, now, now); d != (gate.Decision{Action: gate.Wait, Until: now.Add(time.Minute), Why: gate.ByStorm}) {
		t.Errorf("one that comes after them: %+v", d)
	}
	if d := b.Decide(s, now.Add(-time.Hour), now); d.Action != gate.Send {
		t.Errorf("one that has waited for long: %+v", d)
	}
	if b.Idle(now.Add(time.Minute-1)) || !b.Idle(now.Add(time.Minute)) {
		t.Error("a burst is idle a window after its last message")
	}
	var raised []time.Duration
	for i := range 30 {
		raised = append(raised, time.Duration(i)*time.Second)
	}
	sent := leave(s, raised)
	if last := sent[len(sent)-1]; len(sent) != 5 || len(last.alerts) != 26 || last.at != 63*time.Second {
		t.Errorf("%v", sent)
	}
}
