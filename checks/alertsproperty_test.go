package checks_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/quiet"
	"github.com/rollcall-dev/rollcall/pings"
)

// drawRules draws alert rules.
func drawRules(t *rapid.T) checks.Spec {
	return checks.Spec{
		AlertAfter:  new(rapid.IntRange(0, 4).Draw(t, "alert_after")),
		RepeatEvery: new(time.Duration(rapid.SampledFrom([]int{0, 45, 180, 24 * 60}).Draw(t, "repeat_every")) * time.Minute),
		QuietHours: new(rapid.SampledFrom([]string{
			"", "13:00-14:00", "22:00-06:00", "00:00-23:00", "Sun 00:00-24:00; 00:00-00:30",
		}).Draw(t, "quiet_hours")),
		RecordOnly: new(rapid.IntRange(0, 4).Draw(t, "record_only") == 0),
	}
}

// ruled is a check with rules beside one without, which get the same events, and the status that was last reported.
type ruled struct {
	plain, check checks.Check
	now          time.Time
	told         checks.Status // since the check was last paused
	paused       bool          // somebody was told that it is down before that
}

// apply applies an event to both and compares all but the alerts.
func (r *ruled) apply(t *rapid.T, event func(c checks.Check, isRuled bool) (checks.Check, checks.Effects)) {
	plain, plainEffects := event(r.plain, false)
	check, effects := event(r.check, true)
	without := check
	without.AlertAfter, without.RepeatEvery, without.QuietHours = plain.AlertAfter, plain.RepeatEvery, plain.QuietHours
	without.Alerting, without.RecordOnly = plain.Alerting, plain.RecordOnly
	if diff := cmp.Diff(plain, without); diff != "" {
		t.Fatalf("the rules have changed the check (-without +with):\n%s", diff)
	}
	if diff := cmp.Diff(plainEffects.Transitions, effects.Transitions); diff != "" {
		t.Fatalf("the rules have changed the transitions (-without +with):\n%s", diff)
	}
	for _, ahead := range []time.Duration{0, time.Hour, 70 * time.Minute, 5 * time.Hour} {
		at := r.now.Add(ahead)
		if plain.Status(at) != check.Status(at) || !plain.NextPing(at).Equal(check.NextPing(at)) {
			t.Fatalf("at %v: %v, and with rules %v", at, plain.Status(at), check.Status(at))
		}
	}
	wasTold := r.check.Stored == checks.StatusDown && r.check.Alerting.Failures == 0             // of the outage that goes on
	if r.check.RecordOnly && !check.RecordOnly && check.Stored == checks.StatusDown && wasTold { // as new
		r.told = ""
	}
	r.plain, r.check = plain, check
	r.hear(t, effects)
}

// hear records alerts. Each must report what is true and new.
func (r *ruled) hear(t *rapid.T, effects checks.Effects) {
	waiting := r.check.Alerting.Failures > 0 || !r.check.Alerting.HeldSince.IsZero() // another alert is to follow
	zone, err := time.LoadLocation(r.check.TZ)
	if err != nil {
		t.Fatal(err)
	}
	hours, err := quiet.Parse(r.check.QuietHours, zone)
	if err != nil {
		t.Fatal(err)
	}
	_, isQuiet := hours.Until(r.now)
	for i, a := range effects.Alerts {
		if r.check.RecordOnly && a.Status == checks.StatusDown {
			t.Fatalf("record-only: %+v", a)
		}
		if isQuiet {
			t.Fatalf("in quiet hours: %+v", a)
		}
		last := i == len(effects.Alerts)-1 && !waiting
		switch {
		case !a.RaisedAt.Equal(r.now) || a.At.After(r.now):
			t.Fatalf("at %v: %+v", r.now, a)
		case last && r.check.Stored != checks.StatusPaused && a.Status != r.check.Stored:
			t.Fatalf("told %v of a check that is %v", a.Status, r.check.Stored)
		case a.Reminder > 0 && r.told != checks.StatusDown:
			t.Fatalf("reminded of what was not notified: %+v", a)
		case a.Reminder == 0 && a.Status == r.told && a.Since.IsZero():
			t.Fatalf("told twice that the check is %v: %+v", r.told, a)
		case a.Status == checks.StatusUp && r.told != checks.StatusDown && !r.paused && a.Since.IsZero():
			t.Fatalf("up, although nobody was notified that it was down: %+v", a)
		}
		r.told, r.paused = a.Status, false
	}
	if r.check.Stored == checks.StatusPaused {
		r.paused = r.paused || r.told == checks.StatusDown
		r.told = ""
	}
}

func (r *ruled) event(t *rapid.T) {
	r.now = r.now.Add(time.Duration(rapid.IntRange(0, 90).Draw(t, "minutes")) * time.Minute)
	switch do := rapid.IntRange(0, 11).Draw(t, "event"); do {
	case 10, 11:
		signal := drawQueued(t, r.now)
		r.apply(t, func(c checks.Check, _ bool) (checks.Check, checks.Effects) {
			c, _, effects, _ := c.Ping(signal, r.now)
			return c, effects
		})
	case 0:
		r.apply(t, func(c checks.Check, _ bool) (checks.Check, checks.Effects) { return c.Pause(r.now) })
	case 1:
		r.apply(t, func(c checks.Check, _ bool) (checks.Check, checks.Effects) { return c.Settle(r.now) })
	case 2:
		rules := drawRules(t)
		grace := time.Duration(rapid.IntRange(1, 60).Draw(t, "grace")) * time.Minute
		r.apply(t, func(c checks.Check, isRuled bool) (checks.Check, checks.Effects) {
			spec := checks.Spec{Grace: &grace}
			if isRuled {
				rules.Grace = &grace
				spec = rules
			}
			c, effects, err := c.Update(spec, r.now)
			if err != nil {
				t.Fatal(err)
			}
			return c, effects
		})
	default:
		kind := []pings.Kind{pings.Success, pings.Start, pings.Failure, pings.Log}[do%4]
		var run uuid.NullUUID
		if n := rapid.ByteRange(0, 2).Draw(t, "run"); n > 0 {
			run = uuid.NullUUID{UUID: uuid.UUID{n}, Valid: true}
		}
		r.apply(t, func(c checks.Check, _ bool) (checks.Check, checks.Effects) {
			c, _, effects, _ := c.Ping(pings.Signal{Kind: kind, RunID: run}, r.now)
			return c, effects
		})
	}
}

// watch settles the check whenever it asks for it.
func (r *ruled) watch(t *rapid.T, until time.Time) {
	for {
		wake := r.check.Wake()
		if wake.IsZero() || wake.After(until) {
			return
		}
		if !wake.After(r.now) && !r.now.IsZero() {
			t.Fatalf("settled at %v, and to be settled at %v", r.now, wake)
		}
		r.now = wake
		r.apply(t, func(c checks.Check, _ bool) (checks.Check, checks.Effects) { return c.Settle(wake) })
	}
}

// TestRulesChangeNoState applies the same events to a check with and without rules. All but the alerts is the same at
// all times. Whatever the rules are, the last status is reported in the end.
func TestRulesChangeNoState(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := newHistory(t)
		ruled := &ruled{plain: h.check, now: h.now}
		var err error
		if ruled.check, _, err = h.check.Update(drawRules(t), h.now); err != nil {
			t.Fatal(err)
		}
		for range rapid.IntRange(1, 30).Draw(t, "events") {
			ruled.event(t)
			if rapid.Bool().Draw(t, "watched") {
				ruled.watch(t, ruled.now.Add(time.Hour))
			}
		}
		ruled.watch(t, ruled.now.Add(5*24*time.Hour))
		if c := ruled.check; c.Stored == checks.StatusDown && ruled.told != checks.StatusDown && !c.RecordOnly {
			t.Fatalf("down for days, and told %q: %+v", ruled.told, c.Alerting)
		} else if c.Stored == checks.StatusUp && ruled.told == checks.StatusDown {
			t.Fatalf("up, and told down: %+v", c.Alerting)
		}
	})
}
