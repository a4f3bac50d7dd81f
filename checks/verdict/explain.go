package verdict

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/rollcall-dev/rollcall/channels/prose"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/schedule"
)

const (
	maxName  = 60  // characters of the name of an integration
	maxError = 200 // characters of an error
	maxNote  = 300 // characters of the note of an acknowledgement
)

// recent is how long a check that is up tells about its recovery.
const recent = 24 * time.Hour

// builder makes a verdict.
type builder struct {
	Input
	last    checks.Transition // the newest of Transitions
	raising bool              // the clock has raised an alert that is not in the outbox yet
	v       Verdict
}

// newBuilder returns a builder for a check as it is now.
func newBuilder(in Input) *builder {
	b := &builder{Input: in}
	b.Now = in.Now.UTC().Truncate(time.Microsecond)
	settled, effects := in.Check.Settle(b.Now)
	b.Check, b.raising = settled, len(effects.Alerts) > 0
	b.Transitions = append(in.Transitions[:len(in.Transitions):len(in.Transitions)], effects.Transitions...)
	b.Deliveries = slices.DeleteFunc(slices.Clone(in.Deliveries), func(d checks.Delivery) bool { return d.Close != "" })
	if len(effects.Transitions) > 0 {
		b.Deliveries = nil // they are about an earlier transition
	}
	if n := len(b.Transitions); n > 0 {
		b.last = b.Transitions[n-1]
	}
	zone, err := schedule.LoadLocation(in.Check.TZ)
	if err != nil {
		zone = time.UTC
	}
	b.v = Verdict{Now: b.Now, Zone: zone}
	return b
}

// Explain says how a check is.
func Explain(in Input) Verdict {
	b := newBuilder(in)
	b.v.Status, b.v.Since = b.Check.Status(b.Now), b.Check.Since(b.Now)
	switch b.v.Status {
	case checks.StatusNew:
		b.explainNew()
	case checks.StatusPaused:
		b.explainPaused()
	case checks.StatusUp:
		b.explainUp()
	case checks.StatusGrace:
		b.explainLate()
	case checks.StatusDown:
		b.explainDown()
	}
	b.windows()
	b.follows()
	b.zoneHint()
	b.integrations()
	b.v.nameZone()
	return b.v
}

// ForAlert says what an alert is about: since when the check is up or down, and why, with the date of each time. It leaves
// out who was notified. The check may have changed since; in.Transitions, in.Deliveries and in.Receivers do not matter.
// Reminder is that of the alert.
func ForAlert(in Input, flip Flip, reminder int) Verdict {
	in.Transitions, in.Deliveries, in.Receivers = nil, nil, nil
	b := newBuilder(in)
	b.v.Status, b.v.Since, b.v.Dated = flip.To, flip.At, true
	if flip.To == checks.StatusUp {
		b.alertUp(flip)
	} else {
		b.alertDown(flip, reminder)
	}
	b.v.nameZone()
	return b.v
}

// say adds a sentence.
func (b *builder) say(parts ...Part) {
	sentence := make(Sentence, 0, len(parts))
	for _, p := range parts {
		if p.Kind != "" {
			sentence = append(sentence, p)
		}
	}
	b.v.Sentences = append(b.v.Sentences, sentence)
}

func plain(text string) Part    { return Part{Kind: Plain, Text: text} }
func emphasis(text string) Part { return Part{Kind: Emphasis, Text: text} }

// since is an instant after "since" or "until".
func since(t time.Time) Part { return Part{Kind: Instant, At: t} }

// when is an instant at which something happens.
func when(t time.Time) Part { return Part{Kind: Instant, At: t, adverbial: true} }

// expected is an instant of the schedule, which names the zone.
func expected(t time.Time) Part { return Part{Kind: Instant, At: t, adverbial: true, namesZone: true} }

func (b *builder) explainNew() {
	c := b.Check
	switch {
	case c.StoredSince.IsZero():
		b.say(emphasis("New"), plain(" since "), since(c.CreatedAt), plain("."))
	case b.last.To == checks.StatusPaused && b.last.At.Equal(c.StoredSince):
		b.say(emphasis("New"), plain(": it was paused "), when(c.StoredSince), plain(", and the start of a run resumed it."))
	default:
		b.say(emphasis("New"), plain(" since it was resumed "), when(c.StoredSince), plain("."))
	}
	watch := "Monitoring starts with the first success or failure."
	switch {
	case c.NPings == 0:
		b.say(plain("Waiting for the first ping. " + watch))
	case c.StoredSince.IsZero():
		b.say(plain("No success or failure received yet. " + watch))
	default:
		b.say(plain("No success or failure received since. " + watch))
	}
	b.running()
}

func (b *builder) explainPaused() {
	was := map[checks.Status]string{
		checks.StatusUp: "; it was up before", checks.StatusDown: "; it was down before", checks.StatusNew: "; it was new before",
	}
	before := ""
	if b.last.To == checks.StatusPaused {
		before = was[b.last.From]
	}
	b.say(emphasis("Paused"), plain(" since "), since(b.v.Since), plain(before+"."))
	if b.Check.ManualResume {
		b.say(plain("Pings are ignored until it is resumed."))
	} else {
		b.say(plain("The next start, success or failure resumes it."))
	}
}

func (b *builder) explainUp() {
	c := b.Check
	recovery := plain(".")
	if down, known := b.downBefore(); known {
		recovery = plain(", after " + prose.Duration(c.StoredSince.Sub(down)) + " down.")
	}
	b.say(emphasis("Up"), plain(" since "), since(b.v.Since), recovery)
	b.succeeded()
	b.running()
	b.next()
	b.alerts()
}

// downBefore returns when a check that recently came up went down before.
func (b *builder) downBefore() (at time.Time, known bool) {
	n := len(b.Transitions)
	if n < 2 || b.Now.Sub(b.Check.StoredSince) > recent || b.last.From != checks.StatusDown {
		return time.Time{}, false
	}
	before := b.Transitions[n-2]
	return before.At, before.To == checks.StatusDown && before.At.Before(b.last.At)
}

// succeeded tells about the last success of a check that is up.
func (b *builder) succeeded() {
	took := Part{}
	for _, p := range b.Pings {
		if p.At.Equal(b.Check.LastPing) && p.Duration != nil {
			took = plain(" and took " + prose.Duration(*p.Duration))
			break
		}
	}
	b.say(plain("The last run succeeded "), when(b.Check.LastPing), took, plain("."))
}

// next tells when a check that is up or late is expected.
func (b *builder) next() {
	c := b.Check
	next := c.NextPing(b.Now)
	if next.IsZero() {
		b.say(plain("The schedule has ended, so no further run is expected."))
		return
	}
	b.say(plain("Next run due "), expected(next), plain(" ("+prose.Period(c.Grace)+" grace)."))
}

// running tells about the runs in progress, above all the one whose end is watched.
func (b *builder) running() {
	c := b.Check
	list := c.InProgress(b.Now)
	if len(list) == 0 {
		return
	}
	slices.SortStableFunc(list, func(a, b checks.OpenRun) int { return a.StartedAt.Compare(b.StartedAt) })
	run, which := list[0], "oldest"
	if c.MaxRuntime == 0 {
		run, which = list[len(list)-1], "newest"
	}
	what := "A run"
	if run.ID.Valid {
		what = "The run " + run.ID.UUID.String()[:8]
	}
	if len(list) > 1 {
		b.say(plain(strconv.Itoa(len(list)) + " runs are in progress."))
		what = "The " + which
		if run.ID.Valid {
			what += ", " + run.ID.UUID.String()[:8] + ","
		}
	}
	b.say(plain(what+" has been in progress since "), since(run.StartedAt), plain(", for "+prose.Duration(b.Now.Sub(run.StartedAt))+
		" of at most "+prose.Period(c.RunLimit())+"."))
}

func (b *builder) explainLate() {
	c := b.Check
	due := c.NextPing(b.Now)
	b.say(emphasis("Late"), plain(" since "), since(b.v.Since), plain("."))
	b.say(plain("The run expected "), expected(due), plain(" has not reported yet; last success "), when(c.LastPing), plain("."))
	b.running()
	deadline := c.Deadline()
	why := " (" + prose.Period(c.Grace) + " of grace)"
	if !deadline.Equal(due.Add(c.Grace)) {
		why = ""
	}
	b.say(plain("It goes down "), when(deadline), plain(" unless it reports"+why+"."))
}

func (b *builder) alertUp(flip Flip) {
	after := "."
	if down := flip.At.Sub(flip.DownAt); !flip.DownAt.IsZero() && down > 0 {
		after = ", after " + prose.Duration(down) + " down."
	}
	b.say(emphasis("Up"), plain(" since "), since(flip.At), plain(after))
	if next := b.Check.NextPing(b.Now); !next.IsZero() && b.Check.StoredSince.Equal(flip.At) {
		b.say(plain("Next run due "), expected(next), plain("."))
	}
}

func (b *builder) alertDown(flip Flip, reminder int) {
	switch {
	case !flip.UpAt.IsZero():
		b.say(emphasis("Was down"), plain(" from "), since(flip.At), plain(" to "), since(flip.UpAt),
			plain(", for "+prose.Duration(flip.UpAt.Sub(flip.At))+"."))
	case reminder > 0:
		b.say(emphasis(fmt.Sprintf("Still down after %s", prose.Duration(b.Now.Sub(flip.At)))), plain(", since "), since(flip.At), plain("."))
	default:
		b.say(emphasis("Down"), plain(" since "), since(flip.At), plain("."))
	}
	b.reason(flip.Transition)
	switch ack := b.Check.Ack; {
	case b.Unanswered <= 0 || !flip.UpAt.IsZero():
	case !ack.At.IsZero():
		b.say(emphasis("Its acknowledgement by "+prose.Line(ack.By, maxName)+" has ended"), plain(", and the escalation policy goes on."))
	default:
		b.say(emphasis("Nobody has acknowledged it for "+prose.Duration(b.Unanswered)), plain("."))
	}
	if b.Check.StoredSince.Equal(flip.At) && !b.Check.Ack.At.IsZero() {
		b.acknowledged()
	}
	if b.Waited != "" {
		b.say(plain("This alert has waited because " + prose.Line(b.Waited, maxName) + " was down or late."))
	}
}
