package sqlstore

import (
	"context"

	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/pings"
)

var stateUpdate = []column{
	{"status", "smallint"}, {"n_pings", "bigint"}, {"last_ping", "bigint"}, {"last_start", "bigint"},
	{"last_start_run", "uuid"}, {"runs", "bytea"}, {"log_head", "bigint"}, {"check_id", "bigint"},
}

var watchUpdate = []column{{"watch_at", "bigint"}, {"check_id", "bigint"}}

var pingInsert = []column{
	{"id", "bigint"}, {"check_id", "bigint"}, {"n", "bigint"}, {"prev", "bigint"}, {"kind", "smallint"}, {"at", "bigint"},
	{"scheme", "text"}, {"method", "text"}, {"remote_addr", "text"}, {"ua", "text"}, {"run", "uuid"},
	{"exit_status", "smallint"}, {"duration", "bigint"}, {"body_size", "bigint"}, {"body", "bytea"},
}

var uploadInsert = []column{{"ping_id", "bigint"}, {"object", "text"}, {"due_at", "bigint"}}

var flipInsert = []column{
	{"id", "bigint"}, {"check_id", "bigint"}, {"at", "bigint"}, {"up", "boolean"}, {"from_status", "smallint"}, {"reason", "text"},
}

// changes are the rows that a set of locked checks adds or updates.
type changes struct {
	states, watches, pings, uploads, flips [][]any
	alerts                                 []int64 // identifiers of the flips that integrations are told of
}

// SaveStates writes the state of locked checks and all that has happened to them.
func (t *transaction) SaveStates(ctx context.Context, locked []*monitor.Locked) error {
	var nPings, nFlips int
	for _, l := range locked {
		nPings += len(l.Pings)
		nFlips += len(l.Transitions)
	}
	pingIDs, err := t.s.d.reserve(ctx, t.tx, "rollcall_pings", nPings)
	if err != nil {
		return err
	}
	flipIDs, err := t.s.d.reserve(ctx, t.tx, "rollcall_flips", nFlips)
	if err != nil {
		return err
	}
	var c changes
	for _, l := range locked {
		if err := c.add(l, pingIDs[:len(l.Pings)], flipIDs[:len(l.Transitions)]); err != nil {
			return err
		}
		pingIDs, flipIDs = pingIDs[len(l.Pings):], flipIDs[len(l.Transitions):]
		l.Pings, l.Uploads, l.Transitions = nil, nil, nil
	}
	return t.write(ctx, c)
}

func (t *transaction) write(ctx context.Context, c changes) error {
	if err := t.s.d.insert(ctx, t.tx, "rollcall_pings", pingInsert, c.pings); err != nil {
		return err
	}
	if err := t.s.d.insert(ctx, t.tx, "rollcall_uploads", uploadInsert, c.uploads); err != nil {
		return err
	}
	if err := t.s.d.update(ctx, t.tx, "rollcall_states", stateUpdate, c.states); err != nil {
		return err
	}
	if err := t.s.d.update(ctx, t.tx, "rollcall_states", watchUpdate, c.watches); err != nil {
		return err
	}
	if err := t.s.d.insert(ctx, t.tx, "rollcall_flips", flipInsert, c.flips); err != nil {
		return err
	}
	return t.enqueue(ctx, c.alerts)
}

// add notes the changes of one check.
func (c *changes) add(l *monitor.Locked, pingIDs, flipIDs []int64) error {
	row := l.Row.(*lockedRow)
	uploads := l.Uploads
	for i, p := range l.Pings {
		values, err := pingValues(pingIDs[i], row, p)
		if err != nil {
			return err
		}
		c.pings = append(c.pings, values)
		row.logHead = pingIDs[i]
		if len(uploads) > 0 && uploads[0] == p.N {
			uploads = uploads[1:]
			c.uploads = append(c.uploads, []any{pingIDs[i], objectKey(l.ID, row.id, p.N), micros(p.At)})
		}
	}
	for i, tr := range l.Transitions {
		from, err := code(statuses[:], tr.From)
		if err != nil {
			return err
		}
		flip := tr.Flip()
		c.flips = append(c.flips, []any{flipIDs[i], row.id, micros(flip.At), flip.Up, from, string(tr.Reason)})
		if tr.Alerts() {
			c.alerts = append(c.alerts, flipIDs[i])
		}
	}
	status, err := code(statuses[:], l.Stored)
	if err != nil {
		return err
	}
	var runs any
	if len(l.Runs) > 0 {
		runs = encodeRuns(l.Runs)
	}
	c.states = append(c.states, []any{
		status, l.NPings, orNull(micros(l.LastPing)), orNull(micros(l.LastStart)), runID(l.LastStartRun), runs,
		orNull(row.logHead), row.id,
	})
	c.rearm(l, row)
	return nil
}

// rearm keeps watch_at a lower bound of the deadline. Most pings move the deadline later, which needs no write:
// whoever finds the check too early computes the deadline anew and lands here, with the bound in the past.
func (c *changes) rearm(l *monitor.Locked, row *lockedRow) {
	deadline := micros(l.Deadline())
	early := deadline != 0 && row.watchAt != 0 && row.watchAt <= deadline
	if early && !l.Due || deadline == row.watchAt {
		return
	}
	row.watchAt = deadline
	c.watches = append(c.watches, []any{orNull(deadline), row.id})
}

func pingValues(id int64, row *lockedRow, p pings.Ping) ([]any, error) {
	kind, err := code(kinds[:], p.Kind)
	if err != nil {
		return nil, err
	}
	values := []any{
		id, row.id, p.N, orNull(row.logHead), kind, micros(p.At),
		p.Scheme, p.Method, p.RemoteAddr, p.UserAgent, runID(p.RunID), nil, nil, p.BodySize, nil,
	}
	if p.ExitStatus != nil {
		values[11] = int64(*p.ExitStatus)
	}
	if p.Duration != nil {
		values[12] = p.Duration.Microseconds()
	}
	if len(p.Body) > 0 {
		values[14] = p.Body
	}
	return values, nil
}

// enqueue adds a delivery to the outbox for each integration that is assigned to the check of a flip.
func (t *transaction) enqueue(ctx context.Context, flipIDs []int64) error {
	rows := make([][]any, len(flipIDs))
	for i, id := range flipIDs {
		rows[i] = []any{id}
	}
	const insert = `INSERT INTO rollcall_deliveries (flip_id, check_id, channel_id, state, due_at, created_at)
		SELECT f.id, f.check_id, cc.channel_id, 'pending', f.at, f.at
		FROM rollcall_flips f JOIN rollcall_check_channels cc ON cc.check_id = f.check_id WHERE f.id `
	if t.s.d.postgres {
		return t.s.d.onArrays(ctx, t.tx, insert+"= ANY ($1::bigint[])", 1, rows)
	}
	return t.s.d.onEach(ctx, t.tx, insert+"= ?", rows)
}
