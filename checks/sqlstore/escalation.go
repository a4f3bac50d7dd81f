package sqlstore

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/gate"
	"github.com/rollcall-dev/rollcall/checks/internal/selection"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
)

type escalationRow struct {
	bun.BaseModel `bun:"table:rollcall_escalations,alias:e"`

	ChannelID uuid.UUID `bun:"channel_id,pk"`
	ProjectID uuid.UUID `bun:"project_id"`
	After     int64     `bun:"after"`
}

// Escalations returns the steps of the escalation policies of projects. A project without one is missing.
func (l lookup) Escalations(ctx context.Context, projects []uuid.UUID) (map[uuid.UUID][]gate.Step, error) {
	if len(projects) == 0 {
		return nil, nil
	}
	var rows []escalationRow
	err := l.from.NewSelect().Model(&rows).Join("JOIN rollcall_channels AS ch ON ch.id = e.channel_id").
		Where("e.project_id IN (?)", bun.List(projects)).OrderExpr("e.after, ch.created_at, ch.id").Scan(ctx)
	if err != nil || len(rows) == 0 {
		return nil, l.translate(err)
	}
	policies := make(map[uuid.UUID][]gate.Step, 1)
	for _, r := range rows {
		steps, after := policies[r.ProjectID], time.Duration(r.After)*time.Microsecond
		if n := len(steps); n == 0 || steps[n-1].After != after {
			steps = append(steps, gate.Step{After: after})
		}
		step := &steps[len(steps)-1]
		step.Channels = append(step.Channels, r.ChannelID)
		policies[r.ProjectID] = steps
	}
	return policies, nil
}

// SaveEscalation replaces the escalation policy of a project.
func (t *transaction) SaveEscalation(ctx context.Context, projectID uuid.UUID, steps []gate.Step) error {
	var rows []escalationRow
	for _, step := range steps {
		for _, id := range step.Channels {
			rows = append(rows, escalationRow{ChannelID: id, ProjectID: projectID, After: step.After.Microseconds()})
		}
	}
	_, err := t.tx().NewDelete().Model((*escalationRow)(nil)).Where("project_id = ?", projectID).Exec(ctx)
	if err == nil && len(rows) > 0 {
		_, err = t.tx().NewInsert().Model(&rows).Exec(ctx)
	}
	return translate(err)
}

var updateClocks = statement{
	sqlite: "UPDATE rollcall_flips SET clock = ? WHERE id = ?",
	postgres: `UPDATE rollcall_flips AS f SET clock = v.clock FROM (SELECT unnest($1::text[]) AS clock, unnest($2::bigint[]) AS id) AS v
		WHERE f.id = v.id AND f.id = ANY ($2::bigint[])`,
}

// SaveClocks writes the clocks of outages.
func (t *transaction) SaveClocks(ctx context.Context, clocks map[int64]gate.Clock) error {
	var rows [][]any
	for _, id := range slices.Sorted(maps.Keys(clocks)) {
		text, err := json.Marshal(clocks[id])
		if err != nil {
			return err
		}
		rows = append(rows, []any{string(text), id})
	}
	return t.exec(ctx, updateClocks, rows)
}

// restartClock sets the clock of the outage of a check to 0.
func (t *transaction) restartClock(ctx context.Context, check int64, at time.Time) error {
	text, err := json.Marshal(gate.Clock{Zero: at, Asked: at})
	if err == nil {
		_, err = t.tx().NewRaw("UPDATE rollcall_flips SET clock = ?0 WHERE check_id = ?1 AND NOT up AND id = "+newestFlip("?1"), string(text), check).Exec(ctx)
	}
	return err
}

// ReleaseHeld makes the deliveries of a project due that the gate keeps back, so that the courier asks it again. One that is being
// sent is due at the end of its lease, so it stays. The lock keeps a courier that knows only the policies before the change from
// keeping back a delivery that this does not see. It also adds what is missing, and ends what concerns nobody any more.
func (t *transaction) ReleaseHeld(ctx context.Context, projectID uuid.UUID, now time.Time) error {
	if err := t.lockProjects(ctx, "NO KEY UPDATE", projectID); err != nil {
		return err
	}
	_, err := t.tx().NewRaw(`UPDATE rollcall_deliveries SET due_at = ?0, held_until = ?0
		WHERE state = 'pending' AND due_at > ?0 AND due_at = held_until
			AND EXISTS (SELECT 1 FROM rollcall_checks AS c WHERE c.id = check_id AND c.project_id = ?1)`, micros(now), projectID).Exec(ctx)
	if err != nil {
		return translate(err)
	}
	return t.tellMissing(ctx, projectID, now)
}

// tellMissing adds, after dropUnconcerned, the deliveries of alerts that an integration has missed: it was assigned to a check that is
// down, to its group, or named in the escalation policy after the alert, or what waited for it ended in a pause that was undone. They
// count from the alert, so that the step is that of the others.
func (t *transaction) tellMissing(ctx context.Context, projectID uuid.UUID, now time.Time) error {
	var down []int64
	err := t.tx().NewRaw("SELECT 1 FROM rollcall_checks WHERE project_id = ? AND status = ? LIMIT 1", projectID, listCode(checks.StatusDown)).Scan(ctx, &down)
	if err != nil || len(down) == 0 {
		return translate(err)
	}
	list, err := t.Channels(ctx, store.ChannelFilter{ProjectID: &projectID})
	if err == nil {
		err = t.dropUnconcerned(ctx, projectID, now, list)
	}
	var wants []uuid.UUID
	for _, c := range list {
		if c.Wants(channels.Down) {
			wants = append(wants, c.ID)
		}
	}
	if err != nil || len(wants) == 0 {
		return err
	}
	err = t.tell(ctx, projectID, now, wants, "ch.id "+assigned)
	for _, g := range list {
		if members := selection.Members(g); err == nil && g.Kind == channels.Group && len(members) > 0 {
			err = t.tell(ctx, projectID, now, wants, `ch.id IN (?6) AND ?5 `+assigned+` AND EXISTS (SELECT 1 FROM rollcall_deliveries AS g
				WHERE g.check_id = c.id AND g.channel_id = ?5 AND g.flip_id = f.id AND g.state IN ('sent', 'failed'))`, g.ID, bun.List(members))
		}
	}
	return err
}

// assigned says of an integration that it gets the alerts about a check c, by the check or by the escalation policy.
const assigned = `IN (SELECT cc.channel_id FROM rollcall_check_channels AS cc WHERE cc.check_id = c.id
	UNION SELECT p.channel_id FROM rollcall_escalations AS p WHERE p.project_id = c.project_id)`

// dropUnconcerned ends what waits for integrations of a project which do not get the alerts of its check any more, alone or in a group:
// reminders that nobody has tried or that the gate keeps back, which would keep an incident open until they are due, and in lines that begin
// with an alert, kept back by the gate, that the check is down, all such alerts. What else was tried stays: somebody may have heard of it,
// and hears of its end.
func (t *transaction) dropUnconcerned(ctx context.Context, projectID uuid.UUID, now time.Time, list []channels.Channel) error {
	var ids []uuid.UUID
	var concerned strings.Builder
	args := []any{projectID, nil, micros(now)}
	for _, ch := range list {
		ids = append(ids, ch.ID)
		if members := selection.Members(ch); ch.Kind == channels.Group && len(members) > 0 {
			fmt.Fprintf(&concerned, " OR ?%d %s AND d.channel_id IN (?%d)", len(args), assigned, len(args)+1)
			args = append(args, ch.ID, bun.List(members))
		}
	}
	if args[1] = bun.List(ids); len(ids) == 0 {
		return nil
	}
	of := ` WHERE d.state = 'pending' AND d.channel_id IN (?1) AND d.close = '' AND EXISTS (SELECT 1 FROM rollcall_checks AS c
		WHERE c.id = d.check_id AND c.project_id = ?0 AND NOT (d.channel_id ` + assigned + concerned.String() + `)) AND `
	_, err := t.tx().NewRaw("DELETE FROM rollcall_deliveries AS d"+of+"d.reminder > 0 AND d.attempts = 0", args...).Exec(ctx)
	if err != nil {
		return translate(err)
	}
	var ended []int64
	err = t.tx().NewRaw(`UPDATE rollcall_deliveries AS d SET state = 'skipped', error = 'the integration does not get alerts about the check any more', finished_at = ?2`+of+
		`NOT EXISTS (SELECT 1 FROM rollcall_flips AS u WHERE u.id = d.flip_id AND u.check_id = d.check_id AND u.up)
			AND (d.reminder > 0 AND d.due_at = d.held_until
				OR EXISTS (SELECT 1 FROM rollcall_deliveries AS k LEFT JOIN rollcall_flips AS f ON f.id = k.flip_id AND f.check_id = k.check_id
					WHERE k.id = `+firstOfLine+` AND k.due_at = k.held_until AND k.attempts = 0 AND NOT coalesce(f.up, FALSE))) RETURNING id`, args...).Scan(ctx, &ended)
	if err == nil {
		err = t.wakeNext(ctx, ended, now)
	}
	return translate(err)
}

// tell adds a delivery of the alert to each of some integrations ch that has none of a check c that is down since a flip f, and no end of
// one: what only was tried may have reached nobody. to is a condition on them, with the arguments from ?5 on.
func (t *transaction) tell(ctx context.Context, projectID uuid.UUID, now time.Time, wants []uuid.UUID, to string, args ...any) error {
	from := ` FROM rollcall_checks AS c
		JOIN rollcall_flips AS f ON f.check_id = c.id AND NOT f.up AND f.id = ` + newestFlip("c.id") + `
		JOIN rollcall_channels AS ch ON ch.id IN (?2) AND ` + to + `
		WHERE c.project_id = ?0 AND c.status = ?1 AND NOT c.record_only
			AND NOT EXISTS (SELECT 1 FROM rollcall_deliveries AS o WHERE o.check_id = c.id AND o.channel_id = ch.id AND o.flip_id = f.id
				AND o.close = '' AND (o.state = 'pending' AND o.reminder = 0 OR o.state IN ('sent', 'failed')) AND NOT EXISTS (` + laterClose + `))`
	args = append([]any{projectID, listCode(checks.StatusDown), bun.List(wants), micros(now), gate.ByStep}, args...)
	var down []uuid.UUID
	if err := t.tx().NewRaw("SELECT DISTINCT c.uuid"+from, args...).Scan(ctx, &down); err != nil || len(down) == 0 {
		return translate(err)
	}
	locked, err := t.LockChecks(ctx, down) // so that none comes up until the commit, without a word to those that are added
	if err != nil {
		return err
	}
	var alerted []int64
	for _, l := range locked {
		if l.Stored == checks.StatusDown && l.Alerting.Failures == 0 {
			alerted = append(alerted, l.Row.(*lockedRow).id)
		}
	}
	if len(alerted) == 0 {
		return nil
	}
	insert := `INSERT INTO rollcall_deliveries (flip_id, check_id, reminder, state, created_at, channel_id, due_at, held, held_until)
		SELECT f.id, c.id, 0, 'pending', coalesce((SELECT min(a.created_at) FROM rollcall_deliveries AS a
			WHERE a.check_id = c.id AND a.flip_id = f.id AND a.reminder = 0 AND a.close = ''), f.at), ch.id, ?3, ?4, ?3` + from +
		fmt.Sprintf(" AND c.id IN (?%d) ORDER BY c.id, ch.id", len(args))
	if t.s.d.postgres {
		insert += keepChannels
	}
	if _, err = t.tx().NewRaw(insert, append(args, bun.List(alerted))...).Exec(ctx); err != nil {
		return translate(err)
	}
	// A reminder that was raised together with the change would come first, and an incident that is about to be closed is open again. The
	// members of a group may have the alert already: its reminder waits behind the alert.
	raised := ` WHERE d.check_id IN (?0) AND d.state = 'pending' AND (d.reminder > 0 AND d.attempts = 0 OR d.close <> '') AND EXISTS (SELECT 1 FROM rollcall_deliveries AS n
		WHERE n.check_id = d.check_id AND n.channel_id = d.channel_id AND n.flip_id = d.flip_id AND n.reminder = 0 AND n.state = 'pending' AND n.id > d.id)
		AND d.channel_id `
	groups := "IN (SELECT g.id FROM rollcall_channels AS g WHERE g.kind = 'group')"
	_, err = t.tx().NewRaw("UPDATE rollcall_deliveries AS d SET held = ?1, held_until = d.due_at"+raised+groups, bun.List(alerted), gate.ByStep).Exec(ctx)
	if err == nil {
		_, err = t.tx().NewRaw("UPDATE rollcall_deliveries AS d SET state = 'skipped', error = 'the alert itself takes its place', finished_at = ?1"+raised+"NOT "+groups, bun.List(alerted), micros(now)).Exec(ctx)
	}
	return translate(err)
}
