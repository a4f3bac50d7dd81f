package verdict

import (
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/gate"
	"github.com/rollcall-dev/rollcall/checks/schedule"
	"github.com/rollcall-dev/rollcall/flips"
	"github.com/rollcall-dev/rollcall/pings"
)

// RehearseInput is what a rehearsal is made of. Only Check and Now are required.
type RehearseInput struct {
	// Check is the check with its Channels.
	Check checks.Check
	// Now is the current time.
	Now time.Time
	// Failure makes the job report a failure now. Otherwise it does not report any more.
	Failure bool
	// Channels are the channels of the project: groups and their members, too. One of the kind [channels.Function] gets the
	// alerts of every check.
	Channels []channels.Channel
	// Reach says of the channels whether alerts arrive, and when by the escalation policy; see [Reaches]. Of one that is missing, only the channel itself decides.
	Reach map[uuid.UUID]Reach
	// Windows are the maintenance windows and snoozes of the project.
	Windows []gate.Window
	// Parents are the checks that the check follows, as they are now.
	Parents []gate.Parent
	// Waiting are the alerts about an outage that goes on that have not left yet, each to its Channel.
	Waiting []gate.Event
}

// Rehearsal says what happens if a job does not report any more, or reports a failure now.
type Rehearsal struct {
	// Check is the check as it was before, and Status its status at Now.
	Check  checks.Check
	Status checks.Status
	Now    time.Time
	// Zone is the time zone of the check, UTC if that is unknown.
	Zone *time.Location
	// TwelveHours writes times of day as "3:04 pm", for readers whose clock has 12 hours.
	TwelveHours bool
	// Assumed reports that the check is not watched now, because it is paused or was never pinged. The steps are those that
	// follow if it succeeds now, or is resumed for the failure.
	Assumed bool
	// Steps are what happens, in order, up to the second reminder. There are none if nothing can happen any more.
	Steps []Step
	// AlertAt is when the alert is raised, or the zero time if none is.
	AlertAt time.Time
	// Parents are the checks that the check follows, as they were.
	Parents []gate.Parent
	// Receivers are the channels that the alert goes to, each once, and those that do not get it: the channels of the check
	// first, then the members of its groups. A record-only check has none.
	Receivers []Receiver
}

// The kinds of steps.
const (
	stepDue      = "due"
	stepFailure  = "failure"
	stepDown     = "down"
	stepCounted  = "counted"
	stepHeld     = "held"
	stepAlert    = "alert"
	stepEscalate = "escalation"
	stepReminder = "reminder"
	stepSilenced = "silenced"
	stepRecorded = "record_only"
)

// Step is one step of a rehearsal.
type Step struct {
	// Kind says what happens. "due": a run is expected. "failure": the job reports a failure. "down": the check goes down.
	// "counted": another failure in a row counts. "held": By holds the alert until Until. "alert" and "reminder": one
	// is raised. "escalation": a later step of the escalation policy follows. "silenced": By cancels a reminder, and the
	// next one is due at Until, or by RepeatEvery. "record_only": no alert follows, because the check only records.
	Kind string
	At   time.Time
	// Until is the end of the wait of a step "held" or "silenced". It is the zero time if nobody knows it: a parent is down.
	Until time.Time
	// By is what holds the alert or cancels a reminder: maintenance, a snooze, a parent, or "" for quiet hours. Note is the note of the
	// window, or the name of the parent.
	By   gate.Why
	Note string
	// Reason says why the check goes down.
	Reason flips.Reason
	// Failures are the failures in a row so far, in a step "down" or "counted". A step that stands for several
	// has the first of them in First.
	Failures, First int
	// Reminder is the number of a reminder, from 1.
	Reminder int
	// After is how long after the alert a step "escalation" follows, by the policy. What keeps alerts back may delay it.
	After time.Duration
	// To are the receivers of an alert that waits already. Otherwise it goes to all whose step it is.
	To []uuid.UUID
}

const (
	maxReminders = 2   // reminders of a rehearsal
	maxWakes     = 500 // changes of a rehearsal: 100 failures in a row, and some
)

// Rehearse says what happens if the job of a check does not report any more, or reports a failure now. It runs the state
// machine forward: [checks.Check.Settle] at each [checks.Check.Wake].
func Rehearse(in RehearseInput) Rehearsal {
	now := in.Now.UTC().Truncate(time.Microsecond)
	zone, err := schedule.LoadLocation(in.Check.TZ)
	if err != nil {
		zone = time.UTC
	}
	c, _ := in.Check.Settle(now)
	r := Rehearsal{Check: c, Status: c.Status(now), Now: now, Zone: zone, Receivers: Receivers(in.Check, in.Channels, in.Reach), Parents: in.Parents}
	if c.RecordOnly {
		r.Receivers = nil
	}
	c, r.Assumed = watched(c, in.Failure, now)
	if in.Failure {
		r.add(Step{Kind: stepFailure, At: now})
		before := c
		if failed, _, effects, err := c.Ping(pings.Signal{Kind: pings.Failure}, now); err == nil {
			c = failed
			r.follow(before, c, effects, now)
		}
	} else if due := c.NextPing(now); !due.IsZero() && !c.Deadline().Before(due) { // a run in progress may time out before
		r.add(Step{Kind: stepDue, At: due})
	}
	reminders := 0
	for range maxWakes {
		wake := c.Wake()
		if wake.IsZero() || reminders == maxReminders {
			break
		}
		before := c
		var effects checks.Effects
		c, effects = c.Settle(wake)
		reminders += r.follow(before, c, effects, wake)
	}
	r.escalate(in, r.wait(in.Windows))
	r.release(in)
	return r
}

// escalate adds the later steps of the escalation policy for an alert that is raised at an instant.
func (r *Rehearsal) escalate(in RehearseInput, raised time.Time) {
	if r.AlertAt.IsZero() {
		return
	}
	in.Parents = nil // nobody knows how they will be then
	for _, after := range r.later() {
		if at, d := r.leaves(in, gate.Event{At: raised, Channel: r.reached(after)[0].ID}, raised); d.Action == gate.Send {
			r.Steps = append(r.Steps, Step{Kind: stepEscalate, At: at, After: after})
		}
	}
	slices.SortStableFunc(r.Steps, func(a, b Step) int { return a.At.Compare(b.At) })
}

// release adds when the alerts leave that wait already, and what holds them.
func (r *Rehearsal) release(in RehearseInput) {
	if r.Status != checks.StatusDown {
		return
	}
	for _, e := range in.Waiting {
		i := slices.IndexFunc(r.Receivers, func(to Receiver) bool { return to.ID == e.Channel && to.Reached() })
		if i < 0 {
			continue
		}
		after := r.Receivers[i].After
		at, d := r.leaves(in, e, r.Now)
		s := Step{Kind: stepAlert, At: at, After: after, To: []uuid.UUID{e.Channel}}
		if after > 0 {
			s.Kind = stepEscalate
		}
		if d.Action != gate.Send {
			s.Kind, s.By, s.Note, s.After = stepHeld, d.Why, d.Name, 0
		}
		same := slices.IndexFunc(r.Steps, func(other Step) bool {
			return len(other.To) > 0 && other.Kind == s.Kind && other.At.Equal(at) && other.After == s.After && other.By == s.By && other.Note == s.Note
		})
		if same >= 0 {
			r.Steps[same].To = append(r.Steps[same].To, e.Channel)
		} else {
			r.Steps = append(r.Steps, s)
		}
	}
	slices.SortStableFunc(r.Steps, func(a, b Step) int { return a.At.Compare(b.At) })
}

// leaves asks the gate about an alert that the check is down at an instant, and then always when it says to ask again, until the alert
// leaves or waits for what has no end. It returns the last instant and the decision.
func (r *Rehearsal) leaves(in RehearseInput, e gate.Event, at time.Time) (time.Time, gate.Decision) {
	p := r.Check.Policies()
	p.AlertAfter, p.Windows, p.Parents = 0, in.Windows, in.Parents
	for _, to := range r.Receivers {
		if to.After > 0 {
			p.Steps = append(p.Steps, gate.Step{After: to.After, Channels: []uuid.UUID{to.ID}})
		}
	}
	e.Kind, e.Check, e.Tags, e.Grace = gate.Down, r.Check.ID, r.Check.TagList(), r.Check.Grace
	var d gate.Decision
	for range maxWaits {
		if d = gate.Decide(e, p, at); d.Action != gate.Wait || d.Why == gate.ByParent || d.Why == gate.ByAck && p.Ack.Until.IsZero() {
			break
		}
		if at, e.Clock = d.Until, d.Clock; d.Why == gate.ByStep && len(p.Parents) > 0 {
			p.Parents = nil // none holds it now
		}
	}
	return at, d
}

// watched returns the check as it has to be for something to happen: resumed, and after a success.
func watched(c checks.Check, failure bool, now time.Time) (_ checks.Check, assumed bool) {
	if c.Stored == checks.StatusPaused {
		if resumed, err := c.Resume(now); err == nil {
			c, assumed = resumed, true
		}
	}
	if !failure && c.Stored == checks.StatusNew && c.Deadline().IsZero() {
		if pinged, _, _, err := c.Ping(pings.Signal{}, now); err == nil {
			c, assumed = pinged, true
		}
	}
	return c, assumed
}

// follow adds the steps of one change of the check, and returns the number of reminders among them.
func (r *Rehearsal) follow(before, after checks.Check, effects checks.Effects, at time.Time) (reminders int) {
	went, a := false, after.Alerting
	for _, t := range effects.Transitions {
		if went = t.To == checks.StatusDown; went {
			r.add(Step{Kind: stepDown, At: t.At, Reason: t.Reason, Failures: 1})
		}
	}
	if went && after.RecordOnly {
		r.add(Step{Kind: stepRecorded, At: at})
		return 0
	}
	waited := before.Stored == checks.StatusDown && before.Alerting.Failures > 0
	if n := before.Alerting.Failures + 1; waited && n <= after.AlertAfter && before.Alerting.HeldSince.IsZero() {
		r.add(Step{Kind: stepCounted, At: at, Failures: n, First: n})
	}
	for _, alert := range effects.Alerts {
		kind := stepAlert
		if alert.Reminder > 0 {
			kind, reminders = stepReminder, reminders+1
		} else if r.AlertAt.IsZero() {
			r.AlertAt = alert.RaisedAt
		}
		r.add(Step{Kind: kind, At: alert.RaisedAt, Reminder: alert.Reminder})
	}
	held := gate.Decide(gate.Event{Kind: gate.Up}, after.Policies(), at) // only quiet hours keep that back
	switch end := held.Until; {
	case held.Action != gate.Wait || len(effects.Alerts) > 0:
	case a.Failures > 0 && !a.HeldSince.IsZero() && a.Next.Equal(end):
		r.add(Step{Kind: stepHeld, At: at, Until: end})
	case a.Failures == 0 && before.Stored == checks.StatusDown && after.RepeatEvery > 0 && a.Next.After(before.Alerting.Next):
		r.add(Step{Kind: stepSilenced, At: at, Until: a.Next})
		reminders++
	}
	return reminders
}

// add adds a step. The third and further ones of failures that only count become one.
func (r *Rehearsal) add(s Step) {
	if n := len(r.Steps); s.Kind == stepCounted && n > 1 && r.Steps[n-1].Kind == stepCounted && r.Steps[n-2].Kind == stepCounted {
		s.First = r.Steps[n-1].First
		r.Steps[n-1] = s
		return
	}
	r.Steps = append(r.Steps, s)
}
