// Package wallclock converts between instants and the times that a clock on the wall of a time zone shows, across every
// change of that clock.
//
//	riga, err := time.LoadLocation("Europe/Riga")
//	now := time.Now().Unix()
//	wall := wallclock.At(riga, now).Wall(now)
//	first, last, skipped := wallclock.Passings(riga, wall)
//
// Instants are Unix times. A wall clock time is written as the Unix time at which a clock in UTC shows it, so that
// 1970-01-01 03:00 is 10,800 in every zone. Both are in seconds.
//
// When a clock is set forward it skips times: they are in a gap. When it is set back it shows times again: they are in
// an overlap.
//
// The package is pure: it never reads a clock.
package wallclock

import (
	"math"
	"time"
)

// MaxShift is 26 hours in seconds, more than any zone of the IANA database is away from UTC: RFC 9636 allows offsets
// between -25 and +26 hours. No change of a clock is larger than twice that.
const MaxShift = 26 * 60 * 60

const secondsPerDay = 24 * 60 * 60

// The Start of a period that has no start, and the End of one that has no end.
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
		// In years that the zone's table does not reach, package time ends the last period of a year after 365 days.
		// A leap year has one more day, in which no offset changes.
		p.End = u - u%secondsPerDay + secondsPerDay
	}
	return p
}

// Wall returns the time that the clock shows at an instant of the period.
func (p Period) Wall(u int64) int64 { return u + p.Offset }

// WallStart returns the time that the clock shows when the period starts, or Always.
func (p Period) WallStart() int64 {
	if p.Start == Always {
		return Always
	}
	return p.Start + p.Offset
}

// WallEnd returns the time that the clock would show at the end of the period if it were not changed, or Forever.
func (p Period) WallEnd() int64 {
	if p.End == Forever {
		return Forever
	}
	return p.End + p.Offset
}

// Passings returns the first and the last instant at which the clock of loc shows a time. They differ in an overlap
// only. If the time is in a gap, skipped is true and both are the instant at which the clock was set forward.
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

// Unseen returns the earliest time that the clock of loc has neither shown nor skipped up to and including the
// instant u.
func Unseen(loc *time.Location, u int64) int64 {
	p := At(loc, u)
	wall := p.Wall(u) + 1
	for p.Start != Always && u-p.Start <= 2*MaxShift {
		p = At(loc, p.Start-1)
		wall = max(wall, p.WallEnd())
	}
	return wall
}
