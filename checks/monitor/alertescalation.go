package monitor

import (
	"context"
	"slices"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/audit"
	"github.com/rollcall-dev/rollcall/checks/gate"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
)

// Escalation returns the steps of the project's escalation policy, or none.
func (p *Project) Escalation(ctx context.Context) ([]gate.Step, error) {
	policies, err := p.store.Escalations(ctx, []uuid.UUID{p.id})
	return policies[p.id], p.about(p.exists(ctx, len(policies[p.id]), err))
}

// SetEscalation replaces the escalation policy of the project. No steps remove it. The policy holds for every check of the project
// that alerts: the channels of a step are notified when that much time has passed since the alert, unless somebody has acknowledged
// the outage or the check is up again. A check's own channels that the policy does not name are notified at once, and one that both
// name waits for its step. A channel whose step has not come gets no reminders, and does not hear that the check is up. The time stands
// while quiet hours, a window or a check that it follows keep alerts back, and begins again when an acknowledgement ends.
//
// A changed policy also holds for outages that are going on: a channel that waits is notified at its new time, counted from the alert.
// If the policy names it no more, it is notified at once if it is one of the check, and otherwise not at all. A channel that the
// policy did not name before is notified of them at its step, and at once if that has passed. Error: *[checks.FieldError] for "steps"; see
// [checks.ValidateSteps].
func (p *Project) SetEscalation(ctx context.Context, steps []gate.Step) error {
	err := p.store.Update(ctx, func(ctx context.Context, tx store.Tx) error {
		if _, err := tx.LockAccount(ctx, p.id); err != nil {
			return err
		}
		available, err := tx.Channels(ctx, store.ChannelFilter{ProjectID: &p.id})
		if err != nil {
			return err
		}
		if err := checks.ValidateSteps(steps, available); err != nil {
			return err
		}
		steps := sortSteps(steps, available)
		change, err := p.noteEscalation(ctx, tx, available, func([]gate.Step) []gate.Step { return steps })
		if err != nil || change == nil {
			return err
		}
		return change.SaveEscalation(ctx, p.id, steps)
	})
	return p.about(err)
}

// noteEscalation notes what fn makes of the policy. Without a change it returns nil.
func (p *Project) noteEscalation(
	ctx context.Context, tx store.AdminTx, available []channels.Channel, fn func(before []gate.Step) []gate.Step,
) (store.Writer, error) {
	policies, err := tx.Escalations(ctx, []uuid.UUID{p.id})
	if err != nil {
		return nil, err
	}
	text := func(steps []gate.Step) string {
		return checks.StepsText(steps, func(id uuid.UUID) string {
			c, _ := channelByID(available, id)
			return channelName(c)
		})
	}
	before := policies[p.id]
	after := fn(before)
	e := audit.Entry{ProjectID: p.id, Action: "escalation.update", Object: "escalation policy", Changes: add(nil, "steps", text(before), text(after))}
	same := slices.EqualFunc(before, after, func(a, b gate.Step) bool { return a.After == b.After && slices.Equal(a.Channels, b.Channels) })
	if same {
		return nil, nil
	}
	return p.note(ctx, tx, e)
}

// sortSteps returns steps with their channels in the order of the available ones, as the store has them.
func sortSteps(steps []gate.Step, available []channels.Channel) []gate.Step {
	steps = slices.Clone(steps)
	for i, step := range steps {
		steps[i].Channels = nil
		for _, c := range available {
			if slices.Contains(step.Channels, c.ID) {
				steps[i].Channels = append(steps[i].Channels, c.ID)
			}
		}
	}
	return steps
}

// withoutChannel returns the steps without a channel, and without a step that only had that one.
func withoutChannel(steps []gate.Step, id uuid.UUID) (left []gate.Step) {
	for _, step := range steps {
		step.Channels = slices.DeleteFunc(slices.Clone(step.Channels), func(c uuid.UUID) bool { return c == id })
		if len(step.Channels) > 0 {
			left = append(left, step)
		}
	}
	return left
}
