package schedule

import (
	"strings"
	"time"
)

// Occurrence is an expected run, with what a reader should know about changes of
// the wall clock near it.
type Occurrence struct {
	// Time is the instant of the run, as [Schedule.Next] returned it.
	Time time.Time
	// Moved is set when no wall clock shows the time that the expression asks
	// for, because a gap skips it, and the run is expected at the gap's end
	// instead. Only cron expressions with fixed times have such runs.
	Moved bool
	// Repeated is set when the wall clock shows the time of the run twice,
	// because it is set back. It is set for the first pass and, where the
	// schedule counts it (cron expressions with a wildcard), for the second.
	Repeated bool
	// Note says in English what Moved and Repeated mean here, which times before
	// the run are skipped, and how the clock has changed since the run before.
	// It is empty when there is nothing to say.
	Note string
}

// Upcoming returns the first n expected runs after from, fewer if the schedule
// ends before, in from's location. Each change of the wall clock that lies
// between two runs, or between from and the first run, is told in a Note if it
// leaves the offset from UTC changed; that takes a few microseconds a run.
func Upcoming(s Schedule, from time.Time, n int) []Occurrence {
	var all []Occurrence
	for range n {
		next := s.Next(from)
		if next.IsZero() {
			break
		}
		all = append(all, annotate(s, from, next))
		from = next
	}
	return all
}

// annotate makes the Occurrence of a result that was got by asking from another
// instant.
func annotate(s Schedule, from, at time.Time) Occurrence {
	o := Occurrence{Time: at}
	n := notes{from: from.Unix(), at: at.Unix()}
	var rules []rule
	switch s := s.(type) {
	case *cron:
		rules = s.rules()
	case *onCalendar:
		rules = s.rules()
	}
	for _, r := range rules {
		r.note(&n, at.Location())
	}
	if c, ok := lastChange(at.Location(), n.from, n.at); ok {
		n.add(c.String(at))
	}
	o.Moved, o.Repeated, o.Note = n.moved, n.repeated, strings.Join(n.texts, "; ")
	return o
}

// notes collects what there is to say about the run at an instant, after one at
// the instant from.
type notes struct {
	from, at        int64
	moved, repeated bool
	texts           []string
}

func (n *notes) add(text string) {
	for _, t := range n.texts {
		if t == text {
			return
		}
	}
	n.texts = append(n.texts, text)
}

// A rule is what decides about the runs of one zone.
type rule struct {
	when *calendar
	loc  *time.Location // nil for the zone of the question
	// moves is set when a time in a gap moves to the gap's end, repeats when
	// both passes of a time count.
	moves, repeats bool
}

func (c *cron) rules() []rule {
	return []rule{{when: &c.when, moves: !c.wildcard, repeats: c.wildcard}}
}

func (c *onCalendar) rules() []rule {
	rules := make([]rule, len(c.lines))
	for i := range c.lines {
		rules[i] = rule{when: &c.lines[i].when, loc: c.lines[i].loc}
	}
	return rules
}

// note adds what there is to say about a run as far as this rule goes.
func (r rule) note(n *notes, loc *time.Location) {
	if r.loc != nil {
		loc = r.loc
	}
	p := periodAt(loc, n.at)
	if r.when.has(n.at + p.offset) {
		r.notePasses(n, loc, p)
	}
	if c, ok := lastChange(loc, n.from, n.at); ok && c.after > c.before {
		times := r.skipped(c)
		if len(times) == 0 {
			return
		}
		text := clockRange(times)
		switch {
		case !r.moves && len(times) == 1:
			n.add(text + " is skipped")
		case !r.moves:
			n.add(text + " are skipped")
		case c.at == n.at:
			n.moved = n.moved || !r.when.has(n.at+p.offset)
			verb := " does"
			if len(times) > 1 {
				verb = " do"
			}
			n.add(text + verb + " not exist: the run is expected when the gap ends, at " + clockText(n.at+p.offset))
		}
	}
}

// notePasses notes a wall clock time that comes twice. The period is that of the
// run.
func (r rule) notePasses(n *notes, loc *time.Location, p period) {
	wall := n.at + p.offset
	shown := clockText(wall)
	if p.start != always && n.at-p.start <= 2*maxShift && periodAt(loc, p.start-1).wallEnd() > wall {
		if r.repeats {
			n.repeated = true
			n.add(shown + " for the second time")
		}
		return
	}
	if p.end != forever && p.end-n.at <= 2*maxShift && periodAt(loc, p.end).wallStart() <= wall {
		n.repeated = true
		if r.repeats {
			n.add(shown + " comes twice, this is the first time")
		} else {
			n.add(shown + " comes twice, the run is expected the first time only")
		}
	}
}

// skipped returns the first and the last matching wall clock second in a gap,
// one if they are the same, none if there is none.
func (r rule) skipped(c change) []int64 {
	var times []int64
	wall, end := c.at+c.before, c.at+c.after
	for {
		found, ok := r.when.next(wall, lastYear)
		if !ok || found >= end {
			return times
		}
		times = append(times[:min(len(times), 1)], found)
		wall = found + 1
	}
}

// A change is an instant at which the offset from UTC changes, in seconds.
type change struct {
	at, before, after int64
}

// lastChange returns the last change in (from, until] if the offset is not the
// same at both ends.
func lastChange(loc *time.Location, from, until int64) (change, bool) {
	p := periodAt(loc, until)
	if p.start <= from || periodAt(loc, from).offset == p.offset {
		return change{}, false
	}
	for p.start > from {
		before := periodAt(loc, p.start-1)
		if before.offset != p.offset {
			return change{p.start, before.offset, p.offset}, true
		}
		p = before
	}
	return change{}, false
}

// String describes a change for a run after it, with the date if it is on
// another day.
func (c change) String(run time.Time) string {
	before, after := c.at+c.before, c.at+c.after
	from, to := time.Unix(before, 0).UTC(), time.Unix(after, 0).UTC()
	text := "clocks go forward from "
	if after < before {
		text = "clocks go back from "
	}
	const date = " on 2 January 2006"
	if from.YearDay() != to.YearDay() {
		return text + clockText(before) + from.Format(date) + " to " + clockText(after) + to.Format(date)
	}
	text += clockText(before) + " to " + clockText(after)
	if y, m, d := run.Date(); y != to.Year() || m != to.Month() || d != to.Day() {
		text += to.Format(date)
	}
	return text
}

// clockText returns the time of day of a wall clock second, such as 02:30.
func clockText(wall int64) string {
	t := time.Unix(wall, 0).UTC()
	if t.Second() != 0 {
		return t.Format("15:04:05")
	}
	return t.Format("15:04")
}

// clockRange names one time, or the first and the last of several.
func clockRange(times []int64) string {
	text := clockText(times[0])
	if len(times) > 1 {
		text += " to " + clockText(times[1])
	}
	return text
}
