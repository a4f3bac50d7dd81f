package verdict

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rollcall-dev/rollcall/channels/prose"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/internal/cause"
	"github.com/rollcall-dev/rollcall/flips"
	"github.com/rollcall-dev/rollcall/pings"
	"github.com/rollcall-dev/rollcall/pings/text"
)

func (b *builder) explainDown() {
	b.say(emphasis("Down"), plain(" since "), since(b.v.Since), plain("."))
	if b.last.To == checks.StatusDown {
		b.reason(b.last)
		b.failedAgain(b.last)
	}
	b.acknowledged()
	b.running()
	b.alerts()
	b.nextRun()
}

// reason says why the check went down, and when it succeeded last before that.
func (b *builder) reason(t checks.Transition) {
	var parts []Part
	switch t.Reason {
	case flips.Overdue:
		parts = b.overdue(t)
	case flips.Overrun:
		parts = b.overrun(t)
	case flips.Failure:
		parts = b.failed(t)
	default: // of a later version
		return
	}
	at := b.Check.History.LastSuccess
	if at.After(t.At) {
		at = time.Time{}
	}
	for _, p := range b.Pings {
		if p.Kind == pings.Success && !p.At.After(t.At) && p.At.After(at) {
			at = p.At
		}
	}
	wasUp := t.Reason == flips.Overdue || t.Reason == flips.Overrun && t.From == checks.StatusUp
	if at.IsZero() && wasUp && !b.Check.LastPing.After(t.At) {
		at = b.Check.LastPing // a check that was up was last pinged with a success
	}
	if !at.IsZero() {
		parts = append(parts, plain("; last success "), when(at))
	}
	b.say(append(parts, plain("."))...)
}

// overdue says which run did not report. Settings that have changed since do not count.
func (b *builder) overdue(t checks.Transition) []Part {
	c := b.Check
	due := b.expectedBefore(t.At)
	within := " within its grace of " + prose.Period(c.Grace)
	switch {
	case c.TimingSince.After(t.At) || due.IsZero() && c.TimingSince.Equal(t.At):
		return []Part{plain("The expected run did not report in time")}
	case !due.IsZero() && due.Add(c.Grace).Before(t.At): // only new settings move a deadline back
		within = " before the settings were changed"
	case due.IsZero() || !due.Add(c.Grace).Equal(t.At):
		due = t.At.Add(-c.Grace)
	}
	return []Part{plain("The run expected "), expected(due), plain(" did not report" + within)}
}

// expectedBefore returns when the run was expected that was missing at an instant, or the zero time if the check was
// pinged since.
func (b *builder) expectedBefore(t time.Time) time.Time {
	c := b.Check
	if c.LastPing.IsZero() || c.LastPing.After(t) {
		return time.Time{}
	}
	c.Stored, c.Runs = checks.StatusUp, nil
	return c.NextPing(c.LastPing)
}

// overrun says which run did not end.
func (b *builder) overrun(t checks.Transition) []Part {
	c := b.Check
	limit := "its grace of " + prose.Period(c.Grace)
	if c.MaxRuntime > 0 {
		limit = "its maximum of " + prose.Period(c.MaxRuntime)
	}
	what := []Part{plain("A run")}
	switch start, found := b.startOf(t); {
	case c.TimingSince.After(t.At):
		limit = "its time"
	case found:
		what = []Part{plain("The run that started "), expected(start.At)}
		if start.RunID.Valid {
			what[0] = plain("The run " + start.RunID.UUID.String()[:8] + " that started ")
		}
	}
	return append(what, plain(" did not end within "+limit))
}

// startOf finds the start of the run that took the check down.
func (b *builder) startOf(t checks.Transition) (pings.Ping, bool) {
	for _, p := range b.Pings {
		if p.Kind == pings.Start && p.At.Add(b.Check.RunLimit()).Equal(t.At) {
			return p, true
		}
	}
	return pings.Ping{}, false
}

// failed tells what the job said when it failed.
func (b *builder) failed(t checks.Transition) []Part {
	parts := []Part{plain("The job reported a failure")}
	at := slices.IndexFunc(b.Pings, func(p pings.Ping) bool { return p.Kind == pings.Failure && p.At.Equal(t.At) })
	if at >= 0 {
		p := b.Pings[at]
		if p.ExitStatus != nil {
			parts = append(parts, plain(" with exit status "+strconv.Itoa(*p.ExitStatus)))
		}
		if line := Cause(p); line != "" {
			parts = append(parts, plain(": "), Part{Kind: Output, Text: line})
		}
	}
	return parts
}

// Cause returns the line of a ping's body that says why the job failed, or "" if the body has no text. It prefers the exception
// that ended the job, then the lines near the end that name an error, then warnings, then the last line. The line is valid
// UTF-8 without control characters, of at most 160 characters and "…" in place of the middle of a longer one. It may hold any
// markup: escape it. It is never one that was cut where bytes of the body were left out. p.Body may be only the end of the body.
// Cause returns "" for a ping that is no failure, and for a message that came by e-mail, whose body is not the text.
func Cause(p pings.Ping) string {
	if p.Kind != pings.Failure || p.Scheme == "email" || len(p.Body) == 0 {
		return ""
	}
	return cause.Line([]byte(text.Lines(p)))
}

// CauseKey returns what failures with a like cause share, for a line that [Cause] returned, so that they can be counted
// together: a well-known condition such as "No space left on device", however a program words it, or else the line without
// times, numbers, paths, addresses and quoted names. The key is fit to be shown only if it is such a condition, which known
// reports. The key of "" is "".
func CauseKey(line string) (key string, known bool) { return cause.Key(line) }

// failedAgain tells about failures since the check went down.
func (b *builder) failedAgain(t checks.Transition) {
	if last := b.Check.LastPing; last.After(t.At) {
		b.say(plain("It reported another failure, most recently "), when(last), plain("."))
	}
}

// acknowledged says who has the outage, since when, until when and why.
func (b *builder) acknowledged() {
	a := b.Check.Acknowledged(b.Now)
	if a.By == "" {
		return
	}
	parts := []Part{emphasis("Acknowledged"), plain(" by " + prose.Line(a.By, checks.MaxName) + " "), when(a.At)}
	if !a.Until.IsZero() {
		parts = append(parts, plain(" until "), since(a.Until))
	}
	if note := strings.TrimRight(prose.Line(a.Note, maxNote), "."); note != "" {
		parts = append(parts, plain(": "+note))
	}
	b.say(append(parts, plain("."))...)
}

// nextRun tells when a check that is down is scheduled next.
func (b *builder) nextRun() {
	c := b.Check
	switch {
	case c.TimingSince.After(c.StoredSince):
		b.say(plain("Its timing was changed "), when(c.TimingSince), plain("; it stays down until the next success."))
	case !c.IsCron():
		b.say(plain("It comes up at the next success."))
	}
	if !c.IsCron() {
		return
	}
	c.Stored, c.LastPing, c.Runs, c.TimingSince = checks.StatusUp, b.Now, nil, time.Time{}
	if next := c.NextPing(b.Now); next.After(b.Now) {
		b.say(plain("Next run due "), when(next), plain("."))
	}
}
