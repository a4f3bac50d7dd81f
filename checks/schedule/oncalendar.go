package schedule

import (
	"strings"
	"time"
)

// onCalendar is a parsed OnCalendar expression.
type onCalendar struct {
	expr  string
	lines []calendarLine
}

var _ Schedule = (*onCalendar)(nil)

func parseOnCalendar(expr string, load zoneLoader) (Schedule, error) {
	text := part{expr, 0}.trim()
	if text.text == "" {
		return nil, &Error{Field: "schedule", Reason: "the expression is empty", Offset: -1}
	}
	c := &onCalendar{expr: expr}
	several := strings.Contains(text.text, "\n")
	number := 1 + strings.Count(expr[:text.offset], "\n")
	for more := true; more; number++ {
		var line part
		line, text, more = text.cut("\n")
		parsed, err := parseLine(line, load)
		if err != nil {
			if several {
				err.Line = number
			}
			return nil, err
		}
		c.lines = append(c.lines, parsed)
	}
	return c, nil
}

func (c *onCalendar) String() string { return c.expr }

// Next returns the earliest result of all lines.
func (c *onCalendar) Next(t time.Time) time.Time {
	from, ok := inRange(t)
	if !ok {
		return time.Time{}
	}
	var best int64
	found := false
	for i := range c.lines {
		at, ok := c.lines[i].next(from, t.Location())
		if ok && (!found || at < best) {
			best, found = at, true
		}
	}
	if !found {
		return time.Time{}
	}
	return instant(best, t.Location())
}
