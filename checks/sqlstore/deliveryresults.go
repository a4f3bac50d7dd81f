package sqlstore

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/rollcall-dev/rollcall/checks/internal/store"
)

// resultRow is a result as RecordResults passes it to the database.
type resultRow struct {
	ID       int64  `json:"delivery"`
	Claim    int    `json:"claim"`
	State    string `json:"state"`
	Attempts int    `json:"attempts"`
	Due      int64  `json:"due"`
	Since    int64  `json:"since"`
	Error    string `json:"error"`
	Done     string `json:"done"`
}

// resultRows reads an array of resultRow on each database.
const (
	resultRowsPostgres = "json_to_recordset(?) AS v (delivery bigint, claim bigint, state text, attempts bigint, due bigint, since bigint, error text, done text)"
	resultRowsSQLite   = `(SELECT value->>'delivery' AS delivery, value->>'claim' AS claim, value->>'state' AS state,
		value->>'attempts' AS attempts, value->>'due' AS due, value->>'since' AS since, value->>'error' AS error, value->>'done' AS done FROM json_each(?)) AS v`
)

// RecordResults writes the results whose deliveries are still pending under the same claim, or were sent.
func (t *transaction) RecordResults(ctx context.Context, now time.Time, results []store.DeliveryResult) error {
	if len(results) == 0 {
		return nil
	}
	rows, ids := make([]resultRow, len(results)), make([]int64, len(results))
	for i, r := range results {
		rows[i] = resultRow{r.ID, r.Claim, string(r.State), r.Attempts, micros(r.Due), micros(r.Since), r.Error, doneText(r.Done)}
		ids[i] = r.ID
	}
	list, err := json.Marshal(rows)
	if err != nil {
		return err
	}
	from := resultRowsSQLite
	if t.s.d.postgres {
		from = resultRowsPostgres
	}
	var recorded []int64
	// The list of IDs is redundant, but without it the planner may scan the table for the join.
	err = t.tx.NewRaw(`UPDATE rollcall_deliveries AS d SET state = v.state, due_at = v.due, error = v.error, done = v.done,
			attempts = CASE WHEN d.attempts = v.claim THEN v.attempts ELSE d.attempts END,
			since = CASE WHEN d.attempts = v.claim THEN nullif(v.since, 0) ELSE d.since END,
			finished_at = CASE WHEN v.state <> 'pending' THEN ? END
		FROM `+from+` WHERE d.id = v.delivery AND d.id IN (?) AND d.state = 'pending'
			AND (d.attempts = v.claim OR v.state = 'sent') RETURNING id`,
		micros(now), string(list), bun.List(ids)).Scan(ctx, &recorded)
	if err != nil {
		return err
	}
	slices.Sort(recorded)
	return t.followUp(ctx, now, slices.DeleteFunc(slices.Clone(results), func(r store.DeliveryResult) bool {
		_, found := slices.BinarySearch(recorded, r.ID)
		return !found
	}))
}

// followUp writes what recorded results entail.
func (t *transaction) followUp(ctx context.Context, now time.Time, results []store.DeliveryResult) error {
	var ended []int64
	marks := make(map[uuid.UUID]store.ChannelMark)
	for _, r := range results {
		if r.State != store.DeliveryPending {
			ended = append(ended, r.ID)
		}
		if r.Mark != nil {
			marks[r.ChannelID] = *r.Mark
		}
		if len(r.Copies) > 0 {
			if err := t.copyDelivery(ctx, r.ID, r.Copies, now); err != nil {
				return err
			}
		}
		if r.Incident != nil {
			if err := t.SaveIncident(ctx, *r.Incident); err != nil {
				return err
			}
		}
	}
	if err := t.wakeNext(ctx, ended, now); err != nil {
		return err
	}
	return t.markChannels(ctx, marks)
}
