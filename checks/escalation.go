package checks

import (
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/channels/prose"
	"github.com/rollcall-dev/rollcall/checks/gate"
)

// Bounds of an escalation policy.
const (
	MaxSteps     = 10
	MaxStepAfter = 7 * 24 * time.Hour
)

// ValidateSteps reports whether steps can be the escalation policy of a project with these channels: up to [MaxSteps] steps in the
// order of their times, which differ, in whole minutes up to [MaxStepAfter]. Each has at least one channel, and no channel comes
// twice. No steps are no policy. The error is a *[FieldError] for "steps".
func ValidateSteps(steps []gate.Step, available []channels.Channel) error {
	if len(steps) > MaxSteps {
		return refuse("steps", "has too many steps: %d, the maximum is %d", len(steps), MaxSteps)
	}
	named := make(map[uuid.UUID]int)
	for i, step := range steps {
		n := i + 1
		switch {
		case step.After < 0 || step.After > MaxStepAfter:
			return refuse("steps", "has a step %d whose time is out of range: %v, from 0 to %d days", n, step.After, MaxStepAfter/(24*time.Hour))
		case step.After%time.Minute != 0:
			return refuse("steps", "has a step %d whose time is not in whole minutes: %v", n, step.After)
		case i > 0 && step.After <= steps[i-1].After:
			return refuse("steps", "has a step %d that does not follow later than step %d: %v after %v", n, i, step.After, steps[i-1].After)
		case len(step.Channels) == 0:
			return refuse("steps", "has a step %d without integrations", n)
		}
		for _, id := range step.Channels {
			if !slices.ContainsFunc(available, func(c channels.Channel) bool { return c.ID == id }) {
				return refuse("steps", "has a step %d with an integration that the project does not have: %s", n, id)
			}
			if before := named[id]; before != 0 {
				return refuse("steps", "names an integration twice, in step %d and step %d: %s", before, n, id)
			}
			named[id] = n
		}
	}
	return nil
}

// NamedStep is a step of an escalation policy as people write it: Channels has identifiers and names.
type NamedStep struct {
	After    time.Duration
	Channels []string
}

// FindSteps returns the steps with the identifiers of their channels: available ones that a text names by its identifier, or by its
// name if no other one has it. The error is a *[FieldError] for "steps". [ValidateSteps] checks the result.
func FindSteps(named []NamedStep, available []channels.Channel) ([]gate.Step, error) {
	if len(named) > MaxSteps {
		return nil, refuse("steps", "has too many steps: %d, the maximum is %d", len(named), MaxSteps)
	}
	steps := make([]gate.Step, len(named))
	for i, step := range named {
		steps[i].After = step.After
		if len(step.Channels) > MaxChannels {
			return nil, refuse("steps", "has a step %d with too many integrations: %d, the maximum is %d", i+1, len(step.Channels), MaxChannels)
		}
		for _, text := range step.Channels {
			var found []uuid.UUID
			for _, c := range available {
				if c.ID.String() == text {
					found = []uuid.UUID{c.ID}
					break
				}
				if c.Name == text && text != "" {
					found = append(found, c.ID)
				}
			}
			switch len(found) {
			case 1:
				steps[i].Channels = append(steps[i].Channels, found[0])
			case 0:
				return nil, refuse("steps", "has a step %d with an integration that the project does not have: %s", i+1, text)
			default:
				return nil, refuse("steps", "has a step %d with a name that %d integrations have: %s", i+1, len(found), text)
			}
		}
	}
	return steps, nil
}

// StepText says when a step of an escalation policy follows, such as "at once" or "after 15 minutes".
func StepText(after time.Duration) string {
	if after == 0 {
		return "at once"
	}
	return "after " + prose.Period(after)
}

// StepsText is an escalation policy on one line, such as "at once: mail; after 15 min: pager, sms". Name returns that of a channel.
func StepsText(steps []gate.Step, name func(uuid.UUID) string) string {
	var list []string
	for _, step := range steps {
		names := make([]string, len(step.Channels))
		for i, id := range step.Channels {
			names[i] = name(id)
		}
		list = append(list, StepText(step.After)+": "+strings.Join(names, ", "))
	}
	return strings.Join(list, "; ")
}
