package checks

import (
	"time"

	"github.com/rollcall-dev/rollcall/flips"
)

// Day has the totals of one day.
type Day struct {
	// Date is midnight UTC at the start of the day.
	Date time.Time `json:"date"`
	Totals
}

// Date returns midnight UTC of the day of an instant.
func Date(t time.Time) time.Time { return t.UTC().Truncate(24 * time.Hour) }

// Totals counts the runs of a span of time.
type Totals struct {
	// Runs counts all runs, and Failures those with the result fail or missed.
	Runs     int64 `json:"runs,omitzero"`
	Failures int64 `json:"failures,omitzero"`
	// Timed counts the runs with a known duration. Sum, Min and Max are over their durations.
	Timed int64         `json:"timed,omitzero"`
	Sum   time.Duration `json:"sum,omitzero"`
	Min   time.Duration `json:"min,omitzero"`
	Max   time.Duration `json:"max,omitzero"`
}

// Add returns the totals of two spans together.
func (t Totals) Add(u Totals) Totals {
	switch {
	case u.Timed == 0:
	case t.Timed == 0:
		t.Min, t.Max = u.Min, u.Max
	default:
		t.Min, t.Max = min(t.Min, u.Min), max(t.Max, u.Max)
	}
	t.Runs, t.Failures, t.Timed, t.Sum = t.Runs+u.Runs, t.Failures+u.Failures, t.Timed+u.Timed, t.Sum+u.Sum
	return t
}

// DayStats is what a check did on one day: its runs, and the time that it was up, down and unwatched.
type DayStats struct {
	Day
	// Times add up to 24 hours, or less on the current day. The time before the check was created is unwatched.
	Times flips.Times
}

// SumDays returns the totals of days together.
func SumDays(days []DayStats) (totals Totals, times flips.Times) {
	for _, d := range days {
		totals, times = totals.Add(d.Totals), times.Add(d.Times)
	}
	return totals, times
}
