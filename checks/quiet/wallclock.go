package quiet

import (
	"math"
	"time"
)

// maxShift is more than any zone's offset from UTC, in seconds (RFC 9636 has -25 to +26 hours).
const maxShift = 26*60*60 + 1

// offsetAt returns how many seconds the wall clock is ahead of UTC.
func offsetAt(loc *time.Location, u int64) int64 {
	_, offset := time.Unix(u, 0).In(loc).Zone()
	return int64(offset)
}

// passings returns the first and the last instant at which the wall clock shows a time, which is given as its Unix
// time in UTC. Where the clocks are set forward over it, both are the instant of that change.
func passings(loc *time.Location, wall int64) (first, last int64) {
	found := false
	for u := wall - maxShift; u <= wall+maxShift; {
		start, end := bounds(loc, u)
		offset := offsetAt(loc, u)
		switch at := wall - offset; {
		case at >= start && at < end:
			if !found {
				first, found = at, true
			}
			last = at
		case at < start && !found:
			return start, start
		}
		if end == math.MaxInt64 {
			break
		}
		u = end
	}
	return first, last
}

// bounds returns the stretch of time around an instant in which the offset does not change; end is the first instant
// after it.
func bounds(loc *time.Location, u int64) (start, end int64) {
	start, end = math.MinInt64, math.MaxInt64
	from, to := time.Unix(u, 0).In(loc).ZoneBounds()
	if !from.IsZero() {
		start = from.Unix()
	}
	if !to.IsZero() {
		end = to.Unix()
	}
	if end <= u {
		// For years beyond its tables, the time package ends the last stretch of a leap year a day too early.
		end = u - mod(u, secondsPerDay) + secondsPerDay
	}
	return start, end
}
