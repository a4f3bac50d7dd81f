package checks_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/gate"
	"github.com/rollcall-dev/rollcall/pings"
)

// downAt1310 returns a check that expects a ping every hour and went down at 13:10.
func downAt1310(t *testing.T) checks.Check {
	t.Helper()
	c, err := checks.New(uuid.New(), repeat(time.Hour), instantOf(t, "01 00:00"))
	if err == nil {
		c, _, _, err = c.Ping(pings.Signal{}, instantOf(t, "01 12:00"))
	}
	if err != nil {
		t.Fatal(err)
	}
	c, _ = c.Settle(instantOf(t, "01 13:10"))
	return c
}

func acknowledged(t *testing.T, c checks.Check, spec checks.AckSpec, at string) checks.Check {
	t.Helper()
	c, _, err := c.Acknowledge(spec, instantOf(t, at))
	if err != nil {
		t.Fatalf("at %s: %v", at, err)
	}
	return c
}

func TestAcknowledge(t *testing.T) {
	at := func(text string) time.Time { return instantOf(t, "01 "+text) }
	c := acknowledged(t, downAt1310(t), checks.AckSpec{By: " Anna\r\n\u202e", Note: "disk\tfull\u0007", For: 2 * time.Hour}, "01 13:20")
	want := gate.Ack{By: "Anna", Note: "disk full", At: at("13:20"), Until: at("15:20")}
	if diff := cmp.Diff(want, c.Acknowledged(at("15:19"))); diff != "" {
		t.Error(diff)
	}
	if a := c.Acknowledged(at("15:20")); a != (gate.Ack{}) {
		t.Errorf("after its end: %+v", a)
	}

	// A second person hears who has it, and may take it over. Anna herself may change it.
	_, _, err := c.Acknowledge(checks.AckSpec{By: "Bert"}, at("13:30"))
	if !errors.Is(err, checks.ErrAcknowledged) || err.Error() != "already acknowledged by Anna since 2026-03-01 13:20 UTC" {
		t.Errorf("error %v", err)
	}
	if a := acknowledged(t, c, checks.AckSpec{By: "Anna"}, "01 13:30").Ack; a != (gate.Ack{By: "Anna", At: at("13:20")}) {
		t.Errorf("changed by Anna: %+v", a)
	}
	if a := acknowledged(t, c, checks.AckSpec{By: "Bert", TakeOver: true}, "01 13:30").Ack; a != (gate.Ack{By: "Bert", At: at("13:30")}) {
		t.Errorf("taken over: %+v", a)
	}
	if a := acknowledged(t, c, checks.AckSpec{By: "Bert"}, "01 15:20").Ack; a.By != "Bert" {
		t.Errorf("after its end: %+v", a)
	}
	if c, _ = c.Unacknowledge(at("13:40")); c.Ack != (gate.Ack{}) {
		t.Errorf("given back: %+v", c.Ack)
	}
}

// TestAcknowledgementEnds compares what becomes of an acknowledgement of 13:20.
func TestAcknowledgementEnds(t *testing.T) {
	ping := func(signal pings.Signal) func(checks.Check, time.Time) checks.Check {
		return func(c checks.Check, now time.Time) checks.Check {
			c, _, _, err := c.Ping(signal, now)
			if err != nil {
				t.Fatal(err)
			}
			return c
		}
	}
	for name, test := range map[string]struct {
		do   func(c checks.Check, now time.Time) checks.Check
		kept bool
	}{
		"the clock":      {func(c checks.Check, now time.Time) checks.Check { c, _ = c.Settle(now.Add(72 * time.Hour)); return c }, true},
		"failure":        {ping(pings.Signal{Kind: pings.Failure}), true},
		"start":          {ping(pings.Signal{Kind: pings.Start}), true},
		"log":            {ping(pings.Signal{Kind: pings.Log}), true},
		"success":        {ping(pings.Signal{}), false},
		"queued success": {ping(pings.Signal{At: instantOf(t, "01 13:55")}), false},
		"update": {func(c checks.Check, now time.Time) checks.Check {
			c, _, err := c.Update(checks.Spec{Grace: new(time.Hour)}, now)
			if err != nil {
				t.Fatal(err)
			}
			return c
		}, true},
		"pause": {func(c checks.Check, now time.Time) checks.Check { c, _ = c.Pause(now); return c }, false},
		"pause and undo": {func(c checks.Check, now time.Time) checks.Check {
			paused, _ := c.Pause(now)
			c, err := paused.Restore(c.State, now)
			if err != nil {
				t.Fatal(err)
			}
			return c
		}, true},
		"pause and resume": {func(c checks.Check, now time.Time) checks.Check {
			c, _ = c.Pause(now)
			c, _ = c.Resume(now.Add(time.Minute))
			return c
		}, false},
	} {
		c := acknowledged(t, downAt1310(t), checks.AckSpec{By: "Anna"}, "01 13:20")
		if c = test.do(c, instantOf(t, "01 14:00")); (c.Ack.By == "Anna") != test.kept {
			t.Errorf("%s: acknowledgement %+v, kept: want %v", name, c.Ack, test.kept)
		}
	}
	text, err := json.Marshal(downAt1310(t).State)
	if err != nil || strings.Contains(string(text), `"ack"`) {
		t.Errorf("without one, the state has %s, error %v", text, err)
	}
}

func TestAcknowledgeRefused(t *testing.T) {
	down := downAt1310(t)
	paused, _ := down.Pause(instantOf(t, "01 13:15"))
	for _, test := range []struct {
		c    checks.Check
		spec checks.AckSpec
		want string
	}{
		{paused, checks.AckSpec{By: "Anna"}, "check is not down"},
		{down, checks.AckSpec{By: "\u202e \t"}, "by is empty"},
		{down, checks.AckSpec{By: strings.Repeat("x", 101)}, "by is too long: 101 characters, the maximum is 100"},
		{down, checks.AckSpec{By: "Anna", Note: strings.Repeat("ž", 501)}, "note is too long: 501 characters, the maximum is 500"},
		{down, checks.AckSpec{By: "Anna", Note: "\xff"}, "note is not valid UTF-8"},
		{down, checks.AckSpec{By: "Anna", For: 59 * time.Second}, "for is too small: 59, the minimum is 60"},
		{down, checks.AckSpec{By: "Anna", For: -1}, "for is too small: -1e-09, the minimum is 60"},
		{down, checks.AckSpec{By: "Anna", For: 30*24*time.Hour + time.Second}, "for is too large: 2592001, the maximum is 2592000"},
	} {
		c, _, err := test.c.Acknowledge(test.spec, instantOf(t, "01 13:20"))
		if err == nil || err.Error() != test.want || c.Ack != (gate.Ack{}) {
			t.Errorf("%+v: error %v, want %s", test.spec, err, test.want)
		}
	}
}
