package schedule

import (
	"time"

	"github.com/gorhill/cronexpr"
	"github.com/rollcall-dev/rollcall/checks/internal/wallclock"
)

// cron is a parsed cron expression. gorhill/cronexpr finds the matching times of the wall clock; this file applies the
// rules of Debian's cron for stars and for changes of the clock.
type cron struct {
	expr string
	when pattern
	// wildcard is true if the minute or the hour begins with a star. The schedule then fires at every matching minute,
	// otherwise once for every matching wall clock time.
	wildcard bool
	// A time must match match and, unless it is nil, also. The second expression is needed if both the day of month and
	// the weekday must match, because cronexpr accepts a match of either.
	match, also *cronexpr.Expression
}

func (c *cron) String() string { return c.expr }

func (c *cron) Next(t time.Time) time.Time {
	if c.wildcard {
		return nextAfter(t, c.nextMinute)
	}
	return nextAfter(t, c.nextTime)
}

// nextTime returns the first instant after from of a matching wall clock time. A time in a gap moves to the end of the
// gap.
func (c *cron) nextTime(from int64, loc *time.Location) (int64, bool) {
	found, ok := c.next(wallclock.Unseen(loc, from))
	if !ok {
		return 0, false
	}
	at, _, _ := wallclock.Passings(loc, found)
	return at, true
}

// nextMinute returns the first instant after from at which the wall clock shows a matching time, for the first time or
// again.
func (c *cron) nextMinute(from int64, loc *time.Location) (int64, bool) {
	for u := from + 1; u <= from+horizon; {
		p := wallclock.At(loc, u)
		found, ok := c.next(p.Wall(u))
		switch {
		case ok && found < p.WallEnd():
			return found - p.Offset, true
		case p.End == wallclock.Forever:
			return 0, false
		case p.End-u <= 2*wallclock.MaxShift:
			// At p.End the clock may go back to before the time that it shows at u.
			u = p.End
		case !ok:
			return 0, false
		default:
			// After p.End the clock never shows a time before the one at u again, so found is the next match.
			u = max(p.End, found-wallclock.MaxShift)
		}
	}
	return 0, false
}

// next returns the first matching time of the wall clock that is not before wall.
func (c *cron) next(wall int64) (int64, bool) {
	until := yearOf(wall) + rarestYears
	for {
		at, ok := nextMatch(c.match, wall, until)
		if !ok || c.also == nil {
			return at, ok
		}
		if wall, ok = nextMatch(c.also, at, until); !ok || wall == at {
			return wall, ok
		}
	}
}
