package sqlstore

import (
	"context"
	"encoding/binary"
	"reflect"

	"github.com/uptrace/bun"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
)

// previousOf returns the columns in which versions before the column state stored a state.
func previousOf(s *checks.State) previousState {
	p := previousState{
		status: code(statuses[:], s.Stored), since: micros(s.StoredSince), nPings: s.NPings,
		lastPing: micros(s.LastPing),
	}
	_, open := s.Runs.Span()
	p.lastStart, p.lastStartRun = micros(open.StartedAt), open.ID
	for _, run := range s.Runs {
		p.runs = binary.BigEndian.AppendUint64(p.runs, uint64(run.StartedAt.UnixMicro()))
		if run.ID.Valid {
			p.runs = append(append(p.runs, 1), run.ID.UUID[:]...)
		} else {
			p.runs = append(p.runs, 0)
		}
	}
	if a := s.Alerting; a != (checks.State{}).Alerting {
		p.alerting = []byte{previousVersion}
		for _, v := range [...]int64{
			micros(a.Since), int64(a.Failures), micros(a.FailedAt), micros(a.ExpectedAt),
			micros(a.HeldSince), micros(a.RepeatFrom), int64(a.Reminders), micros(a.Next),
		} {
			p.alerting = binary.AppendVarint(p.alerting, v)
		}
	}
	if h := &s.History; !reflect.ValueOf(*h).IsZero() {
		t, day := h.Today.Totals, int64(0)
		if !h.Today.Date.IsZero() {
			day = h.Today.Date.Unix() / secondsOfDay
		}
		p.history = append(make([]byte, 0, 64+len(h.Recent)), previousVersion)
		p.history = binary.AppendVarint(p.history, day)
		for _, v := range [...]int64{
			t.Runs, t.Failures, t.Timed, int64(t.Sum / durationUnit), int64(t.Min / durationUnit), int64(t.Max / durationUnit),
		} {
			p.history = binary.AppendUvarint(p.history, uint64(v))
		}
		p.history = binary.AppendVarint(p.history, micros(h.LastSuccess))
		p.history = binary.AppendUvarint(p.history, uint64(h.LastSuccessDuration/durationUnit))
		p.history = append(p.history, h.Recent...)
	}
	return p
}

// encodeDays returns the column in which versions before the column stats stored a month.
func encodeDays(m *store.Month) []byte {
	b := make([]byte, 0, 16*len(m.Days)+1)
	b = append(b, previousVersion)
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

// StorePreviousMonth writes a month of a check as versions before the column stats did.
func StorePreviousMonth(ctx context.Context, db *bun.DB, check int64, m *store.Month) error {
	_, err := db.NewRaw("INSERT INTO rollcall_months (check_id, month, folded, days) VALUES (?, ?, ?, ?)",
		check, monthNumber(m.Start), m.Folded, encodeDays(m)).Exec(ctx)
	return err
}

// BusyMonth exports busyMonth.
func BusyMonth(folded bool) *store.Month { return busyMonth(folded) }

// StorePrevious writes a state to all rows as versions before the column state did.
func StorePrevious(ctx context.Context, db *bun.DB, s checks.State) error {
	p := previousOf(&s)
	_, err := db.NewRaw(`UPDATE rollcall_states SET state = NULL, status = ?, since = nullif(?, 0), n_pings = ?,
		last_ping = nullif(?, 0), last_start = nullif(?, 0), last_start_run = ?, runs = ?, alerting = ?, history = ?`,
		p.status, p.since, p.nPings, p.lastPing, p.lastStart, p.lastStartRun, p.runs, p.alerting, p.history).Exec(ctx)
	return err
}
