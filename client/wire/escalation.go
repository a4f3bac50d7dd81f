package wire

import (
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks/gate"
)

// Escalation is the escalation policy of a project. It is an extension by Rollcall.
type Escalation struct {
	Steps []EscalationStep `json:"steps"`
}

// EscalationStep is a step of an escalation policy.
type EscalationStep struct {
	// After is how long after an alert the step follows, in seconds: whole minutes up to 7 days.
	After int64 `json:"after"`
	// Channels are the integrations that it notifies. A request may also name them by names that no other integration has.
	Channels []string `json:"channels"`
}

// NewEscalation returns the document of steps.
func NewEscalation(steps []gate.Step) Escalation {
	d := Escalation{Steps: make([]EscalationStep, len(steps))}
	for i, step := range steps {
		d.Steps[i] = EscalationStep{After: int64(step.After / time.Second), Channels: make([]string, len(step.Channels))}
		for j, id := range step.Channels {
			d.Steps[i].Channels[j] = id.String()
		}
	}
	return d
}

// Step returns what the document says, with the identifiers of integrations.
func (s EscalationStep) Step() (gate.Step, error) {
	step := gate.Step{After: time.Duration(s.After) * time.Second}
	for _, text := range s.Channels {
		id, err := uuid.Parse(text)
		if err != nil {
			return gate.Step{}, err
		}
		step.Channels = append(step.Channels, id)
	}
	return step, nil
}
