package checks

import (
	"time"

	"github.com/rollcall-dev/rollcall/flips"
	"github.com/rollcall-dev/rollcall/pings"
)

// History is what a check remembers of its runs. Pause and resume keep it. The zero value has no runs.
type History struct {
	// Recent are the last runs.
	Recent Recent `json:"recent,omitzero"`
	// LastSuccess is when the last success ended, or the zero time. LastSuccessDuration is its Run.Duration.
	LastSuccess         time.Time     `json:"last_success,omitzero"`
	LastSuccessDuration time.Duration `json:"last_success_duration,omitzero"`
	// Today has the totals of the day of the newest run, which need not be the current day; see [History.On].
	Today Day `json:"today,omitzero"`
}

// On returns the totals of the UTC day of an instant, if that is the day of the newest run. The totals of other days are
// not in the history.
func (h History) On(t time.Time) Totals {
	if h.Today.Date.Equal(Date(t)) {
		return h.Today.Totals
	}
	return Totals{}
}

// end ends the run that a success or a failure is about: it gives the ping its duration if pair is set and the start is
// known, and adds the run to the history. Call it before the ping changes the state.
func (c Check) end(ping *pings.Ping, pair bool, effects *Effects) Check {
	if pair && len(c.Runs) > 0 {
		runs, took, paired := c.Runs.End(ping.RunID, ping.At)
		if c.Runs = runs; paired {
			ping.Duration = &took
		}
	}
	run := Run{At: ping.At, Result: RunSuccess}
	if ping.Kind == pings.Fail {
		run.Result = RunFail
	}
	if ping.Duration != nil {
		run.Duration = *ping.Duration
	}
	return c.addRun(run, ping.Duration != nil, effects)
}

// addRun adds a run to the history. The totals of a day that is over go to the effects, and so does a run of an earlier
// day.
func (c Check) addRun(run Run, timed bool, effects *Effects) Check {
	totals := Totals{Runs: 1}
	if run.Result != RunSuccess {
		totals.Failures = 1
	}
	if timed {
		totals.Timed, totals.Sum, totals.Min, totals.Max = 1, run.Duration, run.Duration, run.Duration
	}
	h := &c.History
	newest := !run.At.Before(c.newest())
	h.Recent = h.Recent.with(run, newest)
	if run.Result == RunSuccess && (newest || !run.At.Before(h.LastSuccess)) {
		h.LastSuccess, h.LastSuccessDuration = run.At, run.Duration
	}
	if date := Date(run.At); !date.Equal(h.Today.Date) {
		if !newest && date.Before(h.Today.Date) {
			effects.Days = append(effects.Days, Day{date, totals})
			return c
		}
		if h.Today.Runs > 0 {
			effects.Days = append(effects.Days, h.Today)
		}
		h.Today = Day{Date: date}
	}
	h.Today.Totals = h.Today.Add(totals)
	return c
}

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
