package checks

import (
	"cmp"
	"fmt"
	"time"

	"github.com/rollcall-dev/rollcall/channels/prose"
	"github.com/rollcall-dev/rollcall/checks/gate"
)

// Bounds of an [AckSpec].
const (
	MinAck     = time.Minute
	MaxAck     = 30 * 24 * time.Hour
	MaxAckNote = 500 // characters
)

// AckSpec says that somebody takes the outage of a check on. Reminders and escalation stop until the check is up again, or
// until a time.
type AckSpec struct {
	// By is who has it, up to 100 characters. A monitor and a server have a name for "": that of who calls them.
	By string
	// For is how long, from 1 minute to 30 days, or 0 for until the check is up again.
	For time.Duration
	// Note is why, or what is being done, up to 500 characters.
	Note string
	// TakeOver replaces the acknowledgement of somebody else.
	TakeOver bool
}

// Validate returns a *[FieldError] for a value out of bounds, by its name in the API: "by", "for" or "note".
func (s AckSpec) Validate() error {
	switch seconds := s.For.Seconds(); {
	case s.For == 0:
	case s.For < MinAck:
		return refuse("for", "is too small: %g, the minimum is %g", seconds, MinAck.Seconds())
	case s.For > MaxAck:
		return refuse("for", "is too large: %.0f, the maximum is %.0f", seconds, MaxAck.Seconds())
	}
	return cmp.Or(validText("by", s.By, MaxName), validText("note", s.Note, MaxAckNote))
}

// Acknowledge acknowledges the outage of a check that is down. The texts lose control characters and line breaks. Who has
// the outage may change the note and the end. Errors: a *[FieldError] for the spec, [ErrNotDown], and one that wraps
// [ErrAcknowledged] and says who has it; nothing has changed then.
func (c Check) Acknowledge(spec AckSpec, now time.Time) (Check, Effects, error) {
	if err := spec.Validate(); err != nil {
		return c, Effects{}, err
	}
	ack := gate.Ack{By: prose.Name(spec.By), Note: prose.Name(spec.Note), At: instant(now)}
	if ack.By == "" {
		return c, Effects{}, refuse("by", "is empty")
	}
	if spec.For > 0 {
		ack.Until = ack.At.Add(spec.For)
	}
	settled, effects := c.Settle(now)
	if settled.Stored != StatusDown {
		return c, Effects{}, ErrNotDown
	}
	switch before := settled.Acknowledged(now); {
	case before.By == ack.By:
		ack.At = before.At
	case before.By != "" && !spec.TakeOver:
		return c, Effects{}, fmt.Errorf("%w by %s since %s", ErrAcknowledged, before.By, prose.Time(before.At, "2006-01-02 15:04", c.TZ))
	}
	settled.Ack, settled.Alerting.Remind = ack, false
	return settled.review(ack.At, &effects), effects, nil
}

// Unacknowledge gives an outage back: a reminder says so, and the escalation policy begins again. Without an acknowledgement it changes nothing.
func (c Check) Unacknowledge(now time.Time) (Check, Effects) {
	c, effects := c.Settle(now)
	if c.Acknowledged(now) != (gate.Ack{}) {
		c.Alerting.Returned, c.Alerting.Remind = instant(now), c.Alerting.Failures == 0
	}
	if !c.Ack.At.IsZero() {
		c.Ack = gate.Ack{}
		c = c.review(instant(now), &effects)
	}
	return c, effects
}

// Acknowledged returns the acknowledgement that holds at an instant, which must not be before the last event, or the zero value.
func (c Check) Acknowledged(now time.Time) gate.Ack {
	if c.Stored == StatusDown && c.Ack.Active(now) {
		return c.Ack
	}
	return gate.Ack{}
}
