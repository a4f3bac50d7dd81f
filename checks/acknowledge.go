package checks

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels/prose"
	"github.com/rollcall-dev/rollcall/checks/gate"
)

// Bounds of an [AckSpec].
const (
	MinAck     = time.Minute
	MaxAck     = 30 * 24 * time.Hour
	MaxAckNote = 500 // characters
)

// MaxAckChecks is how many checks an [AckQuery] may name.
const MaxAckChecks = 10_000

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

// AckQuery selects the outages that [Manager.AcknowledgeMany] acknowledges: those of the checks that are down and that match all
// fields that are set. Without any, it must have All, so that a filter that somebody forgot does not acknowledge everything.
type AckQuery struct {
	// Slug selects the checks with a slug, up to 100 characters, unless it is "".
	Slug string
	// Tags, unless nil, selects the checks with all of these tags, compared as whole words: up to 500 characters, with one blank
	// between two.
	Tags []string
	// IDs, unless nil, selects the checks with these, up to 10,000. One that is not in the project selects nothing.
	IDs []uuid.UUID
	// All selects all checks of the project. It excludes the other fields.
	All bool
}

// Validate returns a *[FieldError] for a query that selects nothing, contradicts itself or is too long, by its name in the API:
// "slug", "tags", "checks" or "all".
func (q AckQuery) Validate() error {
	filter := ""
	switch {
	case q.IDs != nil:
		filter = "checks"
	case q.Tags != nil:
		filter = "tags"
	case q.Slug != "":
		filter = "slug"
	}
	switch {
	case q.IDs != nil && len(q.IDs) == 0:
		return refuse("checks", "is empty")
	case len(q.IDs) > MaxAckChecks:
		return refuse("checks", "has %d items, the maximum is %d", len(q.IDs), MaxAckChecks)
	case q.Tags != nil && len(q.Tags) == 0, slices.Contains(q.Tags, ""):
		return refuse("tags", "is empty")
	case filter != "" && q.All:
		return refuse(filter, "and all exclude each other")
	case filter == "" && !q.All:
		return refuse("all", "must be true if neither slug, tags nor checks is set")
	}
	return cmp.Or(validText("slug", q.Slug, MaxSlug), validText("tags", strings.Join(q.Tags, " "), maxTags)) // no check has longer ones
}

// Matches reports whether the query selects a check, apart from IDs.
func (q AckQuery) Matches(s Settings) bool {
	return (q.Slug == "" || q.Slug == s.Slug) && s.HasTags(q.Tags)
}

// AckReport is what became of the outages that an [AckQuery] selected, each list oldest check first. Both are empty if none of the
// checks is down.
type AckReport struct {
	// Acknowledged are the checks whose outages are acknowledged now, and those that the same person had already.
	Acknowledged []Snapshot
	// Taken are the checks whose outages somebody else has. They did not change.
	Taken []Snapshot
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
