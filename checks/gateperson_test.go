package checks_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/gate"
)

const never = 1 << 30

// person is the plain model: somebody who looks at the clock every minute, and does what the rules say.
type person struct {
	acts  []act
	done  int
	rules alertRules
	steps []int // of the integrations; none for no policy

	status          string
	success         int  // the last
	failures        int  // of the outage
	expected        int  // the ping that was missed last, or the failure
	raised          bool // the alert that the check is down
	unreported      bool // something that quiet hours kept back is not told yet
	reminded, acked int  // the last reminder, or -1; the end of the acknowledgement

	desks [3]struct {
		waits, told bool
		from        int
	}
	log []string
}

func (p *person) covered(minute int) bool {
	for i, a := range p.acts[:p.done] {
		from, to := a.at+a.long%7, a.at+a.long
		if a.do == "recurring" {
			to = a.at + 10*a.long
		}
		for _, later := range p.acts[i:p.done] {
			if later.do == "end" {
				to = min(to, later.at)
			}
		}
		begin := minute - minute%120 // of an occurrence
		if from <= minute && minute < to && (a.do == "window" || a.do == "recurring" && from <= begin && minute < begin+every2h) {
			return true
		}
	}
	return false
}

// blocked reports whether the rules forbid to tell an integration in this minute that the check is down, or still is.
func (p *person) blocked(desk, minute int, reminder bool) bool {
	parent := parentAt(p.acts, minuteOf(minute))
	if p.rules.until(minute) > minute || p.covered(minute) || parent.Down || !reminder && !parent.Late.IsZero() {
		return true
	}
	after := 0
	if desk < len(p.steps) {
		after = p.steps[desk]
	}
	if minute < p.acked && (reminder || after > 0) {
		return true
	}
	from := p.desks[desk].from
	for p.covered(from) {
		from++
	}
	return after > 0 && minute < from+after
}

// tell tells those who wait, if the rules allow it in this minute.
func (p *person) tell(minute int) {
	for i := range p.desks {
		switch d := &p.desks[i]; {
		case d.waits && p.rules.only:
			d.waits = false
		case d.waits && !p.blocked(i, minute, false):
			p.say(minute, gate.Down, i)
			d.waits, d.told = false, true
		}
	}
}

func (p *person) say(minute int, kind gate.Kind, desk int) {
	p.log = append(p.log, fmt.Sprintf("%s: %d to %d", minuteOf(minute).Format("02 15:04:05"), kind, desk))
}

// review raises what is due by the rules of the check.
func (p *person) review(minute int) {
	isQuiet := p.rules.until(minute) > minute
	switch {
	case p.status == "down" && !p.raised && p.rules.only:
	case p.status == "down" && !p.raised && p.failures >= p.rules.after && isQuiet, p.status == "up" && p.unreported && isQuiet:
		p.unreported = true
	case p.status == "down" && !p.raised && p.failures >= p.rules.after:
		p.raised, p.unreported, p.reminded = true, false, minute
		for i := range p.desks {
			p.desks[i].waits, p.desks[i].from = true, minute
		}
	case p.status == "up" && p.unreported:
		p.up(minute, true)
	case p.status == "down" && p.raised && p.rules.repeat == 0:
		p.reminded = -1
	case p.status == "down" && p.raised && p.reminded < 0:
		p.reminded = minute
	case p.status == "down" && p.raised && minute-p.reminded >= p.rules.repeat && isQuiet && minute >= p.acked && !p.rules.only:
		p.reminded = p.rules.until(minute)
	case p.status == "down" && p.raised && minute-p.reminded >= p.rules.repeat:
		for p.reminded+p.rules.repeat <= minute {
			p.reminded += p.rules.repeat
		}
		for i, d := range p.desks {
			if !d.waits && !p.rules.only && !p.blocked(i, minute, true) {
				p.desks[i].told = true
				p.say(minute, gate.Reminder, i)
			}
		}
	}
}

// up tells everybody who knows of the outage, or all if quiet hours kept something back, that it is over.
func (p *person) up(minute int, all bool) {
	for i := range p.desks {
		d := &p.desks[i]
		if d.told || all && !d.waits {
			p.say(minute, gate.Up, i)
		}
		d.waits, d.told = false, false
	}
	p.unreported = false
}

func (p *person) fail(minute, expected int) {
	if p.status != "down" {
		p.status, p.failures, p.raised = "down", 0, false
	}
	p.failures++
	p.expected = expected
	p.review(minute)
}

func (p *person) minute(minute int) {
	switch {
	case p.status == "up" && minute == p.success+60+10:
		p.fail(minute, p.success+60)
	case p.status == "down" && minute == p.expected+60+10:
		p.fail(minute, p.expected+60)
	}
	p.review(minute)
	p.tell(minute)
}

func (p *person) apply(a act) {
	p.done++
	switch a.do {
	case "success":
		if p.status == "down" && (p.raised || p.unreported) {
			if p.rules.until(a.at) > a.at {
				p.unreported = true
			} else {
				p.up(a.at, p.unreported)
			}
		}
		p.status, p.success, p.acked = "up", a.at, -1
	case "fail":
		p.fail(a.at, a.at)
	case "rules":
		if p.raised && p.status == "down" && p.rules.only && !a.rule.only { // as new
			p.raised, p.unreported, p.failures, p.expected = false, true, max(a.rule.after, 1), a.at
		}
		p.rules = a.rule
		p.review(a.at)
	case "ack":
		if p.status == "down" {
			if p.acked = a.at + a.long; a.long == 0 {
				p.acked = never
			}
		}
	case "unack":
		p.acked = -1
	case "steps":
		p.steps = a.step[:]
	}
	p.tell(a.at)
}

// TestAlertsFollowTheRules lets the state machine and the gate, and a person who applies the rules minute by minute, handle the
// same days. Both tell the same integrations the same at the same time. In the end, all policies are lifted, and everybody knows
// how the check is.
func TestAlertsFollowTheRules(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c, err := checks.New(uuid.New(), every(nil), midnight)
		if err != nil {
			t.Fatal(err)
		}
		acts := drawActs(t)
		o, p := &office{T: t, acts: acts, check: c, now: midnight}, &person{acts: acts, reminded: -1, acked: -1, success: -never}
		minute := 0
		for _, a := range acts {
			o.apply(a)
			for ; minute <= a.at; minute++ {
				p.minute(minute)
			}
			p.apply(a)
		}
		slices.Sort(p.log) // within a minute
		slices.Sort(o.log)
		if diff := cmp.Diff(p.log, o.log); diff != "" {
			t.Fatalf("(-person +code):\n%s\n%+v", diff, acts)
		}
		for i, l := range o.lines {
			if waits := o.check.Alerting.Failures > 0; o.check.Stored == checks.StatusDown && !l.told && !l.dropped && !waits {
				t.Fatalf("integration %d was never told: %+v", i, l)
			}
		}
	})
}
