// Package gate decides whether, when and to whom an alert leaves. It is one pure function, [Decide], which every alert passes,
// whatever raised it: a missed deadline, a failure, a reminder, the end of a maintenance window or of quiet hours.
//
// A monitor asks it twice with the same rules: when an alert is raised, with what the check itself says, and when a delivery is
// about to be sent, with all that the project says. Facts and policies that somebody else has judged are left zero, and pass.
// A program that sends alerts by itself can ask it alone:
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
	"slices"
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
	// At is when the alert about the status was raised, also for a reminder.
	At time.Time
	// Clock is that of the outage, as the last question about it has returned it. The zero value is one of which nobody has asked.
	Clock Clock
	// Last is when the alert or reminder before a reminder was due: its RepeatEvery counts from then. The zero time means long ago.
	Last time.Time
	// Failures are the failures in a row until now, and NextFailure is when the next one follows without a ping, or the zero time
	// if no ping is expected any more.
	Failures    int
	NextFailure time.Time
	// Grace is the grace time of the check. After a parent came up, an alert waits for as long; see [Parent].
	Grace time.Duration
	// Reported is when the job itself reported the failure, or the zero time if a deadline was missed.
	Reported time.Time
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
	// RepeatEvery is the least time between two reminders. Whoever wants no reminders raises none.
	RepeatEvery time.Duration
	// Quiet are the quiet hours of the check, or nil.
	Quiet *quiet.Hours
	// RecordOnly says that the check never alerts.
	RecordOnly bool
	// Ack is the acknowledgement of the outage, or the zero value. Returned is when one before it ended, or the zero time: the escalation
	// policy begins again at the end of each.
	Ack      Ack
	Returned time.Time
	// Windows are the maintenance windows and snoozes of the project, with those that ended since the alert was raised.
	Windows []Window
	// Parents are the checks that the check follows.
	Parents []Parent
	// Steps are those of the escalation policy of the project. An integration that no step names is notified at once.
	Steps []Step
}

// Ack is an acknowledgement: somebody has taken an outage on. The zero value is none.
type Ack struct {
	// By is what people call who acknowledged it, and Note what they said.
	By   string `json:"by,omitempty"`
	Note string `json:"note,omitempty"`
	// At is when. Until is when it ends although the check is still down, or the zero time if only the outage ends it.
	At    time.Time `json:"at,omitzero"`
	Until time.Time `json:"until,omitzero"`
}

// Active reports whether the acknowledgement is in force at an instant.
func (a Ack) Active(now time.Time) bool {
	return !a.At.IsZero() && (a.Until.IsZero() || now.Before(a.Until))
}

// Equal reports whether two acknowledgements are the same, in whatever locations their times are.
func (a Ack) Equal(b Ack) bool {
	return a.By == b.By && a.Note == b.Note && a.At.Equal(b.At) && a.Until.Equal(b.Until)
}

// Parent is a check that another one follows. Once it is up, the follower has its own grace time, at least [LeastFollow] and at most
// [MostFollow], as if it had been due then: what begins after the parent is no outage. A failure that the job reports later than that
// is one at once.
type Parent struct {
	// Name is what people call it.
	Name string
	// Down reports whether it is down.
	Down bool
	// Late is the deadline of a check that is late and not down yet, or the zero time.
	Late time.Time
	// Up is when a check that is neither down nor late came up last, or the zero time.
	Up time.Time
}

// Until returns until when a follower with a grace time waits after the parent came up.
func (p Parent) Until(grace time.Duration) time.Time {
	return p.Up.Add(min(max(grace, LeastFollow), MostFollow))
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
	Wait               // it waits: ask again at Decision.Until, or when a policy has changed
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
	ByParent      Why = "after" // a check that it follows is down or late, or came up
	ByQuiet       Why = "quiet_hours"
	ByAck         Why = "acknowledged"
	ByStep        Why = "escalation" // it is not the turn of the integration yet
	ByStorm       Why = "storm"      // it is sent with others
)

// Decision is what the gate decides about an alert.
type Decision struct {
	Action Action
	// Until is when to ask again about an alert that waits. It is after now, and not after the instant at which the alert may leave.
	// For a reminder that quiet hours drop, it is their end: the next one counts from then. Otherwise it is the zero time.
	Until time.Time
	// Why is the first policy that keeps the alert back or drops it, and Name whom or what it names: the note of a window, the name
	// of a parent, or who has acknowledged the outage. Both are "" for Send, and Name is "" for a policy without a name.
	Why  Why
	Name string
	// Clock is that of the outage at the question, for the next one. It is the zero value until somebody asks with steps.
	Clock Clock
}

// How long an alert waits at most before it is asked again, where no policy says when it may leave.
const (
	// AskParent bounds the wait for a parent, which comes up without a change of any policy.
	AskParent = 30 * time.Second
	// LeastFollow and MostFollow bound the grace time that a follower has after its parent came up.
	LeastFollow, MostFollow = AskParent, time.Hour
	// AskAck bounds the wait for the end of an acknowledgement that only the outage ends.
	AskAck = 10 * time.Minute
)

// Decide decides whether, when and to whom an alert leaves. Each policy has its say in the order of the constants above, and the
// first that keeps the alert back or drops it decides:
//
//   - [Down] waits for more failures in a row, for the end of the windows that cover the check, for its parents, for the end of quiet
//     hours, and for the step of its integration. An acknowledgement keeps only the later steps of an escalation back.
//   - [Reminder] waits until RepeatEvery has passed and for the step of its integration. What else would keep it back drops it,
//     because the next one follows anyway. Without RepeatEvery none does, and it waits; an acknowledgement drops it all the same,
//     because at its end there is another.
//   - [Up] waits for the end of quiet hours, and for nothing else. Ask only about one whose Down left.
//
// A check that only records drops Down and Reminder. Whatever the policies, what waits has an instant at which to ask again.
func Decide(e Event, p Policies, now time.Time) Decision {
	switch {
	case e.Kind == Up:
	case p.RecordOnly:
		return Decision{Action: Drop, Why: ByCheck}
	case e.Kind == Down && e.Failures < p.AlertAfter && now.Before(e.NextFailure):
		return Decision{Action: Wait, Until: e.NextFailure, Why: ByFailures}
	case e.Kind == Reminder && !e.Last.IsZero() && now.Before(e.Last.Add(p.RepeatEvery)):
		return Decision{Action: Wait, Until: e.Last.Add(p.RepeatEvery), Why: ByRepeat}
	}
	var d Decision
	if p.Quiet != nil || len(p.Windows)+len(p.Parents) > 0 {
		d = p.hold(e, now)
	}
	if e.Kind == Up {
		return d
	}
	var clock Clock
	if len(p.Steps) > 0 || e.Clock != (Clock{}) { // which goes on without a policy, for the next
		clock = e.clock(p, d, now)
	}
	if d.Why == "" && (len(p.Steps) > 0 || !p.Ack.At.IsZero()) {
		d = p.escalate(e, clock.Zero, now)
	}
	if e.Kind == Reminder && d.Action == Wait && d.Why != ByStep && (p.RepeatEvery > 0 || d.Why == ByAck) {
		if d.Action = Drop; d.Why != ByQuiet {
			d.Until = time.Time{}
		}
	}
	d.Clock = clock
	return d
}

// hold returns what keeps an alert back whatever its integration, of one that the check is up only quiet hours. Why is "" if nothing does.
func (p Policies) hold(e Event, now time.Time) Decision {
	if e.Kind != Up {
		if w, end := during(p.Windows, e, now); !end.IsZero() {
			why := ByMaintenance
			if w.Kind == Snooze {
				why = BySnooze
			}
			return Decision{Action: Wait, Until: end, Why: why, Name: w.Note}
		}
		if d := p.follow(e, now); d.Why != "" {
			return d
		}
	}
	if p.Quiet == nil {
		return Decision{}
	}
	end, isQuiet := p.Quiet.Until(now)
	if !isQuiet {
		return Decision{}
	}
	return Decision{Action: Wait, Until: end, Why: ByQuiet}
}

// follow waits for a parent that is down, and with an alert that is due before a late parent's deadline for that. After a parent that
// came up, it waits for the follower.
func (p Policies) follow(e Event, now time.Time) Decision {
	for _, parent := range p.Parents {
		until := time.Time{}
		switch {
		case e.Kind == Down && !parent.Late.IsZero():
			until = parent.Late
		case parent.Down:
		case e.Kind != Down || e.Reported.After(parent.Up):
			continue
		default:
			if until = parent.Until(e.Grace); !until.After(now) {
				continue
			}
		}
		if ask := now.Add(AskParent); !until.After(now) || until.After(ask) {
			until = ask
		}
		return Decision{Action: Wait, Until: until, Why: ByParent, Name: parent.Name}
	}
	return Decision{}
}

// escalate waits for the step of the integration, which counts from an instant. An acknowledgement drops reminders, and keeps all steps
// but the first back.
func (p Policies) escalate(e Event, from, now time.Time) Decision {
	after, found := time.Duration(0), false
	for _, step := range p.Steps {
		if slices.Contains(step.Channels, e.Channel) && (!found || step.After < after) {
			after, found = step.After, true
		}
	}
	if p.Ack.Active(now) && (e.Kind == Reminder || after > 0) {
		until := now.Add(AskAck)
		if !p.Ack.Until.IsZero() {
			until = p.Ack.Until
		}
		return Decision{Action: Wait, Until: until, Why: ByAck, Name: p.Ack.By}
	}
	if turn := from.Add(after); after > 0 && now.Before(turn) {
		if ask := now.Add(AskParent); len(p.Parents) > 0 && ask.Before(turn) { // what a parent does meanwhile stops the clock
			turn = ask
		}
		return Decision{Action: Wait, Until: turn, Why: ByStep}
	}
	return Decision{}
}

// during returns the window that keeps an alert back at an instant, or none and the zero time: maintenance before snoozes, and of
// either the one that ends last. end is when no window covers the check any more, because those that overlap or adjoin count as one.
func during(windows []Window, e Event, at time.Time) (by Window, end time.Time) {
	var own time.Time
	for _, w := range windows {
		if !w.Covers(e.Check, e.Tags) {
			continue
		}
		until, in := w.At(at)
		if !in || !until.After(at) {
			continue
		}
		if own.IsZero() || w.Kind != Snooze && by.Kind == Snooze || w.Kind == by.Kind && until.After(own) {
			by, own = w, until
		}
		if until.After(end) {
			end = until
		}
	}
	for i := 0; i < len(windows) && !end.IsZero(); i++ { // recurring windows can go on for ever: ask again somewhen
		before := end
		for _, w := range windows {
			if !w.Covers(e.Check, e.Tags) {
				continue
			}
			if until, in := w.At(before); in && until.After(end) {
				end = until
			}
		}
		if end.Equal(before) {
			break
		}
	}
	return by, end
}
