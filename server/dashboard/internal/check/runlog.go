package check

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/pings"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/timeline"
)

// logPage is how many rows a page of the list of pings has.
const logPage = 20

// logRow is a row of the list of pings: a run with its start and its end, or another ping.
type logRow struct {
	Word  string // what it was: success, failure, running, timed out, no end, start, log or ignored
	Kind  string // the one of logKinds by which the list can be filtered
	Start *pings.Ping
	End   *pings.Ping // or the only ping of a row that is no run
	From  time.Time   // when the run began, or the zero time
	Took  time.Duration
}

// logKinds are the choices of the filter.
var logKinds = []string{"success", "failure", "unfinished", "log", "ignored"}

// rowsOf turns a log, newest first, into rows, each at the place of its newest ping.
func rowsOf(c checks.Check, log []pings.Ping, now time.Time) []logRow {
	byN := make(map[int64]*pings.Ping, len(log))
	for i := range log {
		byN[log[i].N] = &log[i]
	}
	of := make(map[int64]logRow, len(log)) // by the number of the newest ping
	paired := make(map[int64]bool)         // starts whose run has its place at the end
	for _, run := range timeline.Runs(c, log, now) {
		row := logRow{Start: byN[run.StartN], End: byN[run.EndN]}
		if row.Word, row.Kind = runWords(run.Result); run.Timed {
			row.From = run.Start
			if row.End != nil {
				row.Took = run.End.Sub(run.Start)
			}
		}
		if newest := row.Newest(); newest != nil {
			of[newest.N] = row
			paired[run.StartN] = row.End != nil
		}
	}
	rows := make([]logRow, 0, len(log))
	for i := range log {
		p := &log[i]
		row, isRun := of[p.N]
		switch {
		case isRun:
		case paired[p.N]:
			continue
		default:
			row = logRow{Word: kindWord(p.Kind), Kind: kindWord(p.Kind), End: p}
			if p.Kind == pings.Start { // it repeats the start of a run that has just ended
				row.Kind = "unfinished"
			}
		}
		rows = append(rows, row)
	}
	return rows
}

// runWords returns the word for the result of a run, and the kind of its row.
func runWords(result timeline.Result) (word, kind string) {
	switch result {
	case timeline.Success:
		return "success", "success"
	case timeline.Failure:
		return "failure", "failure"
	case timeline.Overrun:
		return "timed out", "unfinished"
	case timeline.Unended:
		return "no end", "unfinished"
	}
	return "running", "unfinished"
}

// Newest is the newest ping of the row.
func (r logRow) Newest() *pings.Ping { return cmp.Or(r.End, r.Start) }

// First is the oldest one, whose number names the row: it stays when a run ends.
func (r logRow) First() *pings.Ping { return cmp.Or(r.Start, r.End) }

// Numbers are those of the pings: "812", "811–812", "805, 812".
func (r logRow) Numbers() string {
	switch first, last := r.First().N, r.Newest().N; {
	case first == last:
		return strconv.FormatInt(last, 10)
	case first+1 == last:
		return fmt.Sprintf("%d–%d", first, last)
	default:
		return fmt.Sprintf("%d, %d", first, last)
	}
}

// Ended is when the run ended, or when the ping arrived that is no run; the zero time if it has not ended.
func (r logRow) Ended() time.Time {
	if r.End == nil {
		return time.Time{}
	}
	return r.End.At
}

// Outputs are the pings of the row with a body, the end first.
func (r logRow) Outputs() []*pings.Ping {
	return slices.DeleteFunc([]*pings.Ping{r.End, r.Start}, func(p *pings.Ping) bool { return p == nil || p.BodySize == 0 })
}

// pick selects a page of the rows.
func (v *checkView) pick(rows []logRow, kind, before string) {
	if kind == string(pings.Start) { // the name that it had
		kind = "unfinished"
	}
	if slices.Contains(logKinds, kind) {
		v.Kind = kind
		rows = slices.DeleteFunc(rows, func(r logRow) bool { return r.Kind != kind })
	}
	if n, err := strconv.ParseInt(before, 10, 64); err == nil && n > 0 {
		rows = slices.DeleteFunc(rows, func(r logRow) bool { return r.Newest().N >= n })
	}
	if len(rows) > logPage {
		rows = rows[:logPage]
		v.Older = rows[logPage-1].Newest().N
	}
	v.Log = rows
}
