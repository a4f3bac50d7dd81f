package statuspage

import (
	"slices"
	"time"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/flips"
)

// condition is what a page says about a check at an instant of the past. A check in its grace time counts as up.
type condition int8

const (
	unwatched condition = iota // new, paused, not yet created, or not known any more
	up
	down
	maintained // down within maintenance, which is no downtime
)

func conditionOf(s checks.Status) condition {
	switch s {
	case checks.StatusUp, checks.StatusGrace:
		return up
	case checks.StatusDown:
		return down
	}
	return unwatched
}

// span is a time in which the condition of a check did not change.
type span struct {
	from, to time.Time
	was      condition
}

// past returns the spans of a check until now, by time and without gaps. The history has its transitions and pauses from
// the instant known on, by time. Before them, the check had the status that the first of them ended.
func past(c checks.Check, history []checks.Transition, known, now time.Time) []span {
	spans := []span{{from: known}}
	change := func(at time.Time, status checks.Status) {
		last, was := &spans[len(spans)-1], conditionOf(status)
		switch {
		case at.Before(last.from), was == last.was:
		case at.Equal(last.from):
			last.was = was
		default:
			last.to = at
			spans = append(spans, span{from: at, was: was})
		}
	}
	if len(history) > 0 {
		spans[0].was = conditionOf(history[0].From)
	} else if !c.StoredSince.IsZero() {
		spans[0] = span{from: c.StoredSince, was: conditionOf(c.Stored)}
	}
	for i, t := range history {
		if i+1 == len(history) || !history[i+1].EndsAtOnce(t) {
			change(t.At, t.To)
		}
	}
	change(c.StoredSince, c.Stored) // a resumption has no transition
	_, effects := c.Settle(now)
	for _, t := range effects.Transitions {
		change(t.At, t.To) // the watcher may not have recorded it yet
	}
	spans[len(spans)-1].to = now
	return spans
}

// day says how a check spent a day in UTC, or the part of it until now.
type day struct {
	date time.Time

	up, down, unwatched, maintained time.Duration
}

func (d day) length() time.Duration  { return d.up + d.down + d.unwatched + d.maintained }
func (d day) watched() time.Duration { return d.up + d.down }

// times returns how the check spent the day.
func (d day) times() flips.Times {
	return flips.Times{Up: d.up, Down: d.down, Unwatched: d.unwatched, Maintenance: d.maintained}
}

func (d *day) add(was condition, took time.Duration) {
	switch was {
	case up:
		d.up += took
	case down:
		d.down += took
	case maintained:
		d.maintained += took
	default:
		d.unwatched += took
	}
}

// maintain returns spans in which the time down within maintenance has a condition of its own.
func maintain(spans []span, maintenance []flips.Span) (list []span) {
	for _, s := range spans {
		whole := s.from
		for _, m := range maintenance {
			if s.was != down || !m.Start.Before(s.to) || !m.End.After(s.from) {
				continue
			}
			if m.Start.After(s.from) {
				list = append(list, span{s.from, m.Start, down})
				s.from = m.Start
			}
			end := earlier(m.End, s.to)
			list = append(list, span{s.from, end, maintained})
			s.from = end
		}
		if s.from.Before(s.to) || s.from.Equal(whole) { // the last may have begun right now
			list = append(list, s)
		}
	}
	return list
}

// published returns spans in which the time down counts as up if it is shorter than the least duration of an outage, and when the
// outage that goes on has lasted so long, or the zero time if it has or there is none. One that began before the instant known may
// have lasted longer than what is known of it, so it counts.
func published(spans []span, known time.Time, least time.Duration) (list []span, held time.Time) {
	list = slices.Clone(spans)
	for i := range list {
		s := &list[i]
		if s.was != down || s.to.Sub(s.from) >= least || i == 0 && s.from.Equal(known) {
			continue
		}
		s.was = up
		if i == len(list)-1 {
			held = s.from.Add(least)
		}
	}
	return list, held
}

// beforeOutage returns the status that a check had when the outage began that goes on: it was late if its deadline passed.
func beforeOutage(c checks.Check, history []checks.Transition, now time.Time) checks.Status {
	_, effects := c.Settle(now)
	history = slices.Concat(history, effects.Transitions)
	if n := len(history); n > 0 && history[n-1].Reason == flips.Overdue {
		return checks.StatusGrace
	}
	return checks.StatusUp
}

// barDays is how many days a bar has: 90 and the current one.
const barDays = 91

// firstDay returns the midnight in UTC at which the bars of a page begin.
func firstDay(now time.Time) time.Time {
	return now.UTC().Truncate(24*time.Hour).AddDate(0, 0, 1-barDays)
}

// days splits spans into days in UTC, from the first day of the bars until the day of now. Time before the first span is
// unwatched.
func days(spans []span, now time.Time) []day {
	list := make([]day, barDays)
	start := firstDay(now)
	i := 0
	for n := range list {
		d := &list[n]
		d.date = start.AddDate(0, 0, n)
		at, end := d.date, d.date.AddDate(0, 0, 1)
		if end.After(now) {
			end = now
		}
		for at.Before(end) {
			for i < len(spans) && !spans[i].to.After(at) {
				i++
			}
			was, until := unwatched, end
			switch {
			case i == len(spans):
			case spans[i].from.After(at):
				until = earlier(spans[i].from, end)
			default:
				was, until = spans[i].was, earlier(spans[i].to, end)
			}
			d.add(was, until.Sub(at))
			at = until
		}
	}
	return list
}

// withOlder returns days with those before an instant taken from the statistics of the check.
func withOlder(list []day, older []checks.DayStats, known time.Time) []day {
	for i := range list {
		d := &list[i]
		n, found := slices.BinarySearchFunc(older, d.date, func(s checks.DayStats, date time.Time) int { return s.Date.Compare(date) })
		if found && d.date.Before(known) {
			t := older[n].Times
			d.up, d.down, d.unwatched, d.maintained = t.Up, t.Down, t.Unwatched, t.Maintenance
		}
	}
	return list
}

func earlier(times ...time.Time) time.Time { return slices.MinFunc(times, time.Time.Compare) }

// sum adds days up.
func sum(list []day) (total day) {
	for _, d := range list {
		total.up, total.down, total.unwatched = total.up+d.up, total.down+d.down, total.unwatched+d.unwatched
		total.maintained += d.maintained
	}
	return total
}

// outage is a time in which a check was down.
type outage struct {
	from time.Time
	// earlier means that the outage began before from, at a time that is not known any more.
	earlier bool
	// to is the zero time while the outage goes on. Paused means that a pause ended it.
	to     time.Time
	paused bool
}

// took returns how long the outage lasted, or has lasted at an instant.
func (o outage) took(now time.Time) time.Duration {
	if o.to.IsZero() {
		return now.Sub(o.from)
	}
	return o.to.Sub(o.from)
}

// outages returns the outages among spans that had not ended at an instant, by time. Known is the instant from which the
// history of the check is known.
func outages(spans []span, known, since time.Time) (list []outage) {
	for i, s := range spans {
		last := i == len(spans)-1
		if s.was != down || !last && !s.to.After(since) {
			continue
		}
		o := outage{from: s.from, earlier: i == 0 && s.from.Equal(known)}
		if !last {
			o.to, o.paused = s.to, spans[i+1].was == unwatched
		}
		list = append(list, o)
	}
	return list
}

// nextChange returns the next instant at which the clock changes the status of a check, or the zero time.
func nextChange(c checks.Check, now time.Time) (next time.Time) {
	for _, at := range []time.Time{c.NextPing(now), c.Deadline()} {
		if at.After(now) && (next.IsZero() || at.Before(next)) {
			next = at
		}
	}
	return next
}
