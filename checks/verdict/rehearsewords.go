package verdict

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rollcall-dev/rollcall/channels/prose"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/flips"
)

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
	var labels []Part
	for _, to := range r.Receivers {
		if to.Reached() {
			labels = append(labels, to.part())
		}
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
	reached := r.names()
	switch {
	case reached != "" && r.AlertAt.IsZero() && r.Status == checks.StatusDown:
		return r.further(reached, zone)
	case reached == "" || r.AlertAt.IsZero():
		return condition + ", no one is notified: " + r.Problem() + "."
	}
	text := fmt.Sprintf("%s, %s %s notified %s", condition, reached, isOrAre(r.Receivers), r.at(r.AlertAt, zone))
	for _, s := range r.Steps {
		if wait := r.AlertAt.Sub(s.At); s.Kind == stepDown && wait > 0 {
			text += ", " + prose.Duration(wait) + " after it goes down"
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
	case stepHeld:
		return "Quiet hours hold the alert until " + r.time(s.Until, zone) + "."
	case stepSilenced:
		return "Quiet hours cancel the reminder; the next one is due " + r.at(s.Until, zone) + "."
	case stepReminder:
		return fmt.Sprintf("Reminder %d is sent; another follows every %s.", s.Reminder, prose.Period(r.Check.RepeatEvery))
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
		return "a run in progress has taken longer than " + prose.Period(r.Check.RunLimit()) + "."
	case flips.Failure:
		return "the job reported a failure."
	}
	return "nothing was reported within the grace of " + prose.Period(r.Check.Grace) + "."
}
