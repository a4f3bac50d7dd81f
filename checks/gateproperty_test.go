package checks_test

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"pgregory.net/rapid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/gate"
	"github.com/rollcall-dev/rollcall/pings"
)

// minuteOf returns the instant some minutes after midnight of March 1, 2026. All that happens in the tests happens in whole minutes.
func minuteOf(n int) time.Time { return midnight.Add(time.Duration(n) * time.Minute) }

// act is something that people, jobs and the hosts of other checks do.
type act struct {
	at   int
	do   string // "success", "fail", "log", "rules", "ack", "unack", "window", "recurring", "end", or what a parent is
	long int    // minutes of an acknowledgement or of windows, or until the deadline of a parent; 0 for none
	rule alertRules
}

// alertRules are those of a check: repeat is in minutes, quiet counts in quietTexts, and only is record-only.
type alertRules struct {
	after, repeat, quiet int
	only                 bool
}

var quietTexts = []string{"", "13:00-14:00", "22:00-06:00"}

func (r alertRules) spec() checks.Spec {
	return checks.Spec{
		AlertAfter: &r.after, RepeatEvery: new(time.Duration(r.repeat) * time.Minute), QuietHours: &quietTexts[r.quiet], RecordOnly: &r.only,
	}
}

// until returns the first minute from one on that is not in quiet hours.
func (r alertRules) until(minute int) int {
	isQuiet := func(hour int) bool { return r.quiet == 1 && hour == 13 || r.quiet == 2 && (hour >= 22 || hour < 6) }
	for isQuiet(minute / 60 % 24) {
		minute++
	}
	return minute
}

func drawActs(t *rapid.T) (acts []act) {
	at := rapid.IntRange(0, 24*60).Draw(t, "begin")
	for range rapid.IntRange(1, 25).Draw(t, "acts") {
		at += rapid.SampledFrom([]int{0, 1, 5, 10, 30, 70, 200}).Draw(t, "minutes")
		a := act{at: at, do: rapid.SampledFrom([]string{
			"success", "success", "fail", "fail", "fail", "log", "rules", "ack", "unack", "window", "window", "recurring", "end",
			"parent up", "parent late", "parent down",
		}).Draw(t, "act")}
		switch a.do {
		case "rules":
			a.rule = alertRules{
				after: rapid.IntRange(0, 3).Draw(t, "after"), repeat: rapid.SampledFrom([]int{0, 45, 180}).Draw(t, "repeat"),
				quiet: rapid.IntRange(0, 2).Draw(t, "quiet"), only: rapid.IntRange(0, 9).Draw(t, "only") == 9,
			}
		case "ack", "window", "recurring", "parent late":
			a.long = rapid.SampledFrom([]int{0, 1, 10, 60, 300}).Draw(t, "long")
		}
		acts = append(acts, a)
	}
	// At the end all policies are lifted, and every alert that is still due is sent.
	end := at + 400
	return append(acts, act{at: end, do: "unack"}, act{at: end, do: "end"}, act{at: end, do: "parent up"}, act{at: end + 1440, do: "log"})
}

// every2h are the minutes that each occurrence of a recurring window takes: one begins every two hours.
const every2h = 40

// windowsAfter returns the windows as they stand after acts.
func windowsAfter(acts []act) (list []gate.Window) {
	for i, a := range acts {
		now := minuteOf(a.at)
		w := gate.Window{Kind: []gate.WindowKind{gate.Maintenance, gate.Snooze}[i%2], Start: now.Add(time.Duration(a.long%7) * time.Minute)}
		switch a.do {
		case "recurring":
			w.Schedule, w.TZ, w.Duration = "0 */2 * * *", "UTC", every2h*time.Minute
			w.End = now.Add(time.Duration(a.long) * 10 * time.Minute)
			list = append(list, w.Compiled())
		case "window":
			w.End = now.Add(time.Duration(a.long) * time.Minute)
			list = append(list, w)
		case "end":
			for i, w := range list {
				list[i].End = earlierOf(w.End, now)
			}
		}
	}
	return list
}

func earlierOf(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// parentAt returns the check that the check follows, as it is in a minute. That it changes releases no alert.
func parentAt(acts []act, now time.Time) (p gate.Parent) {
	p.Name = "dump"
	for _, a := range acts {
		if minuteOf(a.at).After(now) {
			break
		}
		switch deadline := minuteOf(a.at + a.long); {
		case a.do == "parent late" && now.Before(deadline):
			p.Down, p.Late = false, deadline
		case a.do == "parent up", a.do == "parent down", a.do == "parent late":
			p.Down, p.Late = a.do != "parent up", time.Time{}
		}
	}
	return p
}

// office is the code: the state machine of the check, and a line of alerts that asks the gate.
type office struct {
	*rapid.T
	acts  []act
	done  int // acts
	plans []gate.Window
	check checks.Check
	now   time.Time
	line  line
	log   []string
}

type line struct {
	pending []queued
	raised  time.Time // the newest alert that the check is down
	told    bool
	at      time.Time // when it was told last
	early   bool      // it was too early for the first, a reminder
	dropped bool      // that alert, because the check only records
}

type queued struct {
	kind   gate.Kind
	since  bool // it sums up what was held back
	from   time.Time
	due    time.Time
	held   bool
	outage time.Time // when it began
}

// raise puts the alerts of an event into the lines.
func (o *office) raise(effects checks.Effects) {
	for _, a := range effects.Alerts {
		q := queued{kind: gate.Down, since: !a.Since.IsZero(), from: a.RaisedAt, outage: o.check.StoredSince}
		switch {
		case a.Reminder > 0:
			q.kind = gate.Reminder
		case a.Status == checks.StatusUp:
			q.kind = gate.Up
		}
		if q.kind == gate.Down {
			o.line.raised = a.RaisedAt
		}
		o.line.pending = append(o.line.pending, q)
	}
}

// pass asks about what is due.
func (o *office) pass() {
	for o.passFirst() {
	}
}

// passFirst asks about the first alert of the line, and reports whether to go on.
func (o *office) passFirst() bool {
	l := &o.line
	if len(l.pending) == 0 {
		return false
	}
	q := &l.pending[0]
	if q.held && len(l.pending) > 1 && q.kind == gate.Reminder { // what waits waits for nobody
		l.pending = l.pending[1:]
		return true
	}
	if q.held && len(l.pending) > 1 {
		next := 1
		if l.pending[1].kind == gate.Up && !l.told { // it does not know of this outage, nor of one before whose end quiet hours held back
			next = 2
		} else if l.pending[1].kind == gate.Reminder {
			l.pending[1] = *q
		}
		l.pending = l.pending[next:]
		return true
	}
	if q.due.After(o.now) {
		return false
	}
	if q.kind == gate.Up && l.dropped && !l.told && !q.since {
		l.pending = l.pending[1:]
		return true
	}
	p := o.check.Policies()
	p.Windows, p.Parents = o.plans, []gate.Parent{{Name: "fine"}, parentAt(o.acts, o.now)}
	e := gate.Event{Kind: q.kind, At: l.raised, Check: o.check.ID}
	if q.kind == gate.Reminder {
		over := q.held && !o.check.StoredSince.Equal(q.outage) // that outage
		if over || !l.at.Before(q.from) || q.held && p.RepeatEvery == 0 && l.early {
			l.pending = l.pending[1:]
			return true
		}
		if l.early = l.at.Add(p.RepeatEvery * 9 / 10).After(o.now); l.early {
			e.Last = l.at
		}
	}
	switch d := gate.Decide(e, p, o.now); d.Action {
	case gate.Wait:
		if q.kind == gate.Up || !d.Until.After(o.now) {
			o.Fatalf("at %v: %+v %+v", o.now, e, d)
		}
		q.held, q.due = true, d.Until
		return len(l.pending) > 1
	case gate.Drop:
		l.dropped = l.dropped || q.kind == gate.Down
	case gate.Send:
		if q.kind == gate.Down && l.told && !q.since || q.kind == gate.Up && !l.told && !q.since {
			o.Fatalf("at %v: %+v is told twice, or of nothing: %q\n%+v", o.now, q, o.log, o.acts)
		}
		l.told, l.at, l.dropped = q.kind != gate.Up, o.now, false
		o.log = append(o.log, fmt.Sprintf("%s: %d", o.now.Format("02 15:04:05"), q.kind))
	}
	l.pending = l.pending[1:]
	return true
}

// wait lets the time pass until an instant.
func (o *office) wait(until time.Time) {
	for next := o.now; !next.After(until); {
		o.now = next
		if wake := o.check.Wake(); !wake.IsZero() && !wake.After(o.now) {
			var effects checks.Effects
			o.check, effects = o.check.Settle(o.now)
			o.raise(effects)
		}
		o.pass()
		if next = until; o.now.Equal(until) {
			return
		}
		if wake := o.check.Wake(); !wake.IsZero() {
			next = earlierOf(next, wake)
		}
		for _, q := range o.line.pending {
			next = earlierOf(next, q.due)
		}
		if !next.After(o.now) {
			o.Fatalf("at %v: to be done at %v", o.now, next)
		}
	}
}

// releasing are the acts that make what is held due.
var releasing = []string{"rules", "ack", "unack", "window", "recurring", "end"}

func (o *office) apply(a act) {
	o.wait(minuteOf(a.at))
	var effects checks.Effects
	var err error
	o.done++
	o.plans = windowsAfter(o.acts[:o.done])
	switch a.do {
	case "success", "fail", "log":
		o.check, _, effects, err = o.check.Ping(pings.Signal{Kind: pings.Kind(a.do)}, o.now)
	case "rules":
		o.check, effects, err = o.check.Update(a.rule.spec(), o.now)
	case "ack":
		spec := checks.AckSpec{By: "ann", For: time.Duration(a.long) * time.Minute}
		if o.check, effects, err = o.check.Acknowledge(spec, o.now); errors.Is(err, checks.ErrNotDown) {
			err = nil
		}
	case "unack":
		o.check, effects = o.check.Unacknowledge(o.now)
	}
	if err != nil {
		o.Fatal(err)
	}
	o.raise(effects)
	if slices.Contains(releasing, a.do) {
		for i := range o.line.pending {
			o.line.pending[i].due = o.now
		}
	}
	o.pass()
}
