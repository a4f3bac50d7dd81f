package schedule

import (
	"slices"
	"strings"
	"time"

	"github.com/rollcall-dev/rollcall/checks/internal/wallclock"
)

// An Occurrence is an expected run and how changes of the clock affect it.
type Occurrence struct {
	// Time is the instant of the run, as [Schedule.Next] returns it.
	Time time.Time
	// Moved is true if the scheduled time is in a gap, so that the run is expected at the end of the gap. Only cron
	// expressions with fixed times have such runs.
	Moved bool
	// Repeated is true if the wall clock shows the time of the run twice. It is true for the first time, and also for the
	// second if the schedule fires again, as a cron expression with a wildcard does.
	Repeated bool
	// Note explains in English what Moved and Repeated mean for this run, which times before it are skipped, and how the
	// clock has changed since the previous run. It is empty if the clock does not affect the run.
	Note string
}

// Upcoming returns the first n expected runs after from, or fewer if the schedule ends earlier, in from's location. If
// the offset from UTC of a run differs from that of the previous run, or of from, its Note names the change of the clock.
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

// annotate describes the run at the instant at. from is the previous run, or the start of the list.
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

// notes collects the annotations of the run at the instant at, which follows the instant from.
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

// A rule describes the runs in one zone.
type rule struct {
	// next returns the first matching time of the wall clock that is not before wall.
	next func(wall int64) (int64, bool)
	loc  *time.Location // nil for the caller's zone
	// moves is true if a time in a gap moves to the gap's end, repeats if the rule fires both times in an overlap.
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

// note adds the annotations of this rule.
func (r rule) note(n *notes, loc *time.Location) {
	if r.loc != nil {
		loc = r.loc
	}
	wall := wallclock.At(loc, n.at).Wall(n.at)
	match, ok := r.next(wall)
	matches := ok && match == wall
	if matches {
		r.noteRepeat(n, loc, wall)
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

// noteRepeat adds a note if the clock shows the run's time twice.
func (r rule) noteRepeat(n *notes, loc *time.Location, wall int64) {
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

// skipped returns the first and the last matching time in the gap of a change. It returns one time if they are equal,
// and none if no time matches.
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

// A change is a change of the offset from UTC.
type change struct {
	at            int64 // instant
	before, after int64 // offsets in seconds
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
			return change{at: p.Start, before: before.Offset, after: p.Offset}, true
		}
		p = before
	}
	return change{}, false
}

// String describes a change for a run after it, and adds the date if the run is on another day.
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
