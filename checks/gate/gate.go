// Package gate decides whether, when and to whom an alert leaves. It is one pure function, [Decide], which every alert passes,
// whatever raised it: a missed deadline, a failure, a reminder, the end of a maintenance window or of quiet hours.
//
// A monitor asks it twice with the same rules: when an alert is raised, with what the check itself says, and when a delivery is
// about to be sent, with all that the project says. A program that sends alerts by itself can ask it alone:
//
//	d := gate.Decide(gate.Event{Kind: gate.Down, At: downAt, Failures: 1}, gate.Policies{Windows: windows}, time.Now())
//	switch d.Action {
//	case gate.Send:
//	case gate.Wait: // ask again at d.Until, or when a policy changes
//	case gate.Drop:
//	}
//
// The package is pure: it never reads a clock.
package gate

import (
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks/quiet"
)

// Kind says what an alert reports.
type Kind uint8

// The kinds of alerts.
const (
	Down     Kind = iota // the check went down
	Up                   // the check is up again after an alert that it was down
	Reminder             // the check is still down
)

// Event is an alert that wants to leave, with what is known about its check.
type Event struct {
	Kind Kind
	// At is when the check got the status that the alert reports.
	At time.Time
	// Last is when the alert before a reminder was due: its RepeatEvery counts from then.
	Last time.Time
	// Failures are the failures in a row, and NextFailure when the next one follows without a ping, or the zero time.
	Failures    int
	NextFailure time.Time
	// Check and Tags are those of the check; windows select by them.
	Check uuid.UUID
	Tags  []string
	// Channel is the integration that the alert is about to leave to, or the zero UUID when it is raised.
	Channel uuid.UUID
}

// Policies are the rules that hold for an alert. The zero value lets every alert pass at once.
type Policies struct {
	// AlertAfter is how many failures in a row raise the alert that the check is down; 0 and 1 both mean the first.
	AlertAfter int
	// RepeatEvery is the time between reminders, 0 for none.
	RepeatEvery time.Duration
	// Quiet are the quiet hours of the check.
	Quiet quiet.Hours
	// RecordOnly says that the check never alerts.
	RecordOnly bool
	// Ack is the acknowledgement of the outage, or the zero value.
	Ack Ack
	// Windows are the maintenance windows and snoozes of the project.
	Windows []Window
	// Parents are the checks that the check follows.
	Parents []Parent
	// Steps are those of the escalation policy of the project.
	Steps []Step
}

// Ack is an acknowledgement: somebody has taken an outage on. The zero value is none.
type Ack struct {
	// By is who acknowledged it, in the words of the audit log, and Note what they said.
	By   string `json:"by,omitempty"`
	Note string `json:"note,omitempty"`
	// At is when. Until is when it ends although the check is still down, or the zero time if only the outage ends it.
	At    time.Time `json:"at,omitzero"`
	Until time.Time `json:"until,omitzero"`
}

// Parent is a check that another one follows.
type Parent struct {
	// Name is what people call it.
	Name string
	// Down reports whether it is down.
	Down bool
	// Late is the deadline of a check that is late and not down yet, or the zero time.
	Late time.Time
}

// Step is a step of an escalation policy.
type Step struct {
	// After is how long after the alert the step follows unless somebody acknowledges the outage.
	After time.Duration `json:"after"`
	// Channels are the integrations that it notifies.
	Channels []uuid.UUID `json:"channels"`
}

// Action is what happens to an alert.
type Action uint8

// The actions.
const (
	Send Action = iota // it leaves now
	Wait               // it is asked again at Decision.Until, or when a policy has changed
	Drop               // it never leaves
)

// Why names the policy that a decision goes back to.
type Why string

// The policies, in the order in which they are asked.
const (
	ByCheck       Why = "record_only" // the check never alerts
	ByFailures    Why = "alert_after" // too few failures in a row
	ByRepeat      Why = "repeat"      // it is too early for a reminder
	ByMaintenance Why = "maintenance"
	BySnooze      Why = "snooze"
	ByParent      Why = "after" // a check that it follows is down or late
	ByAck         Why = "acknowledged"
	ByStep        Why = "escalation" // it is not the turn of the integration yet
	ByQuiet       Why = "quiet_hours"
	ByStorm       Why = "storm" // it is sent with others
)

// Decision is what a gate decides about an alert.
type Decision struct {
	Action Action
	// Until is when to ask again about one that waits.
	Until time.Time
	// Why is the policy that keeps the alert back or drops it, and Name whom or what it names: the note of a window, the name of a
	// parent, or who has acknowledged the outage. Both are "" for Send.
	Why  Why
	Name string
}

// Decide decides whether, when and to whom an alert leaves.
func Decide(e Event, p Policies, now time.Time) Decision {
	if end, isQuiet := p.Quiet.Until(now); isQuiet {
		return Decision{Action: Wait, Until: end, Why: ByQuiet}
	}
	return Decision{}
}
