package schedule

import "time"

// cron is a parsed cron expression.
type cron struct {
	expr string
	when calendar
	// wildcard is set when the minute or the hour field begins with a star:
	// then every matching minute counts, else every matching wall clock time
	// counts once.
	wildcard bool
}

var _ Schedule = (*cron)(nil)

func (c *cron) String() string { return c.expr }

// Next follows Debian's cron across changes of the wall clock.
func (c *cron) Next(t time.Time) time.Time {
	from, ok := inRange(t)
	if !ok {
		return time.Time{}
	}
	loc := t.Location()
	var at int64
	if c.wildcard {
		at, ok = c.nextMinute(from, loc)
	} else {
		at, ok = c.nextTime(from, loc)
	}
	if !ok {
		return time.Time{}
	}
	return instant(at, loc)
}

// nextTime returns the first passing after from of a matching wall clock time;
// a time skipped by a gap passes at the gap's end.
func (c *cron) nextTime(from int64, loc *time.Location) (int64, bool) {
	p := periodAt(loc, from)
	wall := afterWall(loc, from, p)
	found, ok := c.when.next(wall, yearOf(wall)+horizonYears)
	if !ok {
		return 0, false
	}
	return firstPassing(loc, found, p).at, true
}

// nextMinute returns the first instant after from at which the wall clock
// shows a matching time, whether for the first time or again.
func (c *cron) nextMinute(from int64, loc *time.Location) (int64, bool) {
	u := from + 1
	until := yearOf(u) + horizonYears
	for {
		p := periodAt(loc, u)
		wall := u + p.offset
		found, ok := c.when.next(wall, until)
		switch {
		case ok && found < p.wallEnd():
			return found - p.offset, true
		case p.end == forever:
			return 0, false
		case p.end-u <= 2*maxShift:
			// The clock may be set back to before wall.
			u = p.end
		case !ok:
			return 0, false
		default:
			// No clock shows a time before found from here on but one of
			// those that have been ruled out.
			u = max(p.end, found-maxShift)
		}
	}
}
