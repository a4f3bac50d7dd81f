package courier

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/gate"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
	"github.com/rollcall-dev/rollcall/checks/verdict"
	"github.com/rollcall-dev/rollcall/flips"
	"github.com/rollcall-dev/rollcall/pings"
	"github.com/rollcall-dev/rollcall/pings/text"
)

// bodyTime bounds reading a body from object storage. After that, the alert goes out without the body.
const bodyTime = 5 * time.Second

// notification returns the content of an alert for a notifier.
func (c *Courier) notification(ctx context.Context, a store.Alert, say func(output []byte) string) channels.Notification {
	body, end, output := c.output(ctx, a)
	name := fmt.Sprintf("delivery/%d/%d/%s", cmp.Or(a.Origin, a.ID), a.CreatedAt.UnixMicro(), a.Channel.ID)
	n := channels.Notification{
		// The instant is a part of the ID, because a new database with the same checks reuses the numbers of deliveries.
		ID:       uuid.NewSHA1(a.Check.ID, []byte(name)).String(),
		Check:    c.describe(a.Check, a.Project),
		Status:   status(a.Flip.Up),
		At:       a.Flip.At,
		Ping:     channels.Ping{At: a.Ping.At, Kind: string(a.Ping.Kind), ExitStatus: a.Ping.ExitStatus, BodyCut: a.Ping.BodyCut},
		Reason:   reasonText(a.Flip, a.Ping),
		Verdict:  say(output),
		Reminder: a.Reminder,
		Done:     slices.Concat(a.Done, a.Handed, a.Apart), Recipient: a.Recipient,
	}
	if causedBy(a.Flip, a.Ping) {
		n.Cause = verdict.Cause(withOutput(a.Ping, output))
	}
	down := a.Flip.At
	switch {
	case a.Flip.At.IsZero(): // the flip was pruned
		n.At, n.Reason = a.CreatedAt, "the check has been down for months"
	case a.Flip.Up:
		if !a.DownAt.IsZero() {
			down = a.DownAt
			n.DownFor = max(0, a.Flip.At.Sub(a.DownAt)) // the clock may have been set back
		}
	default:
		n.Over = a.UpAt
	}
	n.Incident = incidentID(a.Check.ID, down)
	if a.Close != "" {
		n.Closed, n.Status, n.Reason, n.Cause, n.Verdict = true, channels.Up, a.Close, "", ""
		if !a.Flip.Up {
			n.At, n.Over = a.CreatedAt, time.Time{}
			n.DownFor = max(0, n.At.Sub(down))
		}
	}
	for _, flip := range a.Earlier {
		n.Earlier = append(n.Earlier,
			channels.Change{Status: status(flip.Up), At: flip.At, Reason: reasonText(flip, pings.Ping{})})
	}
	if a.Ping.Duration != nil {
		n.Ping.Duration = *a.Ping.Duration
	}
	n.Ping.Body, n.Ping.End = body, end
	ongoing := a.Check.Stored == checks.StatusDown && a.Check.StoredSince.Equal(a.Flip.At) && a.Close == ""
	if c.AckLink != nil && ongoing && !a.Check.Ack.Active(c.Now()) {
		n.AckURL = c.AckLink(ctx, a.Check)
	}
	return n
}

// status returns the status that a flip leads to.
func status(up bool) channels.Status {
	if up {
		return channels.Up
	}
	return channels.Down
}

// verdicts holds the verdicts of alerts that were read together: an alert that goes to several channels has one.
type verdicts map[subject]func(output []byte) string

// subject is what an alert is about.
type subject struct {
	check    uuid.UUID
	flip     store.AlertFlip
	reminder int
	step     bool   // it has waited for its step of the escalation policy
	parent   string // the parent for which it has waited
}

// of returns a function that says in words what an alert is about, for the output of its ping.
func (v verdicts) of(a store.Alert, now func() time.Time) func(output []byte) string {
	about := subject{check: a.Check.ID, flip: a.Flip, reminder: a.Reminder}
	if a.Reminder == 0 && !a.Flip.Up {
		if about.step = a.Held == gate.ByStep || a.Held == gate.ByAck; a.Held == gate.ByParent {
			about.parent = a.HeldBy
		}
	}
	if v[about] == nil {
		var once sync.Once
		var text string
		v[about] = func(output []byte) string {
			once.Do(func() { text = explain(a, output, about, now()) })
			return text
		}
	}
	return v[about]
}

// explain says in words what an alert is about.
func explain(a store.Alert, output []byte, about subject, now time.Time) string {
	if a.Flip.At.IsZero() { // it was pruned
		return ""
	}
	in := verdict.Input{Check: a.Check, Now: now, Waited: about.parent}
	if a.Ping.N > 0 {
		in.Pings = []pings.Ping{withOutput(a.Ping, output)}
	}
	flip := verdict.Flip{
		Transition: checks.Transition{To: checks.StatusDown, At: a.Flip.At, Reason: a.Flip.Reason}, DownAt: a.DownAt, UpAt: a.UpAt,
	}
	if a.Flip.Up {
		flip.To = checks.StatusUp
	}
	if about.step {
		in.Unanswered = now.Sub(a.CreatedAt)
	}
	return verdict.ForAlert(in, flip, a.Reminder).Text(nil)
}

// describe returns the description of a check for alerts.
func (c *Courier) describe(check checks.Check, project string) channels.Check {
	d := channels.Check{
		ID: check.ID, Name: check.DisplayName(), Slug: check.Slug, Tags: slices.Clone(check.Tags), Desc: check.Desc,
		Project: project, Timing: timing(check), TZ: check.TZ, NPings: check.NPings,
	}
	if c.Link != nil {
		d.URL = c.Link(check, project)
	}
	return d
}

// withOutput returns a ping whose body is an output.
func withOutput(p pings.Ping, output []byte) pings.Ping {
	p.Body, p.BodySize, p.BodyCut, p.BodyCharset = output, int64(len(output)), 0, ""
	return p
}

// output returns the beginning and the end of the last ping's body, and the whole lines of both as one text. They are in UTF-8
// unless nobody can read them, and nil if object storage does not return the body in time. A message that came by e-mail has no
// end: its last lines are seldom those of its text.
func (c *Courier) output(ctx context.Context, a store.Alert) (body, end, lines []byte) {
	p, tail := a.Ping, a.BodyEnd
	if p.BodyKey != "" && c.Body != nil {
		limited, cancel := context.WithTimeout(ctx, bodyTime)
		defer cancel()
		stored, err := c.Body(limited, p)
		if err != nil {
			if ctx.Err() == nil && c.passes(&c.bodiless) {
				c.Log.WarnContext(ctx, "an alert goes without the body of the last ping", "check", a.Check.ID, "error", err)
			}
			return nil, nil, nil
		}
		p.Body = stored[:min(len(stored), channels.MaxBody)]
		tail = bytes.Clone(stored[max(0, len(stored)-store.AlertEnd):])
	}
	if p.Scheme == "email" || len(p.Body) == 0 {
		return p.Body, nil, p.Body
	}
	first, last, ok := text.Parts(p, tail)
	switch {
	case !ok:
		return p.Body, tail[max(0, len(tail)-channels.MaxEnd):], nil
	case p.BodySize > int64(len(p.Body)) || p.BodyCut > 0: // what is between them is missing
		lines = []byte(text.Uncut(first, last))
	default:
		lines = []byte(first)
	}
	return text.First(first, channels.MaxBody), text.Last(last, channels.MaxEnd), lines
}

// incidentID identifies the outage of a check that began at an instant.
func incidentID(check uuid.UUID, down time.Time) string {
	return uuid.NewSHA1(check, fmt.Appendf(nil, "incident/%d", down.UnixMicro())).String()
}

// causedBy reports whether a check went down because of the failure that its last ping reported.
func causedBy(flip store.AlertFlip, last pings.Ping) bool {
	return flip.Reason == flips.Failure && last.Kind == pings.Failure && last.At.Equal(flip.At)
}

// reasonText says why a check went up or down. It includes the exit status of the last ping if that ping caused the flip.
func reasonText(flip store.AlertFlip, last pings.Ping) string {
	if causedBy(flip, last) && last.ExitStatus != nil {
		return fmt.Sprintf("%s, exit status %d", flip.Reason.Words(), *last.ExitStatus)
	}
	return flip.Reason.Words()
}

// timing describes in English when a check expects its pings.
func timing(c checks.Check) string {
	grace := ", " + periodText(c.Grace) + " of grace"
	if c.IsCron() {
		return fmt.Sprintf("%s (%s)%s", strings.ReplaceAll(strings.TrimSpace(c.Schedule), "\n", "; "), c.TZ, grace)
	}
	period := periodText(c.Timeout)
	if one, found := strings.CutPrefix(period, "1 "); found && !strings.Contains(one, " ") {
		period = one
	}
	return "every " + period + grace
}

// periodText writes a duration of whole seconds in words, such as "1 hour 30 minutes".
func periodText(d time.Duration) string {
	var words []string
	for _, unit := range []struct {
		name string
		d    time.Duration
	}{{"day", 24 * time.Hour}, {"hour", time.Hour}, {"minute", time.Minute}, {"second", time.Second}} {
		n := d / unit.d
		d -= n * unit.d
		switch {
		case n == 1:
			words = append(words, "1 "+unit.name)
		case n > 1:
			words = append(words, fmt.Sprintf("%d %ss", n, unit.name))
		}
	}
	return strings.Join(words, " ")
}
