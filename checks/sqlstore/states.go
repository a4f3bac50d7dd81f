package sqlstore

import (
	"bytes"
	"context"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/uptrace/bun"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/store"
	"github.com/rollcall-dev/rollcall/pings"
)

var stateUpdate = []column{
	{"status", "smallint"}, {"since", "bigint"}, {"n_pings", "bigint"}, {"last_ping", "bigint"}, {"last_start", "bigint"},
	{"last_start_run", "uuid"}, {"runs", "bytea"}, {"history", "bytea"}, {"log_head", "bigint"},
	{"revision", "bigint"}, {"check_id", "bigint"},
}

var watchUpdate = []column{{"watch_at", "bigint"}, {"check_id", "bigint"}}

var alertingUpdate = []column{{"alerting", "bytea"}, {"check_id", "bigint"}}

var pingInsert = []column{
	{"id", "bigint"}, {"check_id", "bigint"}, {"n", "bigint"}, {"prev", "bigint"}, {"kind", "smallint"}, {"at", "bigint"},
	{"scheme", "text"}, {"method", "text"}, {"remote_addr", "text"}, {"ua", "text"}, {"run", "uuid"},
	{"exit_status", "smallint"}, {"duration", "bigint"}, {"body_size", "bigint"}, {"body", "bytea"},
}

// The indexes in pingInsert of the check, and of the columns that are often NULL.
var checkColumn, exitColumn, durationColumn, bodyColumn = 1, 11, 12, len(pingInsert) - 1

var uploadInsert = []column{{"ping_id", "bigint"}, {"object", "text"}, {"due_at", "bigint"}}

var flipInsert = []column{
	{"id", "bigint"}, {"check_id", "bigint"}, {"at", "bigint"}, {"up", "boolean"}, {"from_status", "smallint"}, {"reason", "text"},
}

var pauseInsert = []column{{"check_id", "bigint"}, {"at", "bigint"}, {"from_status", "smallint"}}

// alertColumns lists the columns from which enqueue makes deliveries. flip_id is NULL if an earlier flip caused the
// alert.
var alertColumns = []column{
	{"flip_id", "bigint"}, {"check_id", "bigint"}, {"up", "boolean"}, {"reminder", "bigint"}, {"since", "bigint"}, {"at", "bigint"},
}

// newRevision returns a random number that no other write has used. A counter is not enough: after a failover that
// loses the last commits, it would reuse numbers that caches still hold.
func newRevision() int64 { return rand.Int64() }

// changes holds the rows to add or update for a set of locked checks.
type changes struct {
	states, watches, alerting, pings, uploads, flips, pauses, alerts [][]any

	months []monthChange
}

// SaveChecks writes locked checks and their changes. Nothing else writes rollcall_checks and rollcall_states, so every
// change gives the check a new revision.
func (t *transaction) SaveChecks(ctx context.Context, locked []*store.Locked) error {
	for _, l := range locked {
		save := t.updateSettings
		switch {
		case l.Row == nil:
			save = t.insertCheck
		case !l.SettingsChanged:
			continue
		}
		if err := save(ctx, l); err != nil {
			return err
		}
		if err := t.atomic(ctx); err != nil {
			return err
		}
		l.SettingsChanged = false
	}
	c, err := t.collect(ctx, locked)
	if err != nil {
		return err
	}
	t.saved = append(t.saved, locked...)
	return t.write(ctx, c)
}

// collect turns the changes of locked checks into rows.
func (t *transaction) collect(ctx context.Context, locked []*store.Locked) (c changes, err error) {
	var pings, flips int
	for _, l := range locked {
		pings += len(l.Pings)
		flips += len(l.Transitions)
	}
	pingIDs, err := t.s.d.reserve(ctx, t.tx.Tx, "rollcall_pings", pings)
	if err != nil {
		return c, err
	}
	flipIDs, err := t.s.d.reserve(ctx, t.tx.Tx, "rollcall_flips", flips)
	if err != nil {
		return c, err
	}
	for _, l := range locked {
		if err := c.add(l, pingIDs[:len(l.Pings)], flipIDs[:len(l.Transitions)]); err != nil {
			return c, err
		}
		pingIDs, flipIDs = pingIDs[len(l.Pings):], flipIDs[len(l.Transitions):]
		for _, p := range l.Pings {
			t.bodyBytes += len(p.Body)
		}
		l.Pings, l.Uploads, l.Transitions, l.Pauses, l.Alerts = nil, nil, nil, nil, nil
		l.Days, l.Folds = nil, nil
	}
	return c, nil
}

// write writes rows, deliveries before flips; see enqueue.
func (t *transaction) write(ctx context.Context, c changes) error {
	for _, part := range c.split(t.s.shards()) {
		if err := t.s.d.appendPings(ctx, t.tx, part.pings, part.states); err != nil {
			return err
		}
		if err := t.s.d.update(ctx, t.tx, "rollcall_states", watchUpdate, part.watches); err != nil {
			return err
		}
		if err := t.s.d.update(ctx, t.tx, "rollcall_states", alertingUpdate, part.alerting); err != nil {
			return err
		}
	}
	if len(c.uploads)+len(c.alerts)+len(c.months)+len(c.pauses)+len(c.flips) == 0 {
		return nil
	}
	if err := t.atomic(ctx); err != nil {
		return err
	}
	if err := t.s.d.insert(ctx, t.tx, "rollcall_uploads", uploadInsert, c.uploads); err != nil {
		return err
	}
	if err := t.enqueue(ctx, c.alerts); err != nil {
		return err
	}
	if err := t.saveMonths(ctx, c.months); err != nil {
		return err
	}
	if err := t.s.d.insert(ctx, t.tx, "rollcall_pauses", pauseInsert, c.pauses); err != nil {
		return err
	}
	return t.s.d.insert(ctx, t.tx, "rollcall_flips", flipInsert, c.flips)
}

// appendPings adds pings to the log and updates the states of their checks. On PostgreSQL one statement does both, to
// save a round trip.
func (d dialect) appendPings(ctx context.Context, tx bun.Tx, pings, states [][]any) error {
	if d.postgres && len(pings) > 0 && len(states) > 0 {
		query := "WITH inserted AS (" + insertAll(1, "rollcall_pings", pingInsert) + ") " +
			updateAll(1+len(pingInsert), "rollcall_states", stateUpdate)
		return d.onArrays(ctx, tx, query, arrays(arrays(nil, len(pingInsert), pings), len(stateUpdate), states))
	}
	if err := d.insert(ctx, tx, "rollcall_pings", pingInsert, pings); err != nil {
		return err
	}
	return d.update(ctx, tx, "rollcall_states", stateUpdate, states)
}

// add adds the rows of one check.
func (c *changes) add(l *store.Locked, pingIDs, flipIDs []int64) error {
	row := l.Row.(*lockedRow)
	uploads := l.Uploads
	for i, p := range l.Pings {
		values, err := pingValues(pingIDs[i], row, &p)
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
	}
	for _, tr := range l.Pauses {
		from, err := code(statuses[:], tr.From)
		if err != nil {
			return err
		}
		c.pauses = append(c.pauses, []any{row.id, micros(tr.At), from})
	}
	if len(l.Days) > 0 || len(l.Folds) > 0 {
		c.months = append(c.months, monthChange{row.id, l.Days, l.Folds})
	}
	c.addAlerts(l, row, flipIDs)
	status, err := code(statuses[:], l.Stored)
	if err != nil {
		return err
	}
	row.revision = newRevision()
	c.states = append(c.states, []any{
		status, orNull(micros(l.StoredSince)), l.NPings, orNull(micros(l.LastPing)), orNull(micros(l.LastStart)), runID(l.LastStartRun),
		orNullBytes(encodeRuns(l.Runs)), orNullBytes(encodeHistory(&l.History)), orNull(row.logHead), row.revision, row.id,
	})
	// Most checks have no alert rules; their pings need not write this column.
	if alerting := encodeAlerting(l.Alerting); !bytes.Equal(alerting, row.alerting) {
		row.alerting = alerting
		c.alerting = append(c.alerting, []any{orNullBytes(alerting), row.id})
	}
	c.rearm(l, row)
	return nil
}

// addAlerts adds the alerts of one check, each with its flip if that is new.
func (c *changes) addAlerts(l *store.Locked, row *lockedRow, flipIDs []int64) {
	first := 0 // alerts and transitions are in the same order; several flips can have the same instant
	for _, a := range l.Alerts {
		var flip any
		for i := first; i < len(l.Transitions); i++ {
			if tr := l.Transitions[i]; tr.To == a.Status && tr.At.Equal(a.At) {
				first, flip = i, flipIDs[i]
				break
			}
		}
		c.alerts = append(c.alerts, []any{
			flip, row.id, a.Status == checks.StatusUp, int64(a.Reminder), orNull(micros(a.Since)), micros(a.RaisedAt),
		})
	}
}

// rearm keeps watch_at a lower bound of the next instant to settle, usually the deadline. Most pings move the deadline
// later, which needs no write: the watcher then finds the check too early and sets a new bound.
func (c *changes) rearm(l *store.Locked, row *lockedRow) {
	wake := micros(l.Wake())
	early := wake != 0 && row.watchAt != 0 && row.watchAt <= wake
	if early && !l.Due || wake == row.watchAt {
		return
	}
	row.watchAt = wake
	c.watches = append(c.watches, []any{orNull(wake), row.id})
}

// pingValues returns the values of a log entry, in the order of pingInsert.
func pingValues(id int64, row *lockedRow, p *pings.Ping) ([]any, error) {
	kind, err := code(kinds[:], p.Kind)
	if err != nil {
		return nil, err
	}
	values := []any{
		id, row.id, p.N, orNull(row.logHead), kind, micros(p.At),
		p.Scheme, p.Method, p.RemoteAddr, p.UserAgent, runID(p.RunID), nil, nil, p.BodySize, nil,
	}
	if p.ExitStatus != nil {
		values[exitColumn] = int64(*p.ExitStatus)
	}
	if p.Duration != nil {
		values[durationColumn] = p.Duration.Microseconds()
	}
	if len(p.Body) > 0 {
		values[bodyColumn] = p.Body
	}
	return values, nil
}

// enqueue adds one delivery for each alert and each channel of its check to the outbox, and one to store.OnAlert where
// OnAlertUntil asks for it, in the order of the alerts. It must run before the new flips are written, because an alert
// without a new flip takes the newest stored one.
func (t *transaction) enqueue(ctx context.Context, alerts [][]any) error {
	const head = `INSERT INTO rollcall_deliveries
			(flip_id, check_id, channel_id, reminder, since, state, due_at, created_at)
		SELECT coalesce(a.flip_id, (SELECT f.id FROM rollcall_flips f WHERE f.check_id = a.check_id AND f.up = a.up
			ORDER BY f.at DESC, f.id DESC LIMIT 1), 0), a.check_id, `
	const tail = `, a.reminder, a.since, 'pending', a.at, a.at FROM `
	toChannels := func(from string) string {
		return head + "cc.channel_id" + tail + from + ` JOIN rollcall_check_channels cc ON cc.check_id = a.check_id
			JOIN rollcall_channels ch ON ch.id = cc.channel_id ORDER BY a.n, cc.channel_id`
	}
	toFunction := func(from string) string {
		return head + "'" + store.OnAlert.ID.String() + "'" + tail + from + ` WHERE a.at <= (SELECT CAST(value AS BIGINT)
			FROM rollcall_settings WHERE name = '` + onAlertUntil + `') ORDER BY a.n`
	}
	if t.s.d.postgres {
		from := "(" + unnest(1, alertColumns) + ", generate_subscripts($1::bigint[], 1)) AS a (" + columnNames(alertColumns) + ", n)"
		query := "WITH inserted AS (" + toFunction(from) + ") " + toChannels(from) + keepChannels
		return t.s.d.onArrays(ctx, t.tx, query, arrays(nil, len(alertColumns), alerts))
	}
	const from = "(SELECT ? AS flip_id, ? AS check_id, ? AS up, ? AS reminder, ? AS since, ? AS at, 1 AS n) AS a"
	if err := t.s.d.onEach(ctx, t.tx, toFunction(from), alerts); err != nil {
		return err
	}
	return t.s.d.onEach(ctx, t.tx, toChannels(from), alerts)
}

// onAlertUntil is the row of rollcall_settings that holds the instant of OnAlertUntil.
const onAlertUntil = "on_alert_until"

// OnAlertUntil stores the latest instant until which alerts go to store.OnAlert.
func (t *transaction) OnAlertUntil(ctx context.Context, until time.Time) error {
	_, err := t.tx.NewRaw(`INSERT INTO rollcall_settings AS s (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE
		SET value = excluded.value WHERE CAST(s.value AS BIGINT) < CAST(excluded.value AS BIGINT)`,
		onAlertUntil, strconv.FormatInt(micros(until), 10)).Exec(ctx)
	return err
}
