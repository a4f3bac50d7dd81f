package monitor

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
	"github.com/rollcall-dev/rollcall/flips"
)

var errChanging = errors.New("the check changed while its totals were read")

// Stats returns what a check did on each UTC day from that of one instant to that of another, both included, at most 366 days: its runs and
// their durations, and the time up, down, unwatched and down in maintenance, exactly. Days before the check was created and after the current
// one are left out, and the current day ends now. [checks.SumDays] adds days up; [flips.Times.Availability] is the share
// of the watched time in which the check was up.
//
// Totals are kept for as long as the check. They begin when the database was first used by a version of Rollcall that
// counts runs: earlier days have no runs. The times begin with the oldest flips that were kept then; earlier days are
// unwatched, unless the check has had its status since then. Errors: [checks.ErrNotFound], and that of [checks.ValidateDays].
func (p *Project) Stats(ctx context.Context, id uuid.UUID, from, to time.Time) ([]checks.DayStats, error) {
	if err := checks.ValidateDays(from, to); err != nil {
		return nil, about("check", id, err)
	}
	const attempts = 5
	for range attempts {
		now := p.now()
		c, err := p.check(ctx, id)
		if err != nil {
			return nil, about("check", id, err)
		}
		history, err := p.transitionsOf(ctx, id)
		if err != nil {
			return nil, about("check", id, err)
		}
		months, err := p.store.Months(ctx, id, time.Time{}, now)
		if err != nil {
			return nil, about("check", id, err)
		}
		maintenance, err := p.maintenance(ctx, c, later(from.UTC().Truncate(24*time.Hour), c.CreatedAt, foldedUntil(months)), now)
		if err != nil {
			return nil, about("check", id, err)
		}
		// If a day left the state of the check meanwhile, it may be missing or counted twice.
		again, err := p.check(ctx, id)
		if err != nil {
			return nil, about("check", id, err)
		}
		if again.History.Today.Date.Equal(c.History.Today.Date) {
			return statsOf(c, history, months, maintenance, from, to, now), nil
		}
	}
	return nil, about("check", id, errChanging)
}

// statsOf joins the stored months with what the check and its transitions add.
func statsOf(
	c checks.Check, history []checks.Transition, months []store.Month, maintenance []flips.Span, from, to, now time.Time,
) []checks.DayStats {
	from, to = later(from.UTC().Truncate(24*time.Hour), c.CreatedAt.UTC().Truncate(24*time.Hour)), earlier(to, now)
	bounds := days(from, to)
	if len(bounds) == 0 {
		return nil
	}
	settled, effects := c.Settle(now)
	complete := flips.RetentionBoundary(now)
	if folded := foldedUntil(months); !folded.IsZero() {
		complete = earlier(complete, folded)
	}
	// twice if the watcher has recorded them meanwhile, which is harmless
	list, pauses := statusesOf(c, append(history, effects.Transitions...), complete)
	dates := slices.Clone(bounds[:len(bounds)-1])
	bounds[len(bounds)-1] = earlier(bounds[len(bounds)-1], now)
	result := make([]checks.DayStats, len(dates))
	for i, times := range flips.SplitMaintained(list, bounds, pauses, maintenance) {
		result[i] = checks.DayStats{Day: checks.Day{Date: dates[i]}, Times: times}
	}
	day := func(date time.Time) *checks.DayStats {
		if i, found := slices.BinarySearchFunc(dates, date, time.Time.Compare); found {
			return &result[i]
		}
		return new(checks.DayStats) // not in the span
	}
	for _, m := range months {
		for _, d := range m.Days {
			into := day(d.Date)
			into.Totals = d.Totals
			if m.Folded {
				into.Times = d.Times
			}
		}
	}
	for _, d := range append(effects.Days, settled.History.Today) {
		into := day(d.Date)
		into.Totals = into.Totals.Add(d.Totals)
	}
	return result
}

// foldedUntil returns the end of the last month that is folded, or the zero time. No flip since then has been pruned.
func foldedUntil(months []store.Month) (end time.Time) {
	for _, m := range months {
		if m.Folded {
			end = m.Start.AddDate(0, 1, 0)
		}
	}
	return end
}

// statusesOf returns the flips, newest first, and the pauses of a check, for [flips.Downtime]. Its transitions are complete
// from an instant on, since which the check had the status that the oldest of them ended.
func statusesOf(c checks.Check, history []checks.Transition, complete time.Time) (list []flips.Flip, pauses []time.Time) {
	first := checks.Transition{To: c.Stored, At: c.StoredSince}
	if len(history) > 0 {
		first = checks.Transition{To: history[0].From, At: earlier(complete, history[0].At)}
	}
	all := append([]checks.Transition{first}, history...)
	for i, t := range all {
		switch t.To {
		case checks.StatusUp, checks.StatusDown:
			list = append(list, t.Flip())
		case checks.StatusPaused:
			if i+1 == len(all) || !all[i+1].EndsAtOnce(t) {
				pauses = append(pauses, t.At)
			}
		}
	}
	slices.Reverse(list)
	return list, pauses
}

func earlier(times ...time.Time) time.Time { return slices.MinFunc(times, time.Time.Compare) }
func later(times ...time.Time) time.Time   { return slices.MaxFunc(times, time.Time.Compare) }
