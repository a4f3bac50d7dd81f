// Package wallclock converts between instants and the wall clock times of a time zone, across every change of the clock.
//
//	riga, err := time.LoadLocation("Europe/Riga")
//	now := time.Now().Unix()
//	wall := wallclock.At(riga, now).Wall(now)
//	first, last, skipped := wallclock.Passings(riga, wall)
//
// Instants are Unix times. A wall clock time is the Unix time at which a clock in UTC shows it: 1970-01-01 03:00 is
// 10,800 in every zone. Both are in seconds.
//
// A clock that is set forward skips the times in a gap. A clock that is set back shows the times in an overlap twice.
//
// The package is pure: it never reads a clock.
package wallclock

import (
	"math"
	"time"
)

// MaxShift bounds the offset of a zone from UTC, in seconds: RFC 9636 allows offsets between -25 and +26 hours. No
// change of a clock is larger than twice that.
const MaxShift = 26 * 60 * 60

const secondsPerDay = 24 * 60 * 60

// Always is the Start of a period without a start, Forever the End of one without an end.
const (
	Always  = math.MinInt64
	Forever = math.MaxInt64
)

// A Period is a stretch of time in which a zone's offset from UTC does not change. Neighbours may have equal offsets.
type Period struct {
	Start, End int64 // instants; End is the first one after the period
	Offset     int64 // seconds that the clock is ahead of UTC
}

// At returns the period of loc that contains the instant u.
func At(loc *time.Location, u int64) Period {
	t := time.Unix(u, 0).In(loc)
	_, offset := t.Zone()
	start, end := t.ZoneBounds()
	p := Period{Always, Forever, int64(offset)}
	if !start.IsZero() {
		p.Start = start.Unix()
	}
	if !end.IsZero() {
		p.End = end.Unix()
	}
	if p.End <= u {
		// Beyond the zone's table, package time ends the last period of each year after 365 days. In leap years it misses
		// the last day, on which no offset changes.
		p.End = u - u%secondsPerDay + secondsPerDay
	}
	return p
}

// Wall returns the time that the clock shows at an instant of the period.
func (p Period) Wall(u int64) int64 { return u + p.Offset }

// WallEnd returns the time that the clock would show at the end of the period without the change, or Forever.
func (p Period) WallEnd() int64 {
	if p.End == Forever {
		return Forever
	}
	return p.End + p.Offset
}

// Passings returns the first and the last instant at which the clock of loc shows the time wall. They differ only in an
// overlap. If wall is in a gap, skipped is true and both are the instant at which the clock is set forward.
func Passings(loc *time.Location, wall int64) (first, last int64, skipped bool) {
	found := false
	for u := wall - MaxShift; u <= wall+MaxShift; {
		p := At(loc, u)
		switch at := wall - p.Offset; {
		case at >= p.Start && at < p.End:
			if !found {
				first, found = at, true
			}
			last = at
		case at < p.Start && !found:
			return p.Start, p.Start, true
		}
		if p.End == Forever {
			break
		}
		u = p.End
	}
	return first, last, false
}

// Unseen returns the earliest time that the clock of loc has neither shown nor skipped up to and including the instant u.
func Unseen(loc *time.Location, u int64) int64 {
	p := At(loc, u)
	wall := p.Wall(u) + 1
	for p.Start != Always && u-p.Start <= 2*MaxShift {
		p = At(loc, p.Start-1)
		wall = max(wall, p.WallEnd())
	}
	return wall
}
