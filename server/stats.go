package server

import (
	"net/http"
	"net/url"
	"time"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/client/wire"
)

// statsDays is how many days a request gets that names no start.
const statsDays = 30

// listStats answers with the daily statistics of a check, which go beyond the specification.
func (c *call) listStats() error {
	query, err := url.ParseQuery(c.r.URL.RawQuery)
	if err != nil {
		return errBadQuery
	}
	start, end, err := statsSpan(query, c.mon.Now())
	if err != nil {
		return err
	}
	days, err := c.mon.Project(c.check.ProjectID).Stats(c.r.Context(), c.check.ID, start, end)
	if err != nil {
		return err
	}
	return c.answer(http.StatusOK, wire.NewStats(start, end, days))
}

// statsSpan reads the parameters start and end: days, or months that stand for their first and their last day.
func statsSpan(query url.Values, now time.Time) (start, end time.Time, err error) {
	end = now.UTC().Truncate(24 * time.Hour)
	if query.Has("end") {
		var month bool
		if end, month, err = statsDay(query, "end"); err != nil {
			return start, end, err
		}
		if month {
			end = end.AddDate(0, 1, -1)
		}
	}
	if start = end.AddDate(0, 0, 1-statsDays); start.Year() < 1 {
		start = time.Time{} // the first day that a date can name
	}
	if query.Has("start") {
		if start, _, err = statsDay(query, "start"); err != nil {
			return start, end, err
		}
	}
	return start, end, nil
}

// statsDay reads a day, or a month as its first day.
func statsDay(query url.Values, name string) (day time.Time, month bool, err error) {
	text := query.Get(name)
	for _, form := range []string{time.DateOnly, "2006-01"} {
		if day, err = time.Parse(form, text); err == nil && day.Year() > 0 {
			return day, form != time.DateOnly, nil
		}
	}
	return day, false, &checks.FieldError{Field: name, Reason: "is neither a day such as 2026-10-31 nor a month such as 2026-10"}
}
