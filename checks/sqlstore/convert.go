package sqlstore

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
	"github.com/rollcall-dev/rollcall/flips"
)

// conversions has what runs before a migration that drops columns, to keep what they hold, where SQL cannot do it.
var conversions = map[string]func(ctx context.Context, d dialect, tx bun.Tx) error{
	"migrations/0017_state.sql": convertStates,
	"migrations/0019_days.sql":  convertMonths,
	"migrations/0021_lists.sql": convertLists,
}

// convertAtOnce bounds the rows that a conversion has in memory.
const convertAtOnce = 500

var convertState = statement{
	sqlite:   "UPDATE rollcall_states SET state = ? WHERE check_id = ?",
	postgres: "UPDATE rollcall_states SET state = $1 WHERE check_id = $2",
}

// convertStates moves states from the columns of previousState, and from version 1 of the JSON, to what storedState is.
func convertStates(ctx context.Context, d dialect, tx bun.Tx) error {
	const query = `SELECT check_id, coalesce(state, ''), status, coalesce(since, 0), n_pings, coalesce(last_ping, 0),
		coalesce(last_start, 0), last_start_run, runs, alerting, history FROM rollcall_states
		WHERE (state IS NULL OR state LIKE '{"version":1,%') AND check_id > ? ORDER BY check_id LIMIT ?`
	for after := int64(math.MinInt64); ; {
		var row struct {
			id    int64
			state []byte
			previousState
		}
		rows, err := tx.QueryContext(ctx, query, after, convertAtOnce)
		found, err := scanList(rows, err, &row, &row.id, &row.state, &row.status, &row.since, &row.nPings, &row.lastPing,
			&row.lastStart, &row.lastStartRun, &row.runs, &row.alerting, &row.history)
		if err != nil || len(found) == 0 {
			return err
		}
		for _, r := range found {
			state, err := r.converted(r.state)
			if err != nil {
				return fmt.Errorf("the state of check %d: %w", r.id, err)
			}
			if _, err := tx.Tx.ExecContext(ctx, d.text(convertState), state, r.id); err != nil {
				return err
			}
			after = r.id
		}
	}
}

var convertMonth = statement{
	sqlite:   "UPDATE rollcall_months SET stats = ? WHERE check_id = ? AND month = ?",
	postgres: "UPDATE rollcall_months SET stats = $1 WHERE check_id = $2 AND month = $3",
}

// convertMonths moves statistics from the column days to stats.
func convertMonths(ctx context.Context, d dialect, tx bun.Tx) error {
	const query = `SELECT check_id, month, folded, days FROM rollcall_months WHERE (check_id, month) > (?, ?)
		ORDER BY check_id, month LIMIT ?`
	for after := (monthKey{math.MinInt64, math.MinInt64}); ; {
		var row struct {
			monthKey
			folded bool
			days   []byte
		}
		rows, err := tx.QueryContext(ctx, query, after.check, after.month, convertAtOnce)
		found, err := scanList(rows, err, &row, &row.check, &row.month, &row.folded, &row.days)
		if err != nil || len(found) == 0 {
			return err
		}
		for _, r := range found {
			m := store.Month{Start: monthOf(r.month), Folded: r.folded}
			if m.Days, err = decodeDays(m.Start, r.days); err != nil {
				return fmt.Errorf("the statistics of check %d: %w", r.check, err)
			}
			stats, err := encodeMonth(&m)
			if err == nil {
				_, err = tx.Tx.ExecContext(ctx, d.text(convertMonth), stats, r.check, r.month)
			}
			if err != nil {
				return err
			}
			after = r.monthKey
		}
	}
}

// convertInstants and convertListed write the columns of lists.
var (
	convertInstants = statement{
		sqlite:   "UPDATE rollcall_states SET last_at = nullif(?, 0), next_at = nullif(?, 0), down_at = nullif(?, 0) WHERE check_id = ?",
		postgres: "UPDATE rollcall_states SET last_at = nullif($1::bigint, 0), next_at = nullif($2::bigint, 0), down_at = nullif($3::bigint, 0) WHERE check_id = $4",
	}
	convertListed = statement{
		sqlite:   "UPDATE rollcall_checks SET status = ?, status_at = ?, slow_at = ?, sort_name = ?, search = ? WHERE id = ?",
		postgres: "UPDATE rollcall_checks SET status = $1, status_at = $2, slow_at = $3, sort_name = $4, search = $5 WHERE id = $6",
	}
)

// convertLists fills the columns of lists from settings and states. It reads the two tables one after the other, as Citus
// demands.
func convertLists(ctx context.Context, d dialect, tx bun.Tx) error {
	const query = `SELECT id, uuid, name, slug, tags, timeout, grace, max_runtime, schedule, tz, timing_since FROM rollcall_checks
		WHERE id > ? ORDER BY id LIMIT ?`
	states := "SELECT check_id, state FROM rollcall_states WHERE " + d.among("check_id", "bigint")
	var plans checks.Plans
	for after := int64(math.MinInt64); ; {
		var row checkRow
		c := &row.check
		rows, err := tx.QueryContext(ctx, query, after, convertAtOnce)
		found, err := scanList(rows, err, &row, &row.id, &c.ID, &c.Name, &c.Slug, cell{&c.Tags}, cell{&c.Timeout}, cell{&c.Grace},
			cell{&c.MaxRuntime}, &c.Schedule, &c.TZ, cell{&c.TimingSince})
		if err != nil || len(found) == 0 {
			return err
		}
		byID, ids := make(map[int64]checks.Check, len(found)), make([]int64, len(found))
		for i, r := range found {
			ids[i], byID[r.id], after = r.id, r.check, r.id
		}
		rows, err = tx.Tx.QueryContext(ctx, states, d.list(ids))
		found, err = scanList(rows, err, &row, &row.id, &row.stored)
		if err != nil {
			return err
		}
		for _, r := range found {
			c := byID[r.id]
			if err := json.Unmarshal(r.stored, &storedState{State: &c.State}); err != nil {
				return fmt.Errorf("the state of check %d: %w", r.id, err)
			}
			plans.Attach(&c)
			next, deadline, _ := c.Outlook()
			_, err := tx.Tx.ExecContext(ctx, d.text(convertInstants), micros(c.LastPing), micros(next), micros(deadline), r.id)
			if err == nil {
				l := listedOf(&c.State, listed{slowAt: -1})
				_, err = tx.Tx.ExecContext(ctx, d.text(convertListed), l.status, l.statusAt, l.slowAt, c.SortName(), c.SearchText(), r.id)
			}
			if err != nil {
				return err
			}
		}
	}
}

// converted returns the column state for a row: from version 1 of it or, without that, from the columns before it. The open
// run of both stands beside the others.
func (p *previousState) converted(stored []byte) (string, error) {
	old := struct {
		LastStart    time.Time     `json:"last_start"`
		LastStartRun uuid.NullUUID `json:"last_start_run"`
		*checks.State
	}{LastStart: instant(p.lastStart), LastStartRun: p.lastStartRun, State: new(checks.State)}
	var err error
	if len(stored) > 0 {
		err = json.Unmarshal(stored, &old)
	} else {
		*old.State, err = p.state()
	}
	old.Runs = old.Runs.Only()
	if !old.LastStart.IsZero() {
		old.Runs = old.Runs.Only(checks.OpenRun{ID: old.LastStartRun, StartedAt: old.LastStart})
	}
	if err != nil {
		return "", err
	}
	return encodeState(old.State)
}

// previousState has the columns of rollcall_states that held the state before the column state. Instants are microseconds
// since 1970. The three lists of bytes are empty for the zero value:
//
//   - runs: for each open run its start (8 bytes), then 1 and its identifier (16 bytes), or 0
//   - alerting: a version byte, 1, then a varint for each field
//   - history: a version byte, 1, then varints for Today (its date in days since 1970, its counts, its durations) and for the
//     last success and its duration, then Recent as it is; durations are in units of 10 ms
type previousState struct {
	status, since, nPings, lastPing, lastStart int64
	lastStartRun                               uuid.NullUUID
	runs, alerting, history                    []byte
}

const (
	previousVersion = 1
	durationUnit    = 10 * time.Millisecond
	secondsOfDay    = 24 * 60 * 60
)

var errPrevious = errors.New("a value that this version cannot read")

// state returns the state that the columns have, with no run open.
func (p *previousState) state() (s checks.State, err error) {
	if s.Stored, err = decode(statuses[:], p.status); err != nil {
		return checks.State{}, err
	}
	s.StoredSince, s.NPings = instant(p.since), p.nPings
	s.LastPing = instant(p.lastPing)
	if s.Runs, err = decodeRuns(p.runs); err != nil {
		return checks.State{}, err
	}
	if err = decodeAlerting(p.alerting, &s); err != nil {
		return checks.State{}, err
	}
	if s.History, err = decodeHistory(p.history); err != nil {
		return checks.State{}, err
	}
	return s, nil
}

func decodeRuns(b []byte) (open checks.OpenRuns, err error) {
	for len(b) > 0 {
		if len(b) < 9 {
			return nil, errPrevious
		}
		run := checks.OpenRun{StartedAt: time.UnixMicro(int64(binary.BigEndian.Uint64(b))).UTC()}
		valid := b[8] == 1
		b = b[9:]
		if valid {
			if len(b) < 16 {
				return nil, errPrevious
			}
			run.ID = uuid.NullUUID{UUID: uuid.UUID(b[:16]), Valid: true}
			b = b[16:]
		}
		open = append(open, run)
	}
	return open, nil
}

func decodeAlerting(b []byte, s *checks.State) error {
	if len(b) == 0 {
		return nil
	}
	r, a := reader{rest: b[1:]}, &s.Alerting
	a.Since, a.Failures, a.FailedAt, a.ExpectedAt = instant(r.signed()), int(r.signed()), instant(r.signed()), instant(r.signed())
	a.HeldSince, a.RepeatFrom, a.Reminders, a.Next = instant(r.signed()), instant(r.signed()), int(r.signed()), instant(r.signed())
	if b[0] != previousVersion || r.failed || len(r.rest) > 0 {
		return errPrevious
	}
	return nil
}

func decodeHistory(b []byte) (h checks.History, err error) {
	if len(b) == 0 {
		return h, nil
	}
	r := reader{rest: b[1:]}
	if day := r.date(); day != 0 {
		h.Today.Date = time.Unix(day*secondsOfDay, 0).UTC()
	}
	h.Today.Totals = checks.Totals{
		Runs: r.count(), Failures: r.count(), Timed: r.count(), Sum: r.duration(), Min: r.duration(), Max: r.duration(),
	}
	h.LastSuccess, h.LastSuccessDuration = instant(r.signed()), r.duration()
	h.Recent = checks.Recent(r.rest)
	if b[0] != previousVersion || r.failed {
		return checks.History{}, errPrevious
	}
	return h, nil
}

// reader reads varints. After a fault, failed is set and all further values are 0.
type reader struct {
	rest   []byte
	failed bool
}

func (r *reader) signed() int64 {
	v, n := binary.Varint(r.rest)
	return took(r, v, n)
}

// date reads a day since 1970. Like every instant, it is one that has microseconds.
func (r *reader) date() int64 {
	v := r.signed()
	if most := int64(math.MaxInt64 / 1_000_000 / secondsOfDay); v > most || v < -most {
		r.failed = true
		return 0
	}
	return v
}

func (r *reader) unsigned() uint64 {
	v, n := binary.Uvarint(r.rest)
	return took(r, v, n)
}

// took skips the n bytes of a value and returns it.
func took[T int64 | uint64](r *reader, v T, n int) T {
	if n <= 0 {
		r.failed, r.rest = true, nil
		return 0
	}
	r.rest = r.rest[n:]
	return v
}

// atMost reads a number that must not be larger than a limit.
func (r *reader) atMost(limit uint64) uint64 {
	v := r.unsigned()
	if v > limit {
		r.failed = true
		return 0
	}
	return v
}

func (r *reader) count() int64 { return int64(r.atMost(math.MaxInt64)) }

func (r *reader) duration() time.Duration {
	return time.Duration(r.atMost(math.MaxInt64/uint64(durationUnit))) * durationUnit
}

// The column days had a version byte, 1, followed by varints for each day that had something to store:
//
//   - the day of the month times 4, plus 1 if runs follow and 2 if times follow
//   - runs, failures, timed runs; the sum of the durations if any run was timed; the least and the largest if several were
//   - the time down and unwatched, in microseconds; the rest of the 24 hours the check was up
//
// Durations of runs were in units of 10 ms.
const (
	withRuns  = 1
	withTimes = 2
	dayFlags  = 2 // bits
)

func decodeDays(start time.Time, b []byte) (days []checks.DayStats, err error) {
	if len(b) == 0 || b[0] != previousVersion {
		return nil, errPrevious
	}
	last := 0
	for r := (reader{rest: b[1:]}); len(r.rest) > 0; {
		header := r.unsigned()
		day := int(header >> dayFlags & 63)
		d := checks.DayStats{Day: checks.Day{Date: start.AddDate(0, 0, day-1)}}
		if header>>dayFlags > 31 || day <= last || d.Date.Month() != start.Month() {
			return nil, errPrevious
		}
		last = day
		if header&withRuns != 0 {
			d.Totals = r.day()
		}
		if header&withTimes != 0 {
			d.Times = r.times()
		}
		if r.failed {
			return nil, errPrevious
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
