package schedule

import (
	"strings"
	"time"
)

// Explain describes a schedule in an English phrase, for example "every five
// minutes from 09:00 to 17:59, Monday to Friday, in Europe/Riga". It begins in
// lower case and ends without a full stop, so that it can stand in a sentence.
//
// The zone is that of loc, except where a line of an OnCalendar expression names
// its own; with a nil loc none is named. A fixed period is the same in all zones.
// For a Schedule that is not of this package, the answer is what its String
// returns.
func Explain(s Schedule, loc *time.Location) string {
	switch s := s.(type) {
	case every:
		return s.explain()
	case *cron:
		return s.when.explain() + inZone(loc)
	case *onCalendar:
		return s.explain(loc)
	}
	return s.String()
}

func inZone(loc *time.Location) string {
	if loc == nil {
		return ""
	}
	return ", in " + loc.String()
}

// explain describes a calendar without its zone.
func (c *calendar) explain() string {
	text, single := c.clockwork().phrase()
	text += c.dayPhrase(single)
	if _, ok := c.next(0, lastCalendarYear); !ok {
		text += ", which never happens"
	}
	return text
}

// explain names the zone once if it is that of all lines.
func (c *onCalendar) explain(loc *time.Location) string {
	same := true
	for i := range c.lines {
		same = same && inZone(c.lines[i].zone(loc)) == inZone(c.lines[0].zone(loc))
	}
	texts := make([]string, len(c.lines))
	for i := range c.lines {
		texts[i] = c.lines[i].when.explain()
		if !same {
			texts[i] += inZone(c.lines[i].zone(loc))
		}
	}
	text := strings.Join(texts, "; and ")
	if same {
		text += inZone(c.lines[0].zone(loc))
	}
	return text
}

// explain describes a period by its units, from days down; whole weeks are
// weeks.
func (e every) explain() string {
	const day, week = 24 * time.Hour, 7 * 24 * time.Hour
	rest := time.Duration(e)
	switch {
	case rest <= 0:
		return "never"
	case rest%week == 0:
		return everyUnit(int(rest/week), "week")
	}
	var items []string
	for _, unit := range []struct {
		length time.Duration
		name   string
	}{{day, "day"}, {time.Hour, "hour"}, {time.Minute, "minute"}, {time.Second, "second"}} {
		n := int(rest / unit.length)
		if n == 0 {
			continue
		}
		if rest -= time.Duration(n) * unit.length; rest == 0 && len(items) == 0 {
			return everyUnit(n, unit.name)
		}
		items = append(items, plural(n, unit.name))
	}
	if rest > 0 {
		items = append(items, rest.String())
	}
	return "every " + list(items, "and")
}
