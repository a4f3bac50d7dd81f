package gate

import (
	"slices"
	"time"
)

// Clock is the time of an outage, by which the steps of an escalation policy come: it stands while a window, a parent or quiet hours
// keep alerts back, so that steps follow one another with the time between them that the policy says. An acknowledgement that ends
// while the check is down sets it to 0, and so does an alert that a check raises when it has only recorded for a while.
type Clock struct {
	// Zero is the instant from which it counts: when an alert could leave first, later by each wait since.
	Zero time.Time `json:"zero,omitzero"`
	// Asked is when somebody asked last, and Until how long what kept alerts back then would go on, or the zero time if nothing did.
	Asked time.Time `json:"asked,omitzero"`
	Until time.Time `json:"until,omitzero"`
}

// endless is the end of a wait of which only the next question can say that it is over.
const endless = 100 * 365 * 24 * time.Hour

// maxWaits bounds the waits between two questions that count.
const maxWaits = 1000

// clock returns the clock of an outage at an instant, at which d says what keeps its alerts back.
//
// What kept them back at the last question did so until its end, or until now. For the time since, the windows are asked. One that was
// made to begin in the past has kept nothing back before it was made.
func (e Event) clock(p Policies, d Decision, now time.Time) Clock {
	c := e.Clock
	if c.Asked.IsZero() {
		c = Clock{Zero: e.At, Asked: e.At}
	}
	returned := latest(p.Returned, e.At)
	if !p.Ack.At.IsZero() && !p.Ack.Active(now) {
		returned = latest(returned, p.Ack.Until)
	}
	if returned.After(c.Zero) {
		c.Zero, c.Asked = returned, latest(c.Asked, returned)
	}
	at := earliest(latest(c.Asked, c.Until), now)
	c.stand(at)
	for n := 0; n < maxWaits && at.Before(now) && (len(p.Windows) > 0 || p.Quiet != nil); n++ {
		end, next := p.planned(e, at)
		if end.After(at) {
			at = earliest(end, now)
			c.stand(at)
		} else if at = next; next.IsZero() {
			break
		} else if c.Asked = earliest(next, now); at.After(now) {
			break
		}
	}
	c.Asked, c.Until = now, d.Until
	if d.Why == ByParent {
		c.Until = now.Add(endless)
	}
	return c
}

// stand notes that the clock has stood since the last question, which becomes that at an instant.
func (c *Clock) stand(at time.Time) {
	if at.After(c.Asked) {
		c.Zero, c.Asked = c.Zero.Add(at.Sub(c.Asked)), at
	}
}

// planned returns the end of the windows and quiet hours that keep an alert back at an instant, or else when the next of them begin.
func (p Policies) planned(e Event, at time.Time) (end, next time.Time) {
	begins := func(start time.Time, ok bool) {
		if ok && (next.IsZero() || start.Before(next)) {
			next = start
		}
	}
	later := func(w Window) bool { return w.CreatedAt.After(at) }
	_, end = during(slices.DeleteFunc(slices.Clone(p.Windows), later), e, at)
	for _, w := range p.Windows {
		if !end.IsZero() || !w.Covers(e.Check, e.Tags) {
			continue
		}
		start, _, ok := w.Next(at)
		if later(w) {
			start, ok = w.CreatedAt, true
		}
		begins(start, ok)
	}
	if p.Quiet != nil {
		if until, quiet := p.Quiet.Until(at); quiet {
			end = latest(end, until)
		}
		start, _, ok := p.Quiet.Next(at)
		begins(start, ok)
	}
	return end, next
}
