package schedule

import "time"

// every is a schedule with a fixed period.
type every time.Duration

var _ Schedule = every(0)

// Period returns the schedule of a job that runs at a fixed period, counted
// from the last run: its Next(t) is t plus d, whatever the wall clock does
// (API-V3.md, 2.1, field timeout). A d of zero or less gives a schedule that
// never fires.
func Period(d time.Duration) Schedule { return every(d) }

func (e every) Next(t time.Time) time.Time {
	if e <= 0 {
		return time.Time{}
	}
	return t.Add(time.Duration(e))
}

func (e every) String() string { return time.Duration(e).String() }
