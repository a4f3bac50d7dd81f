package verdict

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/internal/selection"
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
	// Reach says of the channels whether alerts arrive; see [Reaches]. Of one that is missing, only the channel itself decides.
	Reach map[uuid.UUID]Reach
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
	// Receivers are the channels that the alert goes to, each once, and those that do not get it: the channels of the check
	// first, then the members of its groups.
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
	stepReminder = "reminder"
	stepSilenced = "silenced"
)

// Step is one step of a rehearsal.
type Step struct {
	// Kind says what happens. "due": a run is expected. "failure": the job reports a failure. "down": the check goes down.
	// "counted": another failure in a row counts. "held": quiet hours hold the alert until Until. "alert" and "reminder": one
	// is raised. "silenced": quiet hours cancel a reminder, and the next one is due at Until.
	Kind string
	At   time.Time
	// Until is the end of the wait of a step "held" or "silenced".
	Until time.Time
	// Reason says why the check goes down.
	Reason flips.Reason
	// Failures are the failures in a row so far, in a step "down" or "counted". A step that stands for several
	// has the first of them in First.
	Failures, First int
	// Reminder is the number of a reminder, from 1.
	Reminder int
}

// Receiver is a channel in a rehearsal. A group stands for its members, unless the alert ends there.
type Receiver struct {
	ID   uuid.UUID
	Name string
	Kind channels.Kind
	// Group is the name of the group through which the alert arrives, or "".
	Group string
	// Reach says whether the alert arrives.
	Reach
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
	r := Rehearsal{Check: c, Status: c.Status(now), Now: now, Zone: zone, Receivers: Receivers(in.Check, in.Channels, in.Reach)}
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
	return r
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
	end, quiet := after.QuietUntil(at)
	switch {
	case !quiet || len(effects.Alerts) > 0:
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

// Receivers returns the channels that an alert that a check is down goes to, each once, and those that do not get it: the
// channels of the check first, then the members of its groups. available and reach are those of a [RehearseInput].
func Receivers(check checks.Check, available []channels.Channel, reach map[uuid.UUID]Reach) (list []Receiver) {
	seen := make(map[uuid.UUID]bool)
	var groups []channels.Channel
	add := func(c channels.Channel, group string) {
		if seen[c.ID] {
			return
		}
		seen[c.ID] = true
		if c.Kind == channels.Group && c.Wants(channels.Down) && len(membersOf(c, available)) > 0 {
			groups = append(groups, c)
			return
		}
		r, known := reach[c.ID]
		if !known && c.Kind == channels.Group {
			r = Reaches([]channels.Channel{c}, nil)[c.ID]
		} else if !known {
			r = ReachOf(c, Outcome{})
		}
		list = append(list, Receiver{c.ID, line(c.Name, maxName), c.Kind, group, r})
	}
	for _, c := range available {
		if c.Kind == channels.Function || slices.Contains(check.Channels, c.ID) {
			add(c, "")
		}
	}
	for _, g := range groups {
		for _, c := range membersOf(g, available) {
			add(c, line(g.Name, maxName))
		}
	}
	return list
}

// membersOf returns the members of a group that exist.
func membersOf(group channels.Channel, available []channels.Channel) (list []channels.Channel) {
	members := selection.Members(group)
	for _, c := range available {
		if slices.Contains(members, c.ID) {
			list = append(list, c)
		}
	}
	return list
}

// Label returns the name of the channel, or else its kind.
func (r Receiver) Label() string { return r.part().Text }

func (r Receiver) part() Part { return Delivery{Name: r.Name, Kind: r.Kind}.part() }

// Words says what becomes of the alert at the channel, at a time in a zone, or in that of the check for nil: "notified",
// "sends recovery alerts only".
func (r Rehearsal) Words(to Receiver, zone *time.Location) string {
	return r.text(to.Reach.Words(), zone)
}

// LastWords says when an alert was delivered to a channel last, or given up after that.
func (r Rehearsal) LastWords(to Receiver, zone *time.Location) string {
	switch {
	case !to.GaveUp.IsZero():
		return "last alert failed " + r.at(to.GaveUp, zone)
	case !to.Delivered.IsZero():
		return "last alert sent " + r.at(to.Delivered, zone)
	case to.Waiting > 0:
		return "no alert sent yet"
	}
	return "no alert yet"
}

// text writes a sentence.
func (r Rehearsal) text(s Sentence, zone *time.Location) string {
	var b strings.Builder
	for _, p := range s {
		b.WriteString(r.words(p, zone))
	}
	return b.String()
}

// time writes an instant, and at one at which something happens.
func (r Rehearsal) time(t time.Time, zone *time.Location) string { return r.words(since(t), zone) }
func (r Rehearsal) at(t time.Time, zone *time.Location) string   { return r.words(when(t), zone) }

func (r Rehearsal) words(p Part, zone *time.Location) string {
	return Verdict{Now: r.Now, Zone: r.Zone, TwelveHours: r.TwelveHours}.Words(p, zone)
}

// Problem says why the alert reaches nobody, or is "" if it reaches somebody. It has no full stop.
func (r Rehearsal) Problem() string {
	switch {
	case slices.ContainsFunc(r.Receivers, Receiver.Reached):
		if r.AlertAt.IsZero() && r.Status != checks.StatusDown {
			return "no further run is expected"
		}
		return ""
	case len(r.Receivers) == 0:
		return "no integrations"
	}
	var why []string
	for _, to := range r.Receivers[:min(len(r.Receivers), maxListed)] {
		why = append(why, to.Label()+r.text(to.clause(), nil))
	}
	return strings.Join(why, "; ")
}

// Doubt says why the alert may reach nobody although it is sent: every channel that it goes to fails. It is "" otherwise.
func (r Rehearsal) Doubt() string {
	var why []string
	for _, to := range r.Receivers {
		if to.Delivers() {
			return ""
		} else if to.Reached() {
			why = append(why, to.Label()+r.text(to.clause(), nil))
		}
	}
	return strings.Join(why[:min(len(why), maxListed)], "; ")
}

// names lists those that the alert goes to.
func (r Rehearsal) names() string {
	var list []Delivery
	for _, to := range r.Receivers {
		if to.Reached() {
			list = append(list, Delivery{Name: to.Name, Kind: to.Kind})
		}
	}
	var b strings.Builder
	for _, p := range names(list) {
		b.WriteString(p.Text)
	}
	return b.String()
}

// Summary is the whole in one sentence, in a zone or in that of the check for nil: who is notified, and when.
func (r Rehearsal) Summary(zone *time.Location) string {
	condition := "If it does not report"
	if len(r.Steps) > 0 && r.Steps[0].Kind == stepFailure {
		condition = "If it fails now"
	}
	if r.Assumed {
		condition = map[checks.Status]string{checks.StatusPaused: "It is paused, so nothing would happen. Once it is resumed: i", checks.StatusNew: "It waits for its first ping, so nothing would happen. After that: i"}[r.Status] + condition[1:]
	}
	reached := r.names()
	switch {
	case reached == "":
		return condition + ", no one is notified: " + r.Problem() + "."
	case r.AlertAt.IsZero() && r.Status == checks.StatusDown:
		return r.further(reached, zone)
	case r.AlertAt.IsZero():
		return condition + ", no one is notified: " + r.Problem() + "."
	}
	text := fmt.Sprintf("%s, %s %s notified %s", condition, reached, isOrAre(r.Receivers), r.at(r.AlertAt, zone))
	for _, s := range r.Steps {
		if wait := r.AlertAt.Sub(s.At); s.Kind == stepDown && wait > 0 {
			text += ", " + Duration(wait) + " after it goes down"
			break
		}
	}
	return text + "."
}

// further says which reminder follows the alert that was raised.
func (r Rehearsal) further(reached string, zone *time.Location) string {
	for _, s := range r.Steps {
		if s.Kind == stepReminder {
			return "It is down already. The next reminder goes to " + reached + " " + r.at(s.At, zone) + "."
		}
	}
	return "It is down already, and nothing more is sent until it recovers."
}

func isOrAre(list []Receiver) string {
	n := 0
	for _, to := range list {
		if to.Reached() {
			n++
		}
	}
	if n == 1 {
		return "is"
	}
	return "are"
}

// Text says what happens at a step, in a zone or in that of the check for nil.
func (r Rehearsal) Text(s Step, zone *time.Location) string {
	after := max(r.Check.AlertAfter, 1)
	switch s.Kind {
	case stepDue:
		return "A run is expected."
	case stepFailure:
		return "The job reports a failure."
	case stepDown:
		return "The check goes down: " + r.why(s.Reason) + r.counts(1, after)
	case stepCounted:
		if s.First < s.Failures {
			return fmt.Sprintf("Failures %d to %d of %d in a row.", s.First, s.Failures, after)
		}
		return fmt.Sprintf("Failure %d of %d in a row.", s.Failures, after)
	case stepHeld:
		return "Quiet hours hold the alert until " + r.time(s.Until, zone) + "."
	case stepSilenced:
		return "Quiet hours cancel the reminder; the next one is due " + r.at(s.Until, zone) + "."
	case stepReminder:
		return fmt.Sprintf("Reminder %d is sent; another follows every %s.", s.Reminder, Period(r.Check.RepeatEvery))
	}
	if reached := r.names(); reached != "" {
		return "The alert is sent to " + reached + "."
	}
	return "The alert is raised and reaches no one."
}

// why says why the check goes down.
func (r Rehearsal) why(reason flips.Reason) string {
	switch reason {
	case flips.Overrun:
		return "a run in progress has taken longer than " + Period(r.Check.RunLimit()) + "."
	case flips.Failure:
		return "the job reported a failure."
	}
	return "nothing was reported within the grace of " + Period(r.Check.Grace) + "."
}

// counts says which of the failures in a row that an alert needs this is.
func (r Rehearsal) counts(n, after int) string {
	if after == 1 {
		return ""
	}
	return fmt.Sprintf(" This is failure %d of %d in a row, so no alert is sent yet.", n, after)
}
