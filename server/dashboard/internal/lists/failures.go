package lists

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/flips"
	"github.com/rollcall-dev/rollcall/pings"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/ui"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/words"
)

const (
	// around is how far from an instant the page of failures looks, each way.
	around = 15 * time.Minute
	// leastPings is how many pings of a check are searched at least.
	leastPings = 20
	// outputsRead is how many outputs the page reads for their causes, and outputTime how long that may take.
	outputsRead, outputTime = 50, time.Second
)

// failuresView is the data of the page of the failures around an instant.
type failuresView struct {
	At   time.Time
	Of   *failureRow // the failure that the viewer came from, or nil
	Rows []failureRow
	// Board is the query of the board at the instant.
	Board string
	// From and To are the bounds.
	From, To time.Time
}

// failureRow is a failure of a check.
type failureRow struct {
	check     checks.Check
	Key, Name string
	At        time.Time
	Ping      int64 // the number of the ping that reported it, or 0
	Why       string
}

// Lag says how far from the instant of the page the failure is.
func (v failuresView) Lag(r failureRow) string {
	switch d := r.At.Sub(v.At).Round(time.Second); {
	case d.Abs() < time.Second:
		return "at the same time"
	case d < 0:
		return words.Rough(-d) + " earlier"
	default:
		return words.Rough(d) + " later"
	}
}

// failuresPage lists the failures of a project around an instant: failed runs, and runs that were missed. The address may
// name the check that the viewer came from, which stands apart.
func failuresPage(q *ui.Request) error {
	at, err := time.Parse(time.RFC3339, q.R.URL.Query().Get("at"))
	if err != nil {
		return checks.ErrNotFound
	}
	list, err := q.Checks()
	if err != nil {
		return err
	}
	at = at.UTC()
	view := failuresView{At: at, From: at.Add(-around), To: at.Add(around), Board: boardAt(at.Truncate(time.Minute), q.Mon.Now())}
	rows, err := failuresBetween(q, list, view.From, view.To)
	if err != nil {
		return err
	}
	of := q.R.URL.Query().Get("check")
	for _, r := range rows {
		if r.Key == of && view.Of == nil && r.At.Sub(at).Abs() < time.Second {
			view.Of = &r
			continue
		}
		view.Rows = append(view.Rows, r)
	}
	return q.Render("failures", "Failures around "+q.Clock().Format(at, "2 Jan 15:04"), view)
}

// failuresBetween returns the failures of checks between two instants, by time.
func failuresBetween(q *ui.Request, list []checks.Check, from, to time.Time) (rows []failureRow, err error) {
	now := q.Mon.Now()
	byID := make(map[uuid.UUID]checks.Check)
	var ids []uuid.UUID
	within := func(t time.Time) bool { return !t.Before(from) && !t.After(to) }
	for _, c := range list {
		settled, _ := c.Settle(now)
		if runs := settled.History.Recent.Runs(); failsWithin(runs, from.Add(-time.Second), to.Add(time.Second)) {
			byID[c.ID], ids = c, append(ids, c.ID)
		}
	}
	if len(ids) == 0 {
		return nil, nil
	}
	logs, err := q.Mon.Project(q.Project.ID).RecentPings(q.Ctx(), ids, from, max(maxBoardPings/len(ids), leastPings))
	if err != nil {
		return nil, err
	}
	transitions, err := q.Mon.Projects().Transitions(q.Ctx(), ids, from)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(q.Ctx(), outputTime)
	defer cancel()
	for _, id := range ids {
		c := byID[id]
		add := func(at time.Time, n int64, why string) {
			rows = append(rows, failureRow{c, c.UniqueKey(), ui.NameOf(c), at, n, why})
		}
		for _, p := range logs[id] {
			if p.Kind != pings.Failure || !within(p.At) {
				continue
			}
			if p.BodySize > 0 && len(rows) < outputsRead { // what cannot be read has no cause
				if whole, err := q.Mon.Project(q.Project.ID).PingWithBody(ctx, id, p.N); err == nil {
					p = whole
				}
			}
			add(p.At, p.N, ui.FailureOf(p).Why())
		}
		_, effects := c.Settle(now)
		for _, t := range slices.Concat(transitions[id], effects.Transitions) {
			if t.To == checks.StatusDown && t.Reason != flips.Failure && within(t.At) {
				add(t.At, 0, t.Reason.Words())
			}
		}
	}
	slices.SortStableFunc(rows, func(a, b failureRow) int {
		return cmp.Or(a.At.Compare(b.At), strings.Compare(strings.ToLower(a.Name), strings.ToLower(b.Name)))
	})
	return rows, nil
}

// failsWithin reports whether a check failed between two instants, as far as its last runs say: it is true if they do not
// reach back that far.
func failsWithin(runs []checks.Run, from, to time.Time) bool {
	if len(runs) == checks.MaxRecent && runs[0].At.After(from) {
		return true
	}
	return slices.ContainsFunc(runs, func(r checks.Run) bool {
		return r.Result != checks.RunSuccess && !r.At.Before(from) && !r.At.After(to)
	})
}
