package schedule

import (
	"errors"
	"fmt"
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

// localLayouts are the forms of ParseLocal.
var localLayouts = []string{"2006-01-02T15:04", "2006-01-02 15:04", "2006-01-02T15:04:05", "2006-01-02 15:04:05"}

// ErrNotLocal says that a text has no form that [ParseLocal] reads.
var ErrNotLocal = errors.New("is not a date and a time such as 2026-12-01T22:00")

// ParseLocal returns the instant at which the clock of a zone shows a time that a person has typed, such as 2026-12-01T22:00. If the
// clock shows it twice, because it is set back, that is the first instant, as for a [Schedule], and note says so; otherwise note is "".
// Errors: [ErrNotLocal], and one that names a time which the clock never shows, because it is set forward.
func ParseLocal(text string, zone *time.Location) (at time.Time, note string, err error) {
	var wall time.Time
	for _, layout := range localLayouts {
		if wall, err = time.Parse(layout, text); err == nil {
			break
		}
	}
	if err != nil {
		return time.Time{}, "", ErrNotLocal
	}
	first, last, skipped := wallclock.Passings(zone, wall.Unix())
	at = time.Unix(first, int64(wall.Nanosecond())).In(zone)
	named := wall.Format("15:04") + " on " + wall.Format("2 January 2006") + " in " + zone.String()
	switch {
	case skipped:
		before := wallclock.At(zone, first-1)
		return time.Time{}, "", fmt.Errorf("does not exist: the clock is set forward from %s to %s, past %s",
			time.Unix(before.WallEnd(), 0).UTC().Format("15:04"), at.Format("15:04"), named)
	case first != last:
		note = fmt.Sprintf("the clock shows %s twice; this is the first, %s, and the second is %s", named,
			at.Format(time.RFC3339), time.Unix(last, int64(wall.Nanosecond())).In(zone).Format(time.RFC3339))
	}
	return at, note, nil
}
