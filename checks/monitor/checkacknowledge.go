package monitor

import (
	"context"
	"strings"
	"time"

	"github.com/google/uuid"

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
	return p.change(ctx, id, false, p.acknowledging(spec, p.now()))
}

func (p *Project) acknowledging(spec checks.AckSpec, now time.Time) edit {
	return p.acking("check.acknowledge", now, func(ctx context.Context, c checks.Check) (checks.Check, checks.Effects, error) {
		spec := spec
		if strings.TrimSpace(spec.By) == "" {
			who := []rune(audit.ActorOf(ctx).Known())
			spec.By = string(who[:min(len(who), checks.MaxName)])
		}
		return c.Acknowledge(spec, now)
	})
}

// Unacknowledge gives the outage of a check back, and a reminder says so; the escalation policy begins again. If nobody has it, nothing changes.
// Error: [checks.ErrNotFound].
func (p *Project) Unacknowledge(ctx context.Context, id uuid.UUID) (checks.Snapshot, error) {
	now := p.now()
	return p.change(ctx, id, false, p.acking("check.unacknowledge", now, func(_ context.Context, c checks.Check) (checks.Check, checks.Effects, error) {
		c, effects := c.Unacknowledge(now)
		return c, effects, nil
	}))
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
