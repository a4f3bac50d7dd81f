package schedule

import (
	"time"

	"github.com/rollcall-dev/rollcall/checks/internal/wallclock"
)

// Shown returns the first instant at which the clock of a zone shows the date and time of wall, to the second; the zone of
// wall does not matter. If the clock skips that time, skipped is true, and the instant is that at which the clock is set
// forward.
func Shown(zone *time.Location, wall time.Time) (first time.Time, skipped bool) {
	_, offset := wall.Zone()
	at, _, skipped := wallclock.Passings(zone, wall.Unix()+int64(offset))
	return time.Unix(at, 0).In(zone), skipped
}

// A ClockChange is a change of a zone's offset from UTC.
type ClockChange struct {
	At            time.Time     // the first instant after the change
	Before, After time.Duration // how far the clock is ahead of UTC
}

// ClockChanges returns the changes of a zone's clock between two instants, both excluded.
func ClockChanges(zone *time.Location, from, to time.Time) (list []ClockChange) {
	end := to.Unix()
	for p := wallclock.At(zone, from.Unix()); p.End < end; {
		next := wallclock.At(zone, p.End)
		if next.Offset != p.Offset {
			list = append(list, ClockChange{
				At: time.Unix(p.End, 0).In(zone), Before: time.Duration(p.Offset) * time.Second, After: time.Duration(next.Offset) * time.Second,
			})
		}
		p = next
	}
	return list
}
