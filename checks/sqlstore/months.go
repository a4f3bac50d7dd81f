package sqlstore

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
	"github.com/rollcall-dev/rollcall/flips"
)

// The days of a month are stored as a version byte, 1, followed by varints for each day that has something to store:
//
//   - the day of the month times 4, plus 1 if runs follow and 2 if times follow
//   - runs, failures, timed runs; the sum of the durations if any run was timed; the least and the largest if several were
//   - the time down and unwatched, in microseconds; the rest of the 24 hours the check was up
//
// Durations of runs are in units of 10 ms.

const (
	monthVersion = 1
	withRuns     = 1
	withTimes    = 2
	dayFlags     = 2 // bits
	wholeDay     = 24 * time.Hour
)

var errMonth = errors.New("sqlstore: the column days has a value that this version cannot read")

// monthChange holds the new days and folds of one check.
type monthChange struct {
	check int64
	days  []checks.Day
	folds []store.Fold
}

var saveMonth = statement{
	sqlite: `INSERT INTO rollcall_months (check_id, month, folded, days) VALUES (?, ?, ?, ?)
		ON CONFLICT (check_id, month) DO UPDATE SET folded = excluded.folded, days = excluded.days`,
	postgres: `INSERT INTO rollcall_months (check_id, month, folded, days)
		SELECT unnest($1::bigint[]), unnest($2::bigint[]), unnest($3::boolean[]), unnest($4::bytea[])
		ON CONFLICT (check_id, month) DO UPDATE SET folded = excluded.folded, days = excluded.days`,
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
			rows = append(rows, []any{key.check, key.month, m.Folded, encodeMonth(m)})
		}
	}
	return t.s.d.exec(ctx, t.tx, saveMonth, rows)
}

type monthRow struct {
	monthKey
	folded bool
	days   []byte
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
	query := fmt.Sprintf("SELECT check_id, month, folded, days FROM rollcall_months WHERE %s AND month >= %d AND month <= %d",
		t.s.d.among("check_id", "bigint"), first, last)
	rows, err := t.tx.Tx.QueryContext(ctx, query, t.s.d.list(ids))
	var row monthRow
	found, err := scanList(rows, err, &row, &row.check, &row.month, &row.folded, &row.days)
	if err != nil {
		return nil, err
	}
	unreadable = make(map[monthKey]bool)
	for _, row := range found {
		if m := months[row.monthKey]; m != nil {
			m.Folded = row.folded
			if m.Days, err = decodeMonth(m.Start, row.days); err != nil {
				unreadable[row.monthKey] = true
			}
		}
	}
	return unreadable, nil
}

// Months returns the months of a check between two instants, by time.
func (s *database) Months(ctx context.Context, checkID uuid.UUID, from, to time.Time) ([]store.Month, error) {
	const query = `SELECT m.month, m.folded, m.days FROM rollcall_months AS m JOIN rollcall_checks AS c ON c.id = m.check_id
		WHERE c.uuid = ? AND m.month >= ? AND m.month <= ? ORDER BY m.month`
	rows, err := s.db.QueryContext(ctx, query, checkID, monthNumber(from), monthNumber(to))
	var row monthRow
	found, err := scanList(rows, err, &row, &row.month, &row.folded, &row.days)
	if err != nil {
		return nil, translate(err)
	}
	list := make([]store.Month, len(found))
	for i, r := range found {
		list[i] = store.Month{Start: monthOf(r.month), Folded: r.folded}
		if list[i].Days, err = decodeMonth(list[i].Start, r.days); err != nil {
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
	return ids, translate(err)
}

func encodeMonth(m *store.Month) []byte {
	b := make([]byte, 0, 16*len(m.Days)+1)
	b = append(b, monthVersion)
	for _, d := range m.Days {
		header := uint64(d.Date.Day()) << dayFlags
		if d.Runs > 0 {
			header |= withRuns
		}
		if m.Folded {
			header |= withTimes
		}
		b = binary.AppendUvarint(b, header)
		if d.Runs > 0 {
			b = appendDay(b, d.Totals)
		}
		if m.Folded {
			b = binary.AppendUvarint(b, uint64(d.Times.Down.Microseconds()))
			b = binary.AppendUvarint(b, uint64(d.Times.Unwatched.Microseconds()))
		}
	}
	return b
}

func appendDay(b []byte, t checks.Totals) []byte {
	for _, n := range [...]int64{t.Runs, t.Failures, t.Timed} {
		b = binary.AppendUvarint(b, uint64(n))
	}
	if t.Timed > 0 {
		b = binary.AppendUvarint(b, uint64(t.Sum/durationUnit))
	}
	if t.Timed > 1 {
		b = binary.AppendUvarint(b, uint64(t.Min/durationUnit))
		b = binary.AppendUvarint(b, uint64(t.Max/durationUnit))
	}
	return b
}

func decodeMonth(start time.Time, b []byte) (days []checks.DayStats, err error) {
	if len(b) == 0 || b[0] != monthVersion {
		return nil, errMonth
	}
	last := 0
	for r := (reader{rest: b[1:]}); len(r.rest) > 0; {
		header := r.unsigned()
		day := int(header >> dayFlags & 63)
		d := checks.DayStats{Day: checks.Day{Date: start.AddDate(0, 0, day-1)}}
		if header>>dayFlags > 31 || day <= last || d.Date.Month() != start.Month() {
			return nil, errMonth
		}
		last = day
		if header&withRuns != 0 {
			d.Totals = r.day()
		}
		if header&withTimes != 0 {
			d.Times = r.times()
		}
		if r.failed {
			return nil, errMonth
		}
		days = append(days, d)
	}
	return days, nil
}

func (r *reader) day() checks.Totals {
	t := checks.Totals{Runs: r.count(), Failures: r.count(), Timed: r.count()}
	if t.Timed > 0 {
		t.Sum = r.duration()
		t.Min, t.Max = t.Sum, t.Sum
	}
	if t.Timed > 1 {
		t.Min, t.Max = r.duration(), r.duration()
	}
	return t
}

func (r *reader) times() flips.Times {
	whole := uint64(wholeDay.Microseconds())
	down := r.atMost(whole)
	unwatched := r.atMost(whole - down)
	t := flips.Times{Down: time.Duration(down) * time.Microsecond, Unwatched: time.Duration(unwatched) * time.Microsecond}
	t.Up = wholeDay - t.Down - t.Unwatched
	return t
}
