package store

import (
	"time"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/flips"
)

// Month has the totals of a check in one UTC month. They are kept as long as the check.
type Month struct {
	// Start is midnight UTC at the first day of the month.
	Start time.Time
	// Folded reports whether a [Fold] of the month was saved.
	Folded bool
	// Days ascend. They are the days that were saved in Locked.Days, without their Times. If the month is folded, they are
	// all its days, with their Times.
	Days []checks.DayStats
}

// Fold has the times that a check was up, down and unwatched on each day of a UTC month, so that its flips can be pruned.
type Fold struct {
	// Start is midnight UTC at the first day of the month.
	Start time.Time
	// Days has one item for each day of the month, which adds up to 24 hours.
	Days []flips.Times
}

// MonthStart returns midnight UTC at the first day of the month of an instant.
func MonthStart(t time.Time) time.Time {
	year, month, _ := t.UTC().Date()
	return time.Date(year, month, 1, 0, 0, 0, 0, time.UTC)
}

// Add adds the totals of a day of the month.
func (m *Month) Add(d checks.Day) {
	i := 0
	for i < len(m.Days) && m.Days[i].Date.Before(d.Date) {
		i++
	}
	if i == len(m.Days) || !m.Days[i].Date.Equal(d.Date) {
		m.Days = append(m.Days[:i:i], append([]checks.DayStats{{Day: checks.Day{Date: d.Date}}}, m.Days[i:]...)...)
	}
	m.Days[i].Totals = m.Days[i].Totals.Add(d.Totals)
}

// Fold sets the times of all days of the month.
func (m *Month) Fold(f Fold) {
	m.Folded = true
	for i, times := range f.Days {
		m.Add(checks.Day{Date: m.Start.AddDate(0, 0, i)})
		m.Days[i].Times = times
	}
}
