package schedule

import (
	"slices"
	"strings"
	"time"

	"github.com/rollcall-dev/rollcall/checks/wallclock"
)

// An Occurrence is an expected run, with what changes of the clock do to it.
type Occurrence struct {
	// Time is the instant of the run, as [Schedule.Next] returns it.
	Time time.Time
	// Moved is true if a gap skips the time that the expression asks for, so that the run is expected at the end of the
	// gap. Only cron expressions with fixed times have such runs.
	Moved bool
	// Repeated is true if the wall clock shows the time of the run twice. It is true for the first pass, and also for the
	// second if the schedule counts it, as a cron expression with a wildcard does.
	Repeated bool
	// Note says in English what Moved and Repeated mean for this run, which times before it are skipped, and how the
	// clock has changed since the run before. It is empty if there is nothing to say.
	Note string
}

// Upcoming returns the first n expected runs after from, or fewer if the schedule ends earlier, in from's location. A run
// whose offset from UTC differs from that of the run before, or of from, names the change of the clock in its Note.
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

// annotate describes the run at an instant, where from is the run before or the instant that the caller asked from.
func annotate(s Schedule, from, at time.Time) Occurrence {
	n := notes{from: from.Unix(), at: at.Unix()}
	for _, r := range s.rules() {
		r.note(&n, at.Location())
	}
	if c, ok := lastChange(at.Location(), n.from, n.at); ok {
		n.add(c.String(at))
	}
	return Occurrence{Time: at, Moved: n.moved, Repeated: n.repeated, Note: strings.Join(n.texts, "; ")}
}

// notes collects what to say about the run at an instant, after a run at the instant from.
type notes struct {
	from, at        int64
	moved, repeated bool
	texts           []string
}

func (n *notes) add(text string) {
	if !slices.Contains(n.texts, text) {
		n.texts = append(n.texts, text)
	}
}

// A rule decides about the runs in one zone.
type rule struct {
	// next returns the first matching time of the wall clock that is not before wall.
	next func(wall int64) (int64, bool)
	loc  *time.Location // nil for the zone of the question
	// moves is true if a time in a gap moves to the gap's end, repeats if both passes of a time count.
	moves, repeats bool
}

func (c *cron) rules() []rule {
	return []rule{{next: c.next, moves: !c.wildcard, repeats: c.wildcard}}
}

func (c *onCalendar) rules() []rule {
	rules := make([]rule, len(c.lines))
	for i := range c.lines {
		rules[i] = rule{next: c.lines[i].when.next, loc: c.lines[i].loc}
	}
	return rules
}

// note adds what there is to say about a run as far as this rule goes.
func (r rule) note(n *notes, loc *time.Location) {
	if r.loc != nil {
		loc = r.loc
	}
	wall := wallclock.At(loc, n.at).Wall(n.at)
	match, ok := r.next(wall)
	matches := ok && match == wall
	if matches {
		r.notePasses(n, loc, wall)
	}
	c, ok := lastChange(loc, n.from, n.at)
	if !ok {
		return
	}
	times := r.skipped(c)
	if len(times) == 0 {
		return
	}
	be, do := " is", " does"
	if len(times) > 1 {
		be, do = " are", " do"
	}
	text := clockRange(times)
	switch {
	case !r.moves:
		n.add(text + be + " skipped")
	case c.at == n.at:
		n.moved = n.moved || !matches
		n.add(text + do + " not exist: the run is expected when the gap ends, at " + clockText(wall))
	}
}

// notePasses adds a note if the run's wall clock time comes twice.
func (r rule) notePasses(n *notes, loc *time.Location, wall int64) {
	first, last, _ := wallclock.Passings(loc, wall)
	if first == last || n.at != first && !r.repeats {
		return
	}
	n.repeated = true
	text := clockText(wall)
	switch {
	case n.at != first:
		n.add(text + " for the second time")
	case r.repeats:
		n.add(text + " comes twice, this is the first time")
	default:
		n.add(text + " comes twice, the run is expected the first time only")
	}
}

// skipped returns the first and the last matching time in the gap that a change makes, one if they are equal, or none.
func (r rule) skipped(c change) []int64 {
	var times []int64
	for wall, end := c.at+c.before, c.at+c.after; wall < end; {
		found, ok := r.next(wall)
		if !ok || found >= end {
			break
		}
		times = append(times[:min(len(times), 1)], found)
		wall = found + 1
	}
	return times
}

// A change is an instant at which the offset from UTC changes, in seconds.
type change struct {
	at, before, after int64
}

// lastChange returns the last change in (from, until] if the offset is not the same at both ends.
func lastChange(loc *time.Location, from, until int64) (change, bool) {
	p := wallclock.At(loc, until)
	if p.Start <= from || wallclock.At(loc, from).Offset == p.Offset {
		return change{}, false
	}
	for p.Start > from {
		before := wallclock.At(loc, p.Start-1)
		if before.Offset != p.Offset {
			return change{p.Start, before.Offset, p.Offset}, true
		}
		p = before
	}
	return change{}, false
}

// String describes a change for a run after it, with the date if it was on another day.
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
	if run.Format(date) != to.Format(date) {
		text += to.Format(date)
	}
	return text
}

// clockText returns the time of day of a wall clock time, such as 02:30.
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
