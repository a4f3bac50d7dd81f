package lists

import (
	"slices"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/flips"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/ui"
)

// addReasons says in the rows of checks that are down why they are.
func addReasons(q *ui.Request, rows []ui.Row, list []checks.Check) error {
	byID := make(map[uuid.UUID]checks.Check, len(list))
	for _, c := range list {
		byID[c.ID] = c
	}
	var failed []checks.Check
	for i := range rows {
		if rows[i].Status != checks.StatusDown {
			continue
		}
		c := byID[rows[i].ID]
		if rows[i].Why = plainReason(c, rows[i]); rows[i].Why == "" {
			failed = append(failed, c)
		}
	}
	failures, err := q.Failures(failed)
	for i := range rows {
		if rows[i].Status == checks.StatusDown && rows[i].Why == "" {
			rows[i].Why = failures[rows[i].ID].Why()
		}
	}
	return err
}

// plainReason says why a check is down if no output says it: "" if the job reported a failure.
func plainReason(c checks.Check, row ui.Row) string {
	if c.Stored == checks.StatusDown && len(row.Runs) > 0 && row.Runs[len(row.Runs)-1].Result == checks.RunFailure {
		return ""
	}
	if slices.ContainsFunc(c.Runs, func(run checks.OpenRun) bool { return run.StartedAt.Add(c.RunLimit()).Equal(row.Since) }) {
		return flips.Overrun.Words()
	}
	return flips.Overdue.Words()
}
