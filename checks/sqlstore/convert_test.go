package sqlstore

import (
	"context"
	"encoding/binary"
	"reflect"

	"github.com/uptrace/bun"

	"github.com/rollcall-dev/rollcall/checks"
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

// StorePrevious writes a state to all rows as versions before the column state did.
func StorePrevious(ctx context.Context, db *bun.DB, s checks.State) error {
	p := previousOf(&s)
	_, err := db.NewRaw(`UPDATE rollcall_states SET state = NULL, status = ?, since = nullif(?, 0), n_pings = ?,
		last_ping = nullif(?, 0), last_start = nullif(?, 0), last_start_run = ?, runs = ?, alerting = ?, history = ?`,
		p.status, p.since, p.nPings, p.lastPing, p.lastStart, p.lastStartRun, p.runs, p.alerting, p.history).Exec(ctx)
	return err
}
