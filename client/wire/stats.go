package wire

import (
	"fmt"
	"math"
	"time"

	"github.com/rollcall-dev/rollcall/checks"
)

// Stats is the response with the daily statistics of a check.
type Stats struct {
	Start string     `json:"start"` // the first day of the request
	End   string     `json:"end"`   // the last day
	Total StatsSum   `json:"total"`
	Days  []StatsDay `json:"days"` // oldest first; from the day on which the check was created until now
}

// StatsDay has the statistics of one UTC day.
type StatsDay struct {
	Date string `json:"date"`
	StatsSum
}

// StatsSum counts runs and adds up times, in seconds.
type StatsSum struct {
	Runs         int64      `json:"runs"`
	Failures     int64      `json:"failures"`
	Up           float64    `json:"up"`
	Down         float64    `json:"down"`
	Unwatched    float64    `json:"unwatched"`
	Maintenance  float64    `json:"maintenance"`  // down within maintenance windows, and neither in up nor in down
	Availability *float64   `json:"availability"` // up / (up + down), null if both are 0
	Durations    *Durations `json:"durations"`    // null if no run has a duration
}

// Durations sums up the durations of runs, in seconds.
type Durations struct {
	Count int64   `json:"count"`
	Sum   float64 `json:"sum"`
	Min   float64 `json:"min"`
	Max   float64 `json:"max"`
}

// NewStats returns the document of days, for a request that asked for those from start to end.
func NewStats(start, end time.Time, days []checks.DayStats) Stats {
	s := Stats{Start: start.Format(time.DateOnly), End: end.Format(time.DateOnly), Days: make([]StatsDay, len(days))}
	var total checks.DayStats
	total.Totals, total.Times = checks.SumDays(days)
	s.Total = newStatsSum(total)
	for i, d := range days {
		s.Days[i] = StatsDay{d.Date.Format(time.DateOnly), newStatsSum(d)}
	}
	return s
}

func newStatsSum(d checks.DayStats) StatsSum {
	s := StatsSum{
		Runs: d.Runs, Failures: d.Failures,
		Up: d.Times.Up.Seconds(), Down: d.Times.Down.Seconds(), Unwatched: d.Times.Unwatched.Seconds(),
		Maintenance: d.Times.Maintenance.Seconds(),
	}
	if share, ok := d.Times.Availability(); ok {
		s.Availability = &share
	}
	if d.Timed > 0 {
		s.Durations = &Durations{Count: d.Timed, Sum: d.Sum.Seconds(), Min: d.Min.Seconds(), Max: d.Max.Seconds()}
	}
	return s
}

// Stats returns the day in the terms of package checks. It fails if the date is none.
func (d StatsDay) Stats() (checks.DayStats, error) {
	date, err := time.Parse(time.DateOnly, d.Date)
	if err != nil {
		return checks.DayStats{}, fmt.Errorf("wire: %q is not a date", d.Date)
	}
	s := checks.DayStats{Day: checks.Day{Date: date, Totals: checks.Totals{Runs: d.Runs, Failures: d.Failures}}}
	s.Times.Up, s.Times.Down, s.Times.Unwatched = durationOf(d.Up), durationOf(d.Down), durationOf(d.Unwatched)
	s.Times.Maintenance = durationOf(d.Maintenance)
	if u := d.Durations; u != nil {
		s.Timed, s.Sum, s.Min, s.Max = u.Count, durationOf(u.Sum), durationOf(u.Min), durationOf(u.Max)
	}
	return s, nil
}

// durationOf returns a number of seconds as a duration in whole microseconds.
func durationOf(n float64) time.Duration {
	return time.Duration(math.Round(n*1e6)) * time.Microsecond
}
