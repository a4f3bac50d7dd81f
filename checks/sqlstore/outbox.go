package sqlstore

import (
	"context"
	"strconv"
	"time"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/gate"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
)

// raisedAlert is an alert of a check. flip is 0 if an earlier flip caused it.
type raisedAlert struct {
	flip, check, reminder, since, at int64
	up                               bool
}

// addAlerts adds the alerts of one check, each with its flip if that is new.
func (b *batch) addAlerts(l *store.Locked, check int64, flipIDs []int64) {
	first := 0 // alerts and transitions are in the same order; several flips can have the same instant
	for _, a := range l.Alerts {
		row := raisedAlert{
			check: check, up: a.Status == checks.StatusUp, reminder: int64(a.Reminder),
			since: micros(a.Since), at: micros(a.RaisedAt),
		}
		for i := first; i < len(l.Transitions); i++ {
			if tr := l.Transitions[i]; tr.To == a.Status && tr.At.Equal(a.At) {
				first, row.flip = i, flipIDs[i]
				break
			}
		}
		b.alerts = append(b.alerts, row)
	}
}

// insertDeliveries adds a delivery of an alert for each channel of the check and of the escalation policy of its project, and one that
// the check is up for each channel that was notified of the outage before it was taken from the check. That of
// a later step is kept back from the outset. The statement locks the channels: on PostgreSQL, another transaction could otherwise
// delete one before the commit and leave its delivery behind.
var insertDeliveries = statement{
	sqlite: toChannels + `(SELECT ?1 AS flip_id, ?2 AS check_id, ?3 AS up, ?4 AS reminder, ?5 AS since, ?6 AS at) AS a
		JOIN rollcall_channels AS ch ON ch.id IN (SELECT cc.channel_id FROM rollcall_check_channels AS cc WHERE cc.check_id = a.check_id ` + ofPolicy + `a.check_id ` + notified + `)
		` + stepOfChannel + ` ORDER BY ch.id`,
	postgres: toChannels + unnestedAlerts + ` CROSS JOIN LATERAL (
			SELECT cc.channel_id FROM rollcall_check_channels AS cc WHERE cc.check_id = a.check_id ` + ofPolicy + `a.check_id ` + notified + `) AS r
		JOIN rollcall_channels AS ch ON ch.id = r.channel_id ` + stepOfChannel + ` ORDER BY a.n, ch.id` + keepChannels,
}

// newestFlip selects the newest flip of a check, of which check is the key.
func newestFlip(check string) string {
	return "(SELECT l.id FROM rollcall_flips AS l WHERE l.check_id = " + check + " ORDER BY l.at DESC, l.id DESC LIMIT 1)"
}

// insertOnAlert adds a delivery to store.OnAlert for an alert, where OnAlertUntil asks for it.
var insertOnAlert = statement{
	sqlite:   toFunction + `(SELECT ? AS flip_id, ? AS check_id, ? AS up, ? AS reminder, ? AS since, ? AS at) AS a` + beforeUntil,
	postgres: toFunction + unnestedAlerts + beforeUntil + ` ORDER BY a.n`,
}

// onAlertSetting is the row of rollcall_settings that holds the instant of OnAlertUntil in microseconds.
const onAlertSetting = "on_alert_until"

const beforeUntil = ` WHERE a.at <= (SELECT CAST(s.value AS bigint) FROM rollcall_settings AS s WHERE s.name = '` + onAlertSetting + `')`

const (
	toChannels = deliveriesOf + `ch.id, a.at + coalesce(` + untilStep + `, 0), CASE WHEN e.after > 0 THEN '` + string(gate.ByStep) + `' ELSE '' END, a.at + ` + untilStep + ` FROM `
	// untilStep is the time until the gate is asked about a later step: at once for a check that follows others, whose outages stop the
	// clock of the policy.
	untilStep = `CASE WHEN e.after > 0 AND EXISTS (SELECT 1 FROM rollcall_checks AS x WHERE x.id = a.check_id AND x.after <> '') THEN 0 ELSE e.after END`
	ofPolicy  = `UNION SELECT p.channel_id FROM rollcall_checks AS c
			JOIN rollcall_escalations AS p ON p.project_id = c.project_id WHERE c.id = `
	stepOfChannel = `LEFT JOIN rollcall_escalations AS e ON e.channel_id = ch.id AND e.after > 0 AND a.reminder = 0 AND NOT a.up`

	// deliveriesOf begins a statement that adds deliveries of alerts. An alert without a new flip takes the newest stored one.
	deliveriesOf = `INSERT INTO rollcall_deliveries (flip_id, check_id, reminder, since, state, created_at, channel_id, due_at, held, held_until)
	SELECT coalesce(nullif(a.flip_id, 0), (SELECT f.id FROM rollcall_flips AS f WHERE f.check_id = a.check_id AND f.up = a.up
		ORDER BY f.at DESC, f.id DESC LIMIT 1), 0), a.check_id, a.reminder, nullif(a.since, 0), 'pending', a.at, `
)

// notified adds the integrations that may have heard of the outage and are not assigned any more, and groups that are about to pass it
// on; of an earlier one, only those that are in no group which is about to pass on an alert, because they get both from it. A check that
// comes and goes has many deliveries, so what excludes most of them comes first.
var notified = `UNION SELECT o.channel_id FROM rollcall_deliveries AS o WHERE a.up AND o.check_id = a.check_id
			AND NOT EXISTS (SELECT 1 FROM rollcall_check_channels AS cc WHERE cc.check_id = a.check_id AND cc.channel_id = o.channel_id)
			AND ` + saysDown("a.check_id") + ` AND (o.flip_id = (SELECT l.id FROM rollcall_flips AS l
				WHERE l.check_id = a.check_id AND NOT l.up ORDER BY l.at DESC, l.id DESC LIMIT 1)
				OR NOT EXISTS (SELECT 1 FROM rollcall_deliveries AS g JOIN rollcall_channels AS gc ON gc.id = g.channel_id AND gc.kind = 'group'
					WHERE g.check_id = a.check_id AND g.state = 'pending' AND g.due_at <> coalesce(g.held_until, 0) AND gc.settings LIKE '%' || CAST(o.channel_id AS text) || '%'))
			AND EXISTS (SELECT 1 FROM rollcall_channels AS t WHERE t.id = o.channel_id AND (t.kind <> 'group' OR o.state = 'pending'))`

// saysDown says of a delivery o about a check that it tells somebody, or may have told, that the check is down, and that since then
// nothing was raised about its end, which would have gone to all of those, and no incident was closed. check is its key.
func saysDown(check string) string {
	raised := `coalesce((SELECT k.id FROM rollcall_deliveries AS k JOIN rollcall_flips AS u ON u.id = k.flip_id AND u.check_id = k.check_id AND u.up
				WHERE k.check_id = ` + check + ` AND k.close = '' AND k.origin = 0 ORDER BY k.id DESC LIMIT 1), 0)`
	return "o.id > " + raised + " AND CASE WHEN o.origin = 0 THEN o.id ELSE abs(o.origin) END > " + raised + `
			AND o.close = '' AND (o.state = 'pending' OR ` + heard + `)
			AND NOT EXISTS (` + laterClose + ` AND k.state IN ('sent', 'pending'))`
}

// toFunction begins a statement that adds deliveries to store.OnAlert.
var toFunction = deliveriesOf + "'" + store.OnAlert.ID.String() + `', a.at, '', NULL FROM `

const unnestedAlerts = `(SELECT unnest($1::bigint[]) AS flip_id, unnest($2::bigint[]) AS check_id, unnest($3::boolean[]) AS up,
			unnest($4::bigint[]) AS reminder, unnest($5::bigint[]) AS since, unnest($6::bigint[]) AS at,
			generate_subscripts($1::bigint[], 1) AS n) AS a`

// enqueue adds one delivery for each alert and each channel of its check to the outbox, and those to store.OnAlert, in the order of the
// alerts. It must run before the new flips are written.
func (t *transaction) enqueue(ctx context.Context, alerts []raisedAlert) error {
	if len(alerts) == 0 {
		return nil
	}
	var all, ups [][]any
	for _, a := range alerts {
		values := []any{a.flip, a.check, a.up, a.reminder, a.since, a.at}
		if all = append(all, values); a.up {
			ups = append(ups, []any{a.at, a.check})
		}
	}
	if err := t.exec(ctx, insertOnAlert, all); err != nil {
		return err
	}
	if err := t.exec(ctx, insertDeliveries, all); err != nil {
		return err
	}
	return t.exec(ctx, wakeHeld, ups)
}

// wakeHeld makes what the gate keeps back of checks due that have come up: it does not wait any more, and neither does the recovery
// behind it. It skips what a courier works on, because that must not make a ping wait. SQLite would look at all deliveries of the check.
var wakeHeld = statement{
	sqlite: `UPDATE rollcall_deliveries INDEXED BY rollcall_deliveries_order SET due_at = ?1, held_until = ?1 WHERE check_id = ?2 AND ` + isHeld + ` AND due_at > ?1`,
	postgres: `UPDATE rollcall_deliveries AS d SET due_at = w.at, held_until = w.at
		FROM (SELECT h.id, a.at FROM (SELECT unnest($1::bigint[]) AS at, unnest($2::bigint[]) AS check_id) AS a
			JOIN rollcall_deliveries AS h ON h.check_id = a.check_id AND ` + isHeld + ` AND due_at > a.at FOR UPDATE OF h SKIP LOCKED) AS w
		WHERE d.id = w.id`,
}

// isHeld says of a delivery that the gate keeps it back, and not for others that leave with it.
const isHeld = `state = 'pending' AND due_at = held_until AND held <> '` + string(gate.ByStorm) + `'`

// OnAlertUntil stores the latest instant until which alerts go to store.OnAlert. The insert locks the row and returns what
// it holds.
func (t *transaction) OnAlertUntil(ctx context.Context, until time.Time) error {
	value, stored := strconv.FormatInt(micros(until), 10), ""
	err := t.tx().NewRaw(`INSERT INTO rollcall_settings AS s (name, value) VALUES (?, ?)
		ON CONFLICT (name) DO UPDATE SET value = s.value RETURNING value`, onAlertSetting, value).Scan(ctx, &stored)
	if err != nil {
		return err
	}
	if latest, err := strconv.ParseInt(stored, 10, 64); err != nil || latest >= micros(until) {
		return err
	}
	_, err = t.tx().NewRaw("UPDATE rollcall_settings SET value = ? WHERE name = ?", value, onAlertSetting).Exec(ctx)
	return err
}
