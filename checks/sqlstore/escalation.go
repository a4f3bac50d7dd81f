package sqlstore

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/rollcall-dev/rollcall/checks/gate"
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

// SaveEscalation replaces the escalation policy of a project, and ends what waits for integrations that it names no more.
func (t *transaction) SaveEscalation(ctx context.Context, projectID uuid.UUID, steps []gate.Step, now time.Time) error {
	var rows []escalationRow
	for _, step := range steps {
		for _, id := range step.Channels {
			rows = append(rows, escalationRow{ChannelID: id, ProjectID: projectID, After: step.After.Microseconds()})
		}
	}
	var dropped []uuid.UUID
	err := t.tx().NewRaw("DELETE FROM rollcall_escalations WHERE project_id = ? RETURNING channel_id", projectID).Scan(ctx, &dropped)
	if err != nil {
		return err
	}
	if len(rows) > 0 {
		if _, err := t.tx().NewInsert().Model(&rows).Exec(ctx); err != nil {
			return translate(err)
		}
	}
	dropped = slices.DeleteFunc(dropped, func(id uuid.UUID) bool {
		return slices.ContainsFunc(rows, func(r escalationRow) bool { return r.ChannelID == id })
	})
	return t.skipLines(ctx, dropped, now)
}

// notNamed is the error of an alert for which an escalation policy had an integration that it has lost since.
const notNamed = "the escalation policy names this integration no more"

// skipLines ends the lines of integrations that begin with an alert, kept back by the gate, that a check is down to which the
// integration is not assigned.
func (t *transaction) skipLines(ctx context.Context, to []uuid.UUID, now time.Time) error {
	if len(to) == 0 {
		return nil
	}
	_, err := t.tx().NewRaw(`UPDATE rollcall_deliveries AS d SET state = 'skipped', error = ?, finished_at = ?
		WHERE d.state = 'pending' AND d.close = '' AND d.channel_id IN (?)
			AND NOT EXISTS (SELECT 1 FROM rollcall_check_channels AS cc WHERE cc.check_id = d.check_id AND cc.channel_id = d.channel_id)
			AND EXISTS (SELECT 1 FROM rollcall_deliveries AS k LEFT JOIN rollcall_flips AS f ON f.id = k.flip_id AND f.check_id = k.check_id
				WHERE k.id = `+firstOfLine+` AND k.due_at = k.held_until AND NOT coalesce(f.up, FALSE))`,
		notNamed, micros(now), bun.List(to)).Exec(ctx)
	return err
}
