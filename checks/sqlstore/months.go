package sqlstore

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
	"github.com/rollcall-dev/rollcall/flips"
)

// monthVersion is the version of storedMonth. A higher one is not read.
const monthVersion = 1

const wholeDay = 24 * time.Hour

// monthChange holds the new days and folds of one check.
type monthChange struct {
	check int64
	days  []checks.Day
	folds []store.Fold
}

var saveMonth = statement{
	sqlite: `INSERT INTO rollcall_months (check_id, month, folded, stats) VALUES (?, ?, ?, ?)
		ON CONFLICT (check_id, month) DO UPDATE SET folded = excluded.folded, stats = excluded.stats`,
	postgres: `INSERT INTO rollcall_months (check_id, month, folded, stats)
		SELECT unnest($1::bigint[]), unnest($2::bigint[]), unnest($3::boolean[]), unnest($4::text[])
		ON CONFLICT (check_id, month) DO UPDATE SET folded = excluded.folded, stats = excluded.stats`,
}

// monthNumber returns the months from January 1970 to that of an instant.
func monthNumber(t time.Time) int64 {
	year, month, _ := t.UTC().Date()
	return 12*int64(year-1970) + int64(month-time.January)
}

func monthOf(number int64) time.Time {
	return time.Date(1970, time.January+time.Month(number), 1, 0, 0, 0, 0, time.UTC)
}

type monthKey struct{ check, month int64 }

// saveMonths reads the months that change and writes them. The locks of their checks guard them.
func (t *transaction) saveMonths(ctx context.Context, list []monthChange) error {
	months := make(map[monthKey]*store.Month)
	change := func(check int64, at time.Time) *store.Month {
		key := monthKey{check, monthNumber(at)}
		if months[key] == nil {
			months[key] = &store.Month{Start: monthOf(key.month)}
		}
		return months[key]
	}
	for _, c := range list {
		for _, d := range c.days {
			change(c.check, d.Date)
		}
		for _, f := range c.folds {
			change(c.check, f.Start)
		}
	}
	unreadable, err := t.readMonths(ctx, months)
	if err != nil {
		return err
	}
	for _, c := range list {
		for _, d := range c.days {
			change(c.check, d.Date).Add(d)
		}
		for _, f := range c.folds {
			change(c.check, f.Start).Fold(f)
		}
	}
	rows := make([][]any, 0, len(months))
	for key, m := range months {
		// A month from a newer version stays as it is: losing a day of totals is better than refusing pings.
		if !unreadable[key] {
			stats, err := encodeMonth(m)
			if err != nil {
				return err
			}
			rows = append(rows, []any{key.check, key.month, m.Folded, stats})
		}
	}
	return t.exec(ctx, saveMonth, rows)
}

type monthRow struct {
	monthKey
	folded bool
	stats  []byte
}

// readMonths fills in what is stored of months, and returns those that cannot be read.
func (t *transaction) readMonths(ctx context.Context, months map[monthKey]*store.Month) (unreadable map[monthKey]bool, err error) {
	var ids []int64
	var first, last int64
	for key := range months {
		if len(ids) == 0 {
			first, last = key.month, key.month
		}
		ids, first, last = append(ids, key.check), min(first, key.month), max(last, key.month)
	}
	slices.Sort(ids)
	ids = slices.Compact(ids)
	query := fmt.Sprintf("SELECT check_id, month, folded, stats FROM rollcall_months WHERE %s AND month >= %d AND month <= %d",
		t.s.d.among("check_id", "bigint"), first, last)
	rows, err := t.tx().Tx.QueryContext(ctx, query, t.s.d.list(ids))
	var row monthRow
	found, err := scanList(rows, err, &row, &row.check, &row.month, &row.folded, &row.stats)
	if err != nil {
		return nil, err
	}
	unreadable = make(map[monthKey]bool)
	for _, row := range found {
		if m := months[row.monthKey]; m != nil {
			unreadable[row.monthKey] = row.decode(m) != nil
		}
	}
	return unreadable, nil
}

// Months returns the months of a check between two instants, by time.
func (s *database) Months(ctx context.Context, checkID uuid.UUID, from, to time.Time) ([]store.Month, error) {
	const query = `SELECT m.month, m.folded, m.stats FROM rollcall_months AS m JOIN rollcall_checks AS c ON c.id = m.check_id
		WHERE c.uuid = ? AND m.month >= ? AND m.month <= ? ORDER BY m.month`
	rows, err := s.db.QueryContext(ctx, query, checkID, monthNumber(from), monthNumber(to))
	var row monthRow
	found, err := scanList(rows, err, &row, &row.month, &row.folded, &row.stats)
	if err != nil {
		return nil, s.translate(err)
	}
	list := make([]store.Month, len(found))
	for i, r := range found {
		list[i].Start = monthOf(r.month)
		if err := r.decode(&list[i]); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// Unfolded returns the checks that existed in a month and have no fold of it, in the order of their IDs.
func (s *database) Unfolded(ctx context.Context, month time.Time, after uuid.UUID, limit int) (ids []uuid.UUID, err error) {
	end := store.MonthStart(month).AddDate(0, 1, 0)
	err = s.db.NewRaw(`SELECT c.uuid FROM rollcall_checks AS c WHERE c.uuid > ? AND c.created_at < ? AND NOT EXISTS (
			SELECT 1 FROM rollcall_months AS m WHERE m.check_id = c.id AND m.month = ? AND m.folded)
		ORDER BY c.uuid LIMIT ?`, after, micros(end), monthNumber(month), limit).Scan(ctx, &ids)
	return ids, s.translate(err)
}

// storedMonth is the JSON in rollcall_months.stats.
type storedMonth struct {
	Version int         `json:"version"`
	Days    []storedDay `json:"days"`
}

// storedDay is a day that has runs or, in a month that is folded, any day. The check was up for the rest of it.
type storedDay struct {
	Day int `json:"day"`
	checks.Totals
	Down      time.Duration `json:"down,omitzero"`
	Unwatched time.Duration `json:"unwatched,omitzero"`

	Maintenance time.Duration `json:"maintenance,omitzero"`
}

func encodeMonth(m *store.Month) (string, error) {
	stored := storedMonth{monthVersion, make([]storedDay, len(m.Days))}
	for i, d := range m.Days {
		stored.Days[i] = storedDay{d.Date.Day(), d.Totals, d.Times.Down, d.Times.Unwatched, d.Times.Maintenance}
	}
	text, err := json.Marshal(stored)
	return string(text), err
}

// decode sets the days of a month to those that are stored.
func (r *monthRow) decode(m *store.Month) error {
	var stored storedMonth
	m.Folded = r.folded
	switch err := json.Unmarshal(r.stats, &stored); {
	case stored.Version > monthVersion:
		return &partError{ErrNewerSchema,
			fmt.Errorf("sqlstore: the statistics of a month have version %d, and this one reads up to %d", stored.Version, monthVersion)}
	case err != nil:
		return fmt.Errorf("sqlstore: the statistics of a month: %w", err)
	}
	for _, d := range stored.Days {
		day := checks.DayStats{Day: checks.Day{Date: m.Start.AddDate(0, 0, d.Day-1), Totals: d.Totals}}
		if r.folded {
			day.Times = flips.Times{Down: d.Down, Unwatched: d.Unwatched, Maintenance: d.Maintenance}
			day.Times.Up = wholeDay - d.Down - d.Unwatched - d.Maintenance
		}
		m.Days = append(m.Days, day)
	}
	return nil
}
