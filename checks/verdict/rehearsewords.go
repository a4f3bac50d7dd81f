package verdict

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels/prose"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/flips"
)

// Words says what becomes of the alert at the channel, at a time in a zone, or in that of the check for nil: "notified",
// "sends recovery alerts only", "after 15 min: notified".
func (r Rehearsal) Words(to Receiver, zone *time.Location) string {
	words := r.text(to.Reach.Words(), zone)
	if to.After > 0 {
		words = checks.StepText(to.After) + ": " + words
	}
	return words
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
	case r.Check.RecordOnly:
		return "record-only"
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

// reached returns those that the alert goes to a time after it was raised, as the escalation policy has it.
func (r Rehearsal) reached(after time.Duration) (list []Receiver) {
	return slices.DeleteFunc(slices.Clone(r.Receivers), func(to Receiver) bool { return !to.Reached() || to.After != after })
}

// later returns the times at which further channels get the alert, counted from when it was raised.
func (r Rehearsal) later() (times []time.Duration) {
	for _, to := range r.Receivers {
		if to.Reached() && to.After > 0 {
			times = append(times, to.After)
		}
	}
	return slices.Compact(times) // receivers are in this order
}

// namesOf lists the names of channels.
func namesOf(receivers []Receiver) string {
	labels := make([]Part, len(receivers))
	for i, to := range receivers {
		labels[i] = to.part()
	}
	var b strings.Builder
	for _, p := range names(labels) {
		b.WriteString(p.Text)
	}
	return b.String()
}

// Summary is the whole in one sentence, in a zone or in that of the check for nil: who is notified, and when.
func (r Rehearsal) Summary(zone *time.Location) string {
	condition, event := "If it ", "does not report"
	if len(r.Steps) > 0 && r.Steps[0].Kind == stepFailure {
		event = "fails now"
	}
	if r.Assumed && r.Status == checks.StatusPaused {
		condition = "It is paused, so nothing would happen. Once it is resumed: if it "
	} else if r.Assumed {
		condition = "It waits for its first ping, so nothing would happen. After that: if it "
	}
	condition += event
	first := r.reached(0)
	later := r.later()
	if len(first) == 0 && len(later) > 0 {
		first, later = r.reached(later[0]), later[1:]
	}
	switch {
	case len(first) > 0 && r.AlertAt.IsZero() && !r.Check.RecordOnly && r.Status == checks.StatusDown:
		return r.further(zone)
	case r.Check.RecordOnly && r.Status == checks.StatusDown:
		return "It is down already. It never alerts: record-only."
	case len(first) == 0 || r.AlertAt.IsZero():
		return condition + ", no one is notified: " + r.Problem() + "."
	}
	at := r.sentAt(first[0].After)
	text := fmt.Sprintf("%s, %s %s notified %s", condition, namesOf(first), isOrAre(first), r.at(at, zone))
	for _, s := range r.Steps {
		if wait := at.Sub(s.At); s.Kind == stepDown && wait > 0 {
			text += ", " + prose.Duration(wait) + " after it goes down"
			break
		}
	}
	unless := ". Unless somebody acknowledges it, "
	if first[0].After > 0 {
		text, unless = text+", unless somebody acknowledges it before", ". After that, "
	}
	for i, after := range later {
		if i > 0 {
			unless = ", then "
		}
		text += unless + namesOf(r.reached(after)) + " " + r.at(r.sentAt(after), zone)
	}
	if because := blocking(r.Parents); because != "" {
		text += ". The alert waits as long as " + because
	}
	return text + "."
}

// unless says which parents keep an alert back, or would.
func (r Rehearsal) unless() string {
	if because := blocking(r.Parents); because != "" {
		return ", but not as long as " + because
	}
	if len(r.Parents) == 0 {
		return ""
	}
	names := make([]string, len(r.Parents))
	for i, p := range r.Parents {
		names[i] = prose.Line(p.Name, maxName)
	}
	return ", unless " + strings.Join(cut(names), " or ") + " is down or late then: it waits for that"
}

// sentAt returns when the alert is sent to those of a step of the escalation policy.
func (r Rehearsal) sentAt(after time.Duration) time.Time {
	for _, s := range r.Steps {
		if s.Kind == stepEscalate && s.After == after {
			return s.At
		}
	}
	return r.AlertAt
}

// further says who is notified next of an outage that is going on.
func (r Rehearsal) further(zone *time.Location) string {
	for _, s := range r.Steps {
		to := r.receivers(s.To)
		switch {
		case s.Kind == stepHeld && len(to) > 0:
			return "It is down already. " + r.waitText(s, zone)
		case s.Kind == stepAlert && len(to) > 0:
			return "It is down already. The alert to " + namesOf(to) + " waits, and is sent " + r.at(s.At, zone) + "."
		case s.Kind == stepEscalate && len(to) > 0:
			return "It is down already. Unless somebody acknowledges it, " + namesOf(to) + " " + isOrAre(to) + " notified " + r.at(s.At, zone) + "."
		case s.Kind == stepReminder:
			return "It is down already. The next reminder goes to " + namesOf(r.everyone()) + " " + r.at(s.At, zone) + "."
		}
	}
	return "It is down already, and nothing more is sent until it recovers."
}

// receivers returns those with some IDs.
func (r Rehearsal) receivers(ids []uuid.UUID) []Receiver {
	return slices.DeleteFunc(slices.Clone(r.Receivers), func(to Receiver) bool { return !slices.Contains(ids, to.ID) })
}

// everyone returns all that the alert goes to.
func (r Rehearsal) everyone() []Receiver {
	return slices.DeleteFunc(slices.Clone(r.Receivers), func(to Receiver) bool { return !to.Reached() })
}

func isOrAre(list []Receiver) string {
	if len(list) == 1 {
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
		text := "The check goes down: " + r.why(s.Reason)
		if after > 1 {
			text += fmt.Sprintf(" This is failure 1 of %d in a row, so no alert is sent yet.", after)
		}
		return text
	case stepCounted:
		if s.First < s.Failures {
			return fmt.Sprintf("Failures %d to %d of %d in a row.", s.First, s.Failures, after)
		}
		return fmt.Sprintf("Failure %d of %d in a row.", s.Failures, after)
	case stepHeld, stepSilenced:
		return r.waitText(s, zone)
	case stepRecorded:
		return "No alert is raised: the check is record-only."
	case stepReminder:
		return fmt.Sprintf("Reminder %d is sent; another follows every %s.", s.Reminder, prose.Period(r.Check.RepeatEvery))
	}
	reached := r.reached(s.After)
	if len(s.To) > 0 {
		reached = r.receivers(s.To)
	}
	switch {
	case s.After > 0:
		return "Unless somebody has acknowledged it, the alert is sent to " + namesOf(reached) + "."
	case len(reached) > 0:
		return "The alert is sent to " + namesOf(reached) + r.unless() + "."
	case len(r.later()) > 0:
		return "The alert is raised. The escalation policy notifies no one at once."
	}
	return "The alert is raised and reaches no one."
}

// why says why the check goes down.
func (r Rehearsal) why(reason flips.Reason) string {
	switch reason {
	case flips.Overrun:
		return "a run in progress has taken longer than " + prose.Period(r.Check.RunLimit()) + "."
	case flips.Failure:
		return "the job reported a failure."
	}
	return "nothing was reported within the grace of " + prose.Period(r.Check.Grace) + "."
}
