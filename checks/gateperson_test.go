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

	status          string
	success         int  // the last
	failures        int  // of the outage
	expected        int  // the ping that was missed last, or the failure
	raised          bool // the alert that the check is down
	unreported      bool // something that quiet hours kept back is not told yet
	reminded, acked int  // the last reminder, or -1; the end of the acknowledgement, or -1
	returned        bool // an acknowledgement has ended, and no reminder followed

	waits, told bool // for the alert
	word        int  // when something was told last
	next        int  // a reminder that waits until then, or -1
	early       bool // it waits because something was told shortly before
	log         []string
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

// blocked reports whether the rules forbid to tell in this minute that the check is down, or still is.
func (p *person) blocked(minute int, reminder bool) bool {
	parent := parentAt(p.acts, minuteOf(minute))
	return p.rules.until(minute) > minute || p.covered(minute) || parent.Down || !reminder && !parent.Late.IsZero()
}

// tell tells what waits, if the rules allow it in this minute, or if they have been released just now.
func (p *person) tell(minute int, released bool) {
	switch {
	case p.waits && p.rules.only:
		p.waits = false
	case p.waits && !p.blocked(minute, false):
		p.say(minute, gate.Down)
		p.waits, p.told = false, true
	}
	if p.next >= 0 && (released || minute >= p.next) {
		p.remind(minute)
	}
}

func (p *person) say(minute int, kind gate.Kind) {
	p.word, p.next = minute, -1
	p.log = append(p.log, fmt.Sprintf("%s: %d", minuteOf(minute).Format("02 15:04:05"), kind))
}

// remind tells that the check is still down, unless something was told shortly before. Without the rule, no other reminder follows,
// so it waits.
func (p *person) remind(minute int) {
	again := p.next >= 0
	switch {
	case !again && p.word == minute:
	case p.status != "down" || !p.told || p.rules.only || again && p.early && p.rules.repeat == 0:
		p.next = -1
	case 10*(minute-p.word) < 9*p.rules.repeat:
		p.next, p.early = p.word+p.rules.repeat, true
	case minute < p.acked:
		p.next = -1
	case p.blocked(minute, true) && p.rules.repeat > 0:
		p.next = -1
	case p.blocked(minute, true):
		p.next, p.early = minute, false
	default:
		p.say(minute, gate.Reminder)
	}
}

// revise is review after something has happened. A reminder that was put off to the end of quiet hours counts from now if they were
// taken away.
func (p *person) revise(minute int) {
	if p.reminded > minute && p.rules.until(minute) <= minute {
		p.reminded = minute
	}
	p.review(minute)
}

// review raises what is due by the rules of the check.
func (p *person) review(minute int) {
	isQuiet := p.rules.until(minute) > minute
	switch {
	case p.status == "down" && !p.raised && p.rules.only:
	case p.status == "down" && !p.raised && p.failures >= p.rules.after && isQuiet, p.status == "up" && p.unreported && isQuiet:
		p.unreported = true
	case p.status == "down" && !p.raised && p.failures >= p.rules.after:
		p.raised, p.unreported, p.reminded, p.waits, p.next = true, false, minute, true, -1
	case p.status == "up" && p.unreported:
		p.up(minute, true)
	case p.status == "down" && p.raised && p.returned && (p.rules.only || isQuiet):
	case p.status == "down" && p.raised && p.returned:
		if p.returned, p.reminded = false, minute; !p.waits {
			p.remind(minute)
		}
		if p.rules.repeat == 0 {
			p.reminded = -1
		}
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
		if !p.waits && minute >= p.acked { // also if one waits that came too early
			p.remind(minute)
		}
	}
}

// up tells who knows of the outage, or whatever they know if quiet hours kept something back, that it is over.
func (p *person) up(minute int, all bool) {
	if p.told || all && !p.waits {
		p.say(minute, gate.Up)
	}
	p.waits, p.told, p.unreported, p.next = false, false, false, -1
}

func (p *person) fail(minute, expected int) {
	if p.status != "down" {
		p.status, p.failures, p.raised, p.returned = "down", 0, false, false
	}
	p.failures++
	p.expected = expected
	p.revise(minute)
}

func (p *person) minute(minute int) {
	switch {
	case p.status == "up" && minute == p.success+60+10:
		p.fail(minute, p.success+60)
	case p.status == "down" && minute == p.expected+60+10:
		p.fail(minute, p.expected+60)
	}
	if minute == p.acked && p.status == "down" && p.raised {
		p.returned = true
	}
	p.review(minute)
	p.tell(minute, false)
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
			p.returned, p.raised, p.unreported, p.failures, p.expected = false, false, true, max(a.rule.after, 1), a.at
		}
		p.rules = a.rule
		p.revise(a.at)
	case "ack":
		if p.status == "down" {
			if p.acked, p.returned = a.at+a.long, false; a.long == 0 {
				p.acked = never
			}
		}
	case "unack":
		if p.status == "down" && a.at < p.acked {
			p.returned = p.raised
			p.acked = -1
			p.revise(a.at)
		}
		p.acked = -1
	}
	p.tell(a.at, slices.Contains(releasing, a.do))
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
		o, p := &office{T: t, acts: acts, check: c, now: midnight}, &person{acts: acts, reminded: -1, acked: -1, next: -1, success: -never}
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
		if waits := o.check.Alerting.Failures > 0; o.check.Stored == checks.StatusDown && !o.line.told && !o.line.dropped && !waits {
			t.Fatalf("nobody was ever told: %+v", o.line)
		}
	})
}
