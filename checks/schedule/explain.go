package schedule

import (
	"strings"
	"time"
)

// Explain describes a schedule in an English phrase, such as "every five minutes from 09:00 to 17:59, Monday to Friday,
// in Europe/Riga". It begins in lower case and ends without a full stop, so it can be part of a sentence.
//
// The phrase names loc as the zone, or the zone that a line of an OnCalendar expression names. With a nil loc, the phrase
// names a zone only if the expression does.
func Explain(s Schedule, loc *time.Location) string { return s.explain(loc) }

func (c *cron) explain(loc *time.Location) string {
	return c.when.explain(c.next) + inZone(loc)
}

// explain names the zone once if all lines have the same.
func (c *onCalendar) explain(loc *time.Location) string {
	texts, zones := make([]string, len(c.lines)), make([]string, len(c.lines))
	same := true
	for i := range c.lines {
		l := &c.lines[i]
		texts[i], zones[i] = l.when.explain(l.when.next), inZone(l.zone(loc))
		same = same && zones[i] == zones[0]
	}
	if same {
		return strings.Join(texts, "; and ") + zones[0]
	}
	for i := range texts {
		texts[i] += zones[i]
	}
	return strings.Join(texts, "; and ")
}

func inZone(loc *time.Location) string {
	if loc == nil {
		return ""
	}
	return ", in " + loc.String()
}

// explain describes a pattern. It calls next to find out whether the pattern ever matches.
func (p *pattern) explain(next func(wall int64) (int64, bool)) string {
	text, single := p.clockwork().phrase()
	text += p.dayPhrase(single)
	if _, ok := next(0); !ok {
		text += ", which never happens"
	}
	return text
}
