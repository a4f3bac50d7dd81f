package lists

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rollcall-dev/rollcall/channels/prose"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/gate"
	"github.com/rollcall-dev/rollcall/checks/schedule"
	"github.com/rollcall-dev/rollcall/flips"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/board"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/timeline"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/ui"
)

// pastWords says what is missing and what failed in the past of the board.
func pastWords(v boardView) []phrase {
	n := v.countPast()
	span := spans[defaultSpan].last
	for _, s := range spans {
		if s.Name == v.Query.Span {
			span = s.last
		}
	}
	if v.Axis.Past() { // what is still missing was missed then
		l := boardLane{axis: v.Axis}
		span = "between " + l.moment(v.Axis.From) + " and " + l.moment(v.Axis.To)
		n.missed, n.missing, n.running = n.missed+n.missing, 0, 0
	}
	var parts []string
	if n.failed > 0 {
		parts = append(parts, many(n.failed, "run failed", "runs failed"))
	}
	if n.missed > 0 {
		parts = append(parts, many(n.missed, "run was missed", "runs were missed"))
	}
	var text []phrase
	if n.missing > 0 {
		text = append(text, phrase{Text: many(n.missing, "run is missing", "runs are missing") + ".", Bad: true}, phrase{Text: " "})
	}
	switch {
	case len(parts) > 0:
		text = append(text, phrase{Text: prose.List(parts), Bad: true}, phrase{Text: " " + span + "."})
	case n.runs == 0:
		text = append(text, phrase{Text: "Nothing ran " + span + "."})
	default:
		text = append(text, phrase{Text: "No run failed " + span + "."})
	}
	if n.running > 0 {
		text = append(text, phrase{Text: fmt.Sprintf(" %d running now.", n.running)})
	}
	return text
}

// tally counts the runs of a board, and which of them are still missing, failed, were missed and are running.
type tally struct{ runs, missing, failed, missed, running int }

func (v boardView) countPast() (n tally) {
	for _, g := range v.Groups {
		for _, l := range g.Lanes {
			n.runs += l.Runs
			for _, m := range l.Marks {
				switch {
				case m.Kind == board.Missed && m.Open:
					n.missing++
					n.missed += m.Bad - 1
				case m.Kind == board.Missed:
					n.missed += m.Bad
				case m.Kind == board.Running:
					n.running++
				case m.Kind == board.Band: // the marks on it count
				default:
					n.failed += m.Bad
				}
			}
		}
	}
	return n
}

// tonightWords says what will run in the night. It looks at each schedule once, however many checks have it.
func tonightWords(list []checks.Check, axis *board.Axis) []phrase {
	const most = 500 // as many as there are minutes, and some
	from, to := axis.Tonight()
	runs := 0
	var longest checks.Check
	var length time.Duration
	more := false
	type expected struct {
		n   int
		cut bool
	}
	bySchedule := map[[2]string]expected{}
	for _, c := range list {
		if c.Stored == checks.StatusPaused {
			continue
		}
		expected, known := bySchedule[[2]string{c.Schedule, c.TZ}]
		if !known {
			expected.n, expected.cut = timeline.CountExpected(c, from, to, most)
		}
		if c.IsCron() {
			bySchedule[[2]string{c.Schedule, c.TZ}] = expected
		}
		if runs, more = runs+expected.n, more || expected.cut; expected.n == 0 {
			continue
		}
		if d := lastDuration(c); d > length {
			longest, length = c, d
		}
	}
	between := fmt.Sprintf("between %s and %s", axis.Format(from, "15:04"), axis.Format(to, "15:04"))
	begun := !from.After(axis.Now)
	if begun {
		between = "until " + axis.Format(to, "15:04")
	}
	if runs == 0 {
		return []phrase{{Text: "No run is expected tonight " + between + "."}}
	}
	count := prose.Count(runs, "run")
	if more {
		count = fmt.Sprintf("more than %d runs", runs)
	} else if begun {
		count = many(runs, "more run", "more runs")
	}
	if length < time.Minute {
		return []phrase{{Text: fmt.Sprintf("Tonight: %s %s.", count, between)}}
	}
	return []phrase{
		{Text: fmt.Sprintf("Tonight: %s %s; the longest is ", count, between)},
		{Text: ui.NameOf(longest), Link: longest.UniqueKey()},
		{Text: ", " + prose.Duration(length) + "."},
	}
}

// timedRuns is among how many of the last runs of a check lastDuration looks for one with a duration.
const timedRuns = 5

// lastDuration returns the duration of the last run that has one, or 0 if several others followed it.
func lastDuration(c checks.Check) time.Duration {
	runs := c.History.Recent.Runs()
	for _, run := range slices.Backward(runs[max(0, len(runs)-timedRuns):]) {
		if run.Duration > 0 {
			return run.Duration
		}
	}
	return 0
}

// many writes a number with one of two nouns.
func many(n int, one, several string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, several)
}

// note says in an empty lane why it is empty.
func (l boardLane) note() string { return l.emptiness("paused since ", "next ", "no run yet") }

// emptiness says why the lane is empty, in one of three ways.
func (l boardLane) emptiness(paused, nextRun, none string) string {
	if len(l.Marks) > 0 || l.Known > 0 || l.axis.Past() {
		return ""
	}
	next := l.NextPing(l.axis.Now)
	if l.IsCron() {
		next = l.ExpectedAfter(l.axis.Now)
	}
	switch {
	case l.Status == checks.StatusPaused:
		return paused + l.StoredSince.In(l.axis.Zone).Format("2 Jan")
	case !next.IsZero() && (l.IsCron() || l.Status != checks.StatusNew):
		return nextRun + l.axis.Format(next, "Mon 2 Jan 15:04")
	case l.Status == checks.StatusNew:
		return none
	}
	return ""
}

// facts are the sentences about the lane for those who do not see it.
func (l boardLane) facts() string {
	var b strings.Builder
	say := func(format string, args ...any) { fmt.Fprintf(&b, format+". ", args...) }
	switch {
	case l.Runs == 0:
		say("No runs")
	case l.Bad == 0:
		say("%s, none failed", prose.Count(l.Runs, "run"))
	default:
		say("%s, %d failed or missed", prose.Count(l.Runs, "run"), l.Bad)
	}
	for _, w := range l.maintenance {
		if list := w.Spans(l.axis.From, l.axis.To); len(list) > 0 {
			say("%s", l.windowWords(w, list[len(list)-1]))
		}
	}
	if l.Overlaps > 0 {
		say("%s overlapped another", prose.Count(l.Overlaps, "run"))
	}
	next := l.factsOfMarks(say)
	if !next.IsZero() {
		say("Next %s", l.moment(next))
	}
	if empty := l.emptiness("Paused since ", "Next ", "No run yet"); empty != "" {
		say("%s", empty)
	}
	if l.Rule != "" {
		say("%s", strings.ToUpper(l.Rule[:1])+l.Rule[1:])
	}
	if l.Zone != "" {
		say("The schedule is in %s, %s", l.TZ, l.Zone)
	}
	if l.Known > 0 {
		say("The log begins %s", l.moment(l.Since))
	}
	return strings.TrimSpace(b.String())
}

// windowWords says from when until when an occurrence of a maintenance window is, and what for.
func (l boardLane) windowWords(w gate.Window, span flips.Span) string {
	text := "Maintenance from " + l.moment(span.Start) + " to " + l.moment(span.End)
	if note := prose.Name(w.Note); note != "" {
		text += ": " + note
	}
	return text
}

// factsOfMarks says what is wrong or going on, and returns when the next run is expected.
func (l boardLane) factsOfMarks(say func(format string, args ...any)) (next time.Time) {
	for _, m := range l.Marks {
		switch m.Kind {
		case board.Missed:
			if m.Open {
				say("%s missing since %s", many(m.Count, "run", "runs"), l.moment(m.First))
			}
		case board.Overrun:
			if m.Run.End.IsZero() {
				say("The run at %s timed out", l.moment(m.First))
			}
		case board.Running:
			say("Running since %s", l.moment(m.First))
		case board.Late:
			say("Late since %s, down at %s", l.moment(m.First), l.moment(m.Run.Limit))
		case board.Expected, board.Many:
			if next.IsZero() {
				next = m.First
			}
		}
	}
	return next
}

// moment writes an instant in the zone of the viewer, with the day unless it is today: "03:00", "Mon 23 Nov 03:00".
func (l boardLane) moment(t time.Time) string {
	t, now := t.In(l.axis.Zone), l.axis.Now.In(l.axis.Zone)
	if t.YearDay() == now.YearDay() && t.Year() == now.Year() {
		return l.axis.Format(t, "15:04"+l.offset(t))
	}
	return l.axis.Format(t, "Mon 2 Jan 15:04"+l.offset(t))
}

// offset is the format of the offset from UTC, for instants close to a change of the clock: those may be ambiguous.
func (l boardLane) offset(t time.Time) string {
	for _, c := range l.axis.Changes {
		if t.Sub(c.At).Abs() <= 3*time.Hour {
			return " MST"
		}
	}
	return ""
}

// manyDetail says what a mark of several runs stands for, in lines.
func (l boardLane) manyDetail(m board.Mark) string {
	count := fmt.Sprintf("%d runs", m.Count)
	if m.More {
		count = "more than " + count
	}
	switch {
	case m.Kind == board.Many:
		count += " expected"
	case m.Kind == board.Missed:
		count += " missed"
	case m.Over:
		count = fmt.Sprintf("%d of %s failed", m.Bad, prose.Count(m.Of, "run"))
	case m.Bad > 0:
		count += fmt.Sprintf(", %d failed", m.Bad)
	default:
		count += ", none failed"
	}
	if m.Count > 1 {
		return count + "\n" + l.between(m.First, m.Last)
	}
	return count + "\n" + l.stamp(m.First)
}

// detail says what a mark stands for, in lines.
func (l boardLane) detail(m board.Mark) string {
	if m.Count > 1 || m.Of > 1 {
		return l.manyDetail(m)
	}
	r, lines := m.Run, []string{headline(m)}
	add := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	switch m.Kind {
	case board.Expected:
		add("%s", l.instant(m.First))
	case board.Missed:
		add("expected %s", l.instant(r.Start))
		if !r.End.IsZero() {
			add("missing until %s", l.moment(r.End))
		}
	case board.Late:
		add("expected %s", l.instant(r.Start))
		add("goes down at %s", l.moment(r.Limit))
	case board.Running, board.Overrun, board.Unended:
		add("since %s", l.stamp(r.Start))
		if m.Kind != board.Unended {
			add("limit %s", l.moment(r.Limit))
		}
	default:
		if !r.Timed {
			add("%s", l.stamp(r.End))
			break
		}
		add("%s", l.between(r.Start, r.End))
		add("took %s", prose.Duration(r.End.Sub(r.Start)))
		if r.TookTooLong() {
			add("%s over its limit", prose.Duration(r.End.Sub(r.Limit)))
		}
	}
	if ping := pingWords(r); ping != "" {
		add("%s", ping)
	}
	return strings.Join(lines, "\n")
}

// headline names the result of a mark of one run.
func headline(m board.Mark) string {
	switch m.Kind {
	case board.Run:
		return "Succeeded"
	case board.Slow:
		return "Succeeded late"
	case board.Failed:
		if m.Run.ExitStatus != nil && *m.Run.ExitStatus != 0 {
			return fmt.Sprintf("Failed, exit status %d", *m.Run.ExitStatus)
		}
		return "Failed"
	case board.Running:
		return "Running"
	case board.Overrun:
		return "Timed out"
	case board.Unended:
		return "Started again before it ended"
	case board.Missed:
		return "Missed"
	case board.Late:
		return "Late"
	}
	return "Expected"
}

// pingWords names the pings of a run.
func pingWords(r timeline.Run) string {
	switch {
	case r.StartN > 0 && r.EndN > 0:
		return fmt.Sprintf("pings %d and %d", r.StartN, r.EndN)
	case r.StartN+r.EndN > 0:
		return fmt.Sprintf("ping %d", r.StartN+r.EndN)
	}
	return ""
}

// instant is stamp with the time in the zone of the schedule beside it.
func (l boardLane) instant(t time.Time) string {
	text := l.stamp(t)
	if l.Ahead == 0 {
		return text
	}
	if zone, err := schedule.LoadLocation(l.TZ); err == nil {
		text += fmt.Sprintf(" (%s in %s)", l.axis.In(zone).Format(t, "15:04"), l.TZ)
	}
	return text
}

// stamp writes an instant with its date.
func (l boardLane) stamp(t time.Time) string {
	return t.In(l.axis.Zone).Format("Mon 2 Jan ") + l.time(t)
}

// time writes the time of day of an instant.
func (l boardLane) time(t time.Time) string {
	if t.Second() == 0 {
		return l.axis.Format(t, "15:04"+l.offset(t))
	}
	return l.axis.Format(t, "15:04:05"+l.offset(t))
}

// between writes two instants, and the date of the second only if it differs.
func (l boardLane) between(from, to time.Time) string {
	a, b := from.In(l.axis.Zone), to.In(l.axis.Zone)
	if a.YearDay() == b.YearDay() && a.Year() == b.Year() {
		return l.stamp(from) + "–" + l.time(to)
	}
	return l.stamp(from) + " – " + l.stamp(to)
}

// moments writes two instants close to each other: "03:00–03:15", "Mon 03:00–03:15".
func (l boardLane) moments(from, to time.Time) string {
	text := l.axis.Format(from, "Mon 15:04")
	if l.axis.To.Sub(l.axis.From) > 4*24*time.Hour {
		text = l.axis.Format(from, "Mon 2 15:04")
	}
	return text + "–" + l.time(to)
}
