package schedule

import (
	"math"
	"time"
)

// A period is a stretch of time in which a zone's offset from UTC does not
// change. Two neighbours may have the same offset.
type period struct {
	start, end int64 // in Unix time; end is the first instant after it
	offset     int64 // of the wall clock, in seconds east of UTC
}

// No start and no end.
const (
	forever = math.MaxInt64
	always  = math.MinInt64
)

// maxShift is more than any zone's offset from UTC and, twice, more than any
// change of one, in seconds (TZif files, RFC 9636, go from -25 to +26 hours).
const maxShift = 26 * 60 * 60

// periodAt returns the period of loc in which the instant u lies.
func periodAt(loc *time.Location, u int64) period {
	if loc == time.UTC {
		return period{always, forever, 0}
	}
	t := time.Unix(u, 0).In(loc)
	_, offset := t.Zone()
	start, end := t.ZoneBounds()
	p := period{always, forever, int64(offset)}
	if !start.IsZero() {
		p.start = start.Unix()
	}
	if !end.IsZero() {
		p.end = end.Unix()
	}
	if p.end <= u {
		// The time package ends the last period of a year for which a zone has
		// only a rule, no table, after 365 days, leap year or not. There is no
		// change of offset in the day that it leaves out.
		p.end = u - u%secondsPerDay + secondsPerDay
	}
	return p
}

// wallStart and wallEnd return what the wall clock shows at the start of the
// period, and would show at its end if it went on.
func (p period) wallStart() int64 {
	if p.start == always {
		return always
	}
	return p.start + p.offset
}

func (p period) wallEnd() int64 {
	if p.end == forever {
		return forever
	}
	return p.end + p.offset
}

// A passing is when the wall clock of a zone shows a certain time, or does not.
type passing struct {
	// at is the first instant at which the wall clock shows the time; where a
	// gap skips the time, it is the instant of the change that makes the gap.
	at int64
	// skipped is set where a gap skips the time.
	skipped bool
	// period is the one that begins with the gap's end or has the time in it.
	period period
}

// firstPassing finds the first passing of a wall clock second. The period is
// one known to the caller, which saves a search where the time lies in it; the
// caller has made sure that the time is not in an earlier period too.
func firstPassing(loc *time.Location, wall int64, known period) passing {
	if wall >= known.wallStart() && wall < known.wallEnd() {
		return passing{at: wall - known.offset, period: known}
	}
	u := wall - maxShift
	for {
		p := periodAt(loc, u)
		if wall < p.wallStart() {
			return passing{at: p.start, skipped: true, period: p}
		}
		if wall < p.wallEnd() {
			return passing{at: wall - p.offset, period: p}
		}
		u = p.end
	}
}

// afterWall returns the smallest wall clock second whose first passing, be it
// skipped or not, may come after the instant u.
func afterWall(loc *time.Location, u int64, p period) int64 {
	wall := u + p.offset + 1
	for p.start != always && u-p.start <= 2*maxShift {
		// What the clock showed before it was set back does not pass first
		// again.
		p = periodAt(loc, p.start-1)
		wall = max(wall, p.wallEnd())
	}
	return wall
}

// inRange returns the Unix time of t, or that of the zero Time if t is before it,
// and whether schedules have results after it.
func inRange(t time.Time) (int64, bool) {
	u := t.Unix()
	return max(u, firstSecond), u < endSecond
}

// instant turns Unix time into a result in the location of the question.
func instant(u int64, loc *time.Location) time.Time {
	return time.Unix(u, 0).In(loc)
}
