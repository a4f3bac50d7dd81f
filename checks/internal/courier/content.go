package courier

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
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
func (c *Courier) notification(ctx context.Context, a store.Alert) channels.Notification {
	body, end, lines := c.output(ctx, a)
	read := a.Ping // with what could be read of its body
	read.Body, read.BodySize, read.BodyCut, read.BodyCharset = lines, int64(len(lines)), 0, ""
	name := fmt.Sprintf("delivery/%d/%d/%s", cmp.Or(a.Origin, a.ID), a.CreatedAt.UnixMicro(), a.Channel.ID)
	n := channels.Notification{
		// The instant is a part of the ID, because a new database with the same checks reuses the numbers of deliveries.
		ID: uuid.NewSHA1(a.Check.ID, []byte(name)).String(), Check: c.describe(a.Check, a.Project),
		Status: status(a.Flip.Up), At: a.Flip.At, Reason: a.Flip.Reason.Words(), Verdict: explain(a, read, c.Now()),
		Ping: channels.Ping{
			At: a.Ping.At, Kind: string(a.Ping.Kind), ExitStatus: a.Ping.ExitStatus, Body: body, End: end, BodyCut: a.Ping.BodyCut,
		},
		Reminder: a.Reminder, Done: slices.Concat(a.Done, a.Handed, a.Apart), Recipient: a.Recipient,
	}
	if a.Ping.Duration != nil {
		n.Ping.Duration = *a.Ping.Duration
	}
	if a.Flip.Reason == flips.Failure && a.Ping.Kind == pings.Failure && a.Ping.At.Equal(a.Flip.At) { // the last ping took the check down
		n.Cause = verdict.Cause(read)
		if a.Ping.ExitStatus != nil {
			n.Reason += fmt.Sprintf(", exit status %d", *a.Ping.ExitStatus)
		}
	}
	down := a.Flip.At
	switch {
	case a.Flip.At.IsZero(): // the flip was pruned
		n.At, n.Reason = a.CreatedAt, "the check has been down for months"
	case !a.Flip.Up:
		n.Over = a.UpAt
	case !a.DownAt.IsZero():
		down = a.DownAt
		n.DownFor = max(0, a.Flip.At.Sub(a.DownAt)) // the clock may have been set back
	}
	n.Incident = incidentID(a.Check.ID, down)
	if a.Close != "" {
		n.Closed, n.Status, n.Reason, n.Cause, n.Verdict = true, channels.Up, a.Close, "", ""
		if !a.Flip.Up {
			n.At, n.Over = a.CreatedAt, time.Time{}
			n.DownFor = max(0, n.At.Sub(down))
		}
	}
	for _, f := range a.Earlier {
		n.Earlier = append(n.Earlier, channels.Change{Status: status(f.Up), At: f.At, Reason: f.Reason.Words()})
	}
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

// explain says in words what an alert is about.
func explain(a store.Alert, last pings.Ping, now time.Time) string {
	if a.Flip.At.IsZero() { // it was pruned
		return ""
	}
	in := verdict.Input{Check: a.Check, Now: now}
	if last.N > 0 {
		in.Pings = []pings.Ping{last}
	}
	flip := verdict.Flip{
		Transition: checks.Transition{To: checks.StatusDown, At: a.Flip.At, Reason: a.Flip.Reason}, DownAt: a.DownAt, UpAt: a.UpAt,
	}
	switch {
	case a.Flip.Up:
		flip.To = checks.StatusUp
	case a.Reminder > 0:
	case a.Held == gate.ByStep || a.Held == gate.ByAck:
		in.Unanswered = now.Sub(a.CreatedAt)
	case a.Held == gate.ByParent:
		in.Waited = a.HeldBy
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
