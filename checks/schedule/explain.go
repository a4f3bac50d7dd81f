package schedule

import (
	"strings"
	"time"
)

// Explain describes a schedule in an English phrase, such as "every five minutes from 09:00 to 17:59, Monday to Friday, in
// Europe/Riga". It begins in lower case and ends without a full stop, so that it can stand in a sentence.
//
// The phrase names loc as the zone, or the zone that a line of an OnCalendar expression names. With a nil loc, a zone is
// named only if the expression names it.
func Explain(s Schedule, loc *time.Location) string { return s.explain(loc) }

func (c *cron) explain(loc *time.Location) string {
	_, fires := c.next(0)
	return c.when.explain(fires) + inZone(loc)
}

func inZone(loc *time.Location) string {
	if loc == nil {
		return ""
	}
	return ", in " + loc.String()
}

// explain describes a pattern without a zone.
func (p *pattern) explain(fires bool) string {
	text, single := p.clockwork().phrase()
	text += p.dayPhrase(single)
	if !fires {
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
		_, fires := c.lines[i].when.next(0)
		texts[i] = c.lines[i].when.explain(fires)
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
