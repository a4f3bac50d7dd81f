package schedule

import (
	"strings"
	"time"
)

type onCalendar struct {
	expr  string
	lines []calendarLine
}

func parseOnCalendar(expr string) (Schedule, *Error) {
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
		parsed, err := parseLine(line)
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

func (c *onCalendar) Next(t time.Time) time.Time { return nextAfter(t, c.first) }

// first returns the earliest instant after from at which a line fires.
func (c *onCalendar) first(from int64, loc *time.Location) (best int64, found bool) {
	for i := range c.lines {
		if at, ok := c.lines[i].next(from, loc); ok && (!found || at < best) {
			best, found = at, true
		}
	}
	return best, found
}
