// Package board lays out runs of checks on a time axis: one lane a check, the past on the left, the future on the right,
// now or an earlier instant in the middle. It is pure. The unit of all positions is a hundredth of the width of the axis, so that an SVG can
// use them as percentages.
//
//	axis := board.NewAxis(now, now, 24*time.Hour, clock)
//	arrangement := board.Arrange(list, axis, board.ByName, false)
//	lane := board.NewLane(c, timeline, axis)
//
// # Many runs
//
// Runs that would touch each other become one [Band], which counts them. Failures never disappear in a band: it counts
// them, and each also has a mark above the band.
package board

import (
	"slices"
	"strings"
	"time"

	"github.com/rollcall-dev/rollcall/checks/schedule"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/words"
)

// Width is the width of the axis, in pixels, for which lanes merge what would touch.
const Width = 960

// Axis is the time axis of a board.
type Axis struct {
	// At is in the middle between From and To: now, or an earlier instant. Now may be after To.
	From, At, To time.Time
	Now          time.Time
	// Clock gives the labels their time zone and 12 or 24 hours.
	words.Clock
	// Ticks are the marked hours or days, in order.
	Ticks []Tick
	// Changes are the instants at which clocks in the zone change, in order.
	Changes []Change
}

// Tick is a line of the axis.
type Tick struct {
	X  float64
	At time.Time // in the zone
	// Label is "04:00" for an hour, and "Mon 23" for the beginning of a day.
	Label string
	Day   bool
	// Wide, Middle and Narrow say whether the label has room on an axis of at least 800, 420 and 260 pixels.
	Wide, Middle, Narrow bool
}

// Change is a change of the clock.
type Change struct {
	X  float64
	At time.Time
	// Before and After are what the clock shows just before and after it, such as "04:00" and "03:00".
	Before, After string
	// Back reports that the clock is set back.
	Back bool
}

// NewAxis returns the axis that shows a span of time before and after an instant, which is now or earlier. The clock is that
// of the viewer.
func NewAxis(now, at time.Time, span time.Duration, clock words.Clock) *Axis {
	a := &Axis{From: at.Add(-span), At: at, To: at.Add(span), Now: now, Clock: clock}
	a.Ticks = a.ticks()
	a.Changes = a.changes()
	return a
}

// Past reports whether the middle of the axis is an earlier instant than now.
func (a *Axis) Past() bool { return a.At.Before(a.Now) }

// X returns the position of an instant, from 0 to 100. Instants beyond the axis are at its ends.
func (a *Axis) X(t time.Time) float64 {
	x := 100 * float64(t.Sub(a.From)) / float64(a.To.Sub(a.From))
	return min(max(x, 0), 100)
}

// percent returns the position units that a number of pixels takes.
func percent(pixels float64) float64 { return 100 * pixels / Width }

const day = 24 * time.Hour

// ticks returns every hour on an axis of less than a day, every day on one of more than four days, and else every fourth hour.
func (a *Axis) ticks() (list []Tick) {
	step := 4
	switch length := a.To.Sub(a.From); {
	case length > 4*day:
		step = 24
	case length < day:
		step = 1
	}
	from := a.From.In(a.Zone)
	midnight := time.Date(from.Year(), from.Month(), from.Day(), 0, 0, 0, 0, time.UTC)
	for ; ; midnight = midnight.AddDate(0, 0, 1) {
		for hour := 0; hour < 24; hour += step {
			at, skipped := schedule.Shown(a.Zone, midnight.Add(time.Duration(hour)*time.Hour))
			if at.After(a.To) {
				a.label(list)
				return list
			}
			if !at.After(a.From) || skipped && hour > 0 {
				continue
			}
			t := Tick{X: a.X(at), At: at, Label: strings.Replace(a.Format(at, "15:04"), ":00 ", " ", 1), Day: hour == 0}
			if t.Day {
				t.Label = midnight.Format("Mon 2")
			}
			list = append(list, t)
		}
	}
}

// label decides which labels have room on axes of three widths: beside the one in the middle, the ends and each other. Midnights
// come first, then noons.
func (a *Axis) label(list []Tick) {
	const (
		half   = 20 // half of the width of a label, in pixels
		apart  = 48 // pixels between the middles of two labels, at least
		beside = 50 // those between a label and the one in the middle
	)
	for _, size := range []struct {
		width float64
		shown func(*Tick) *bool
	}{
		{800, func(t *Tick) *bool { return &t.Wide }},
		{420, func(t *Tick) *bool { return &t.Middle }},
		{260, func(t *Tick) *bool { return &t.Narrow }},
	} {
		placed := []float64{size.width / 2}
		for _, hours := range []int{24, 12, 8, 4, 2, 1} {
			for i := range list {
				t := &list[i]
				x := t.X * size.width / 100
				if !t.Day && t.At.Hour()%hours != 0 || *size.shown(t) || x < half+2 || x > size.width-half-2 {
					continue
				}
				if slices.ContainsFunc(placed[1:], func(p float64) bool { return max(p-x, x-p) < apart }) || max(placed[0]-x, x-placed[0]) < beside {
					continue
				}
				*size.shown(t) = true
				placed = append(placed, x)
			}
		}
	}
}

// changes returns the changes of the clock on the axis.
func (a *Axis) changes() (list []Change) {
	for _, c := range schedule.ClockChanges(a.Zone, a.From, a.To) {
		shows := func(offset time.Duration) string { return a.In(time.UTC).Format(c.At.Add(offset), "15:04") }
		list = append(list, Change{X: a.X(c.At), At: c.At, Before: shows(c.Before), After: shows(c.After), Back: c.After < c.Before})
	}
	return list
}
