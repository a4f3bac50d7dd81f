package monitor

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels/prose"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/audit"
	"github.com/rollcall-dev/rollcall/checks/gate"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
)

// Acknowledge says who takes the outage of a check that is down on: reminders and escalation stop until the check is up again, or
// until a time. An empty spec.By stands for the actor of the context (see package audit). Of two people at once the first has it,
// and the error tells the second who. Errors: *[checks.FieldError], [checks.ErrNotFound], [checks.ErrNotDown],
// [checks.ErrAcknowledged].
func (p *Project) Acknowledge(ctx context.Context, id uuid.UUID, spec checks.AckSpec) (checks.Snapshot, error) {
	if err := spec.Validate(); err != nil {
		return checks.Snapshot{}, about("check", id, err)
	}
	return p.change(ctx, id, false, p.acknowledging(spec, p.now(), false))
}

// AcknowledgeMany acknowledges the outages of the checks that a query selects, in as few transactions as [Project.ChangeMany] needs;
// see [checks.Manager]. The audit log has an entry for each check. Errors: *[checks.FieldError], and those of ChangeMany.
func (p *Project) AcknowledgeMany(ctx context.Context, q checks.AckQuery, spec checks.AckSpec) (report checks.AckReport, err error) {
	if err := cmp.Or(q.Validate(), spec.Validate()); err != nil {
		return report, p.about(err)
	}
	list, err := p.List(ctx, checks.ListQuery{IDs: q.IDs, Status: []checks.Status{checks.StatusDown}, Order: checks.ListByAge})
	if err != nil {
		return report, err
	}
	var changes []Change
	for _, c := range list {
		if q.Matches(c.Settings) {
			changes = append(changes, Acknowledging(c.ID, spec))
		}
	}
	err = p.ChangeMany(ctx, changes, NotAcknowledged, func(_ int, c Changed) {
		switch {
		case c.Err == nil:
			report.Acknowledged = append(report.Acknowledged, c.After.Snapshot(p.now()))
		case errors.Is(c.Err, checks.ErrAcknowledged):
			report.Taken = append(report.Taken, c.After.Snapshot(p.now()))
		}
	})
	return report, err
}

// NotAcknowledged reports whether an error of [Acknowledging] is about one check alone: somebody else has its outage, the outage is
// over, or the check is gone.
func NotAcknowledged(err error) bool {
	return errors.Is(err, checks.ErrAcknowledged) || errors.Is(err, checks.ErrNotDown) || errors.Is(err, checks.ErrNotFound)
}

// acknowledging acknowledges an outage. If keep is set, a spec without For and Note leaves alone what the same person has already.
func (p *Project) acknowledging(spec checks.AckSpec, now time.Time, keep bool) edit {
	return p.acking("check.acknowledge", now, func(ctx context.Context, c checks.Check) (checks.Check, checks.Effects, error) {
		spec := spec
		if strings.TrimSpace(spec.By) == "" {
			who := []rune(audit.ActorOf(ctx).Known())
			spec.By = string(who[:min(len(who), checks.MaxName)])
		}
		if has := c.Acknowledged(now).By; keep && spec.For == 0 && spec.Note == "" && has != "" && has == prose.Name(spec.By) {
			return c, checks.Effects{}, nil
		}
		return c.Acknowledge(spec, now)
	})
}

// Unacknowledge gives the outage of a check back, and a reminder says so; the escalation policy begins again. If nobody has it, nothing changes.
// Error: [checks.ErrNotFound].
func (p *Project) Unacknowledge(ctx context.Context, id uuid.UUID) (checks.Snapshot, error) {
	return p.change(ctx, id, false, p.unacknowledging(nil, p.now()))
}

// unacknowledging gives an outage back. Unless only is nil, the error is checks.ErrChanged for any other acknowledgement than that.
func (p *Project) unacknowledging(only *gate.Ack, now time.Time) edit {
	return p.acking("check.unacknowledge", now, func(_ context.Context, c checks.Check) (checks.Check, checks.Effects, error) {
		if only != nil && !c.Acknowledged(now).Equal(*only) {
			return c, checks.Effects{}, checks.ErrChanged
		}
		c, effects := c.Unacknowledge(now)
		return c, effects, nil
	})
}

// acking changes the acknowledgement of a check.
func (p *Project) acking(
	action string, now time.Time, change func(ctx context.Context, c checks.Check) (checks.Check, checks.Effects, error),
) edit {
	return func(ctx context.Context, tx store.AdminTx, l *store.Locked) error {
		if err := p.mayJudge(ctx, tx, l, now); err != nil {
			return err
		}
		before := l.Acknowledged(now)
		changed, effects, err := change(ctx, l.Check)
		if err != nil {
			return err
		}
		l.Apply(changed, effects)
		if changes := ackChanges(before, l.Acknowledged(now)); len(changes) > 0 {
			if _, err := p.note(ctx, tx, aboutCheck(l.Check, action, changes...)); err != nil {
				return err
			}
		}
		return tx.SaveChecks(ctx, []*store.Locked{l})
	}
}

// ackChanges returns what differs between two acknowledgements.
func ackChanges(from, to gate.Ack) []audit.Change {
	changes := add(nil, "by", from.By, to.By)
	changes = add(changes, "until", untilText(from), untilText(to))
	return add(changes, "note", from.Note, to.Note)
}

// untilText says when an acknowledgement ends.
func untilText(a gate.Ack) string {
	if a.Until.IsZero() {
		return ""
	}
	return a.Until.Format("2006-01-02 15:04 MST")
}
