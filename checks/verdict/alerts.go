package verdict

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/channels/prose"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/gate"
)

// maxListed bounds the names in a list of integrations.
const maxListed = 5

// alerts says who was notified about the newest transition, or why nobody was.
func (b *builder) alerts() {
	c, a := b.Check, b.Check.Alerting
	switch {
	case c.RecordOnly && c.Stored == checks.StatusDown && a.Failures > 0: // see integrations
	case c.Stored == checks.StatusUp && !a.HeldSince.IsZero() && a.Next.IsZero():
		b.say(plain("The alert is held until a run succeeds on time."))
	case c.Stored == checks.StatusUp && !a.HeldSince.IsZero():
		b.quiet(a.Next)
	case c.Stored == checks.StatusUp && b.Now.Sub(c.StoredSince) > recent:
	case c.Stored == checks.StatusDown && a.Failures > 0 && a.Failures < c.AlertAfter:
		b.waiting()
	case c.Stored == checks.StatusDown && a.Failures > 0 && !a.HeldSince.IsZero():
		b.quiet(a.Next)
	case c.Stored == checks.StatusDown && a.Failures > 0:
		b.say(plain("No one has been notified yet: the job reported late, so the alert waits for another failure."))
	default:
		b.told()
	}
}

// waiting tells about an alert that waits for more failures.
func (b *builder) waiting() {
	a := b.Check.Alerting
	next := []Part{plain(".")}
	if !a.Next.IsZero() {
		next = []Part{plain("; without a success, the next failure counts "), when(a.Next), plain(".")}
	}
	text := fmt.Sprintf("No one has been notified yet: alerts start after %d failures in a row, and there %s", b.Check.AlertAfter, wasOrWere(a.Failures))
	b.say(append([]Part{plain(text)}, next...)...)
}

func wasOrWere(n int) string {
	if n == 1 {
		return "was 1"
	}
	return fmt.Sprintf("were %d", n)
}

// quiet tells about an alert that quiet hours hold back.
func (b *builder) quiet(until time.Time) {
	b.say(plain("No one has been notified yet: quiet hours delay the alert until "), since(until), plain("."))
}

// told says which integrations got the alert, and about reminders.
func (b *builder) told() {
	first := b.deliveries(func(d checks.Delivery) bool { return d.Reminder == 0 })
	of := func(state checks.DeliveryState) (list []checks.Delivery) {
		for _, d := range first {
			if d.State == state {
				list = append(list, d)
			}
		}
		return list
	}
	if list := of(checks.DeliverySent); len(list) > 0 {
		b.sent(list)
	}
	b.waits()
	for _, d := range cut(of(checks.DeliveryPending)) {
		b.pending(d)
	}
	for _, d := range cut(of(checks.DeliveryFailed)) {
		verb := " was not notified"
		if d.InPart {
			verb = " was notified only in part"
		}
		b.say(labelOf(d), plain(verb+errorText(d.Error)+"."))
	}
	if list := of(checks.DeliverySuperseded); len(list) > 0 {
		b.say(append(append([]Part{plain("A newer alert replaced the one to ")}, names(labelsOf(list))...), plain("."))...)
	}
	list := of(checks.DeliverySkipped)
	for _, d := range cut(slices.DeleteFunc(slices.Clone(list), func(d checks.Delivery) bool { return d.Error == "" })) {
		b.say(labelOf(d), plain(" was not notified"+errorText(d.Error)+"."))
	}
	if list = slices.DeleteFunc(list, func(d checks.Delivery) bool { return d.Error != "" }); len(list) > 0 {
		verb, alerts := " do", "recovery"
		if len(list) == 1 {
			verb = " does"
		}
		if b.Check.Stored == checks.StatusDown {
			alerts = "down"
		}
		b.say(append(names(labelsOf(list)), plain(verb+" not send "+alerts+" alerts."))...)
	}
	switch {
	case len(first) > 0 || b.unassigned():
	case b.raising:
		b.say(plain("The alert is being sent."))
	case b.Check.Stored == checks.StatusDown && b.last.To == checks.StatusDown && len(b.Deliveries) == 0:
		b.say(plain("No alert was recorded."))
	}
	b.reminders()
}

// deliveries returns the deliveries that fn selects, those that ended first at the beginning. The delivery to a group
// ends with copies to its members, which speak for it.
func (b *builder) deliveries(fn func(d checks.Delivery) bool) []checks.Delivery {
	list := slices.DeleteFunc(slices.Clone(b.Deliveries), func(d checks.Delivery) bool {
		return !fn(d) || d.ChannelKind == channels.Group && d.State == checks.DeliverySent
	})
	slices.SortStableFunc(list, func(a, b checks.Delivery) int {
		return cmp.Or(a.FinishedAt.Compare(b.FinishedAt), cmp.Compare(nameOf(a), nameOf(b)))
	})
	return list
}

// sent says who was notified, and when to the second.
func (b *builder) sent(list []checks.Delivery) {
	verb := " was notified "
	if len(list) > 1 {
		verb = " were notified "
	}
	precise := func(t time.Time) Part { return Part{Kind: Instant, At: t.Truncate(time.Second), precise: true} }
	first, last := precise(list[0].FinishedAt), precise(list[len(list)-1].FinishedAt)
	last.follows = first.At
	parts := append(names(labelsOf(list)), plain(verb))
	switch {
	case first.At.Equal(last.At):
		first.adverbial = true
		parts = append(parts, first)
	case len(list) == 2:
		first.adverbial = true
		parts = append(parts, first, plain(" and "), last)
	default:
		parts = append(parts, plain("between "), first, plain(" and "), last)
	}
	b.say(append(parts, plain("."))...)
}

// pending tells about a delivery on its way.
func (b *builder) pending(d checks.Delivery) {
	if d.Held == gate.ByParent || b.inWindow(d) { // see waits and windows
		return
	}
	if d.Held == gate.ByAck { // the name as the check has it, which may be hidden
		d.HeldBy = cmp.Or(b.Check.Ack.By, d.HeldBy)
	}
	if d.Held != "" {
		b.say(labelOf(d), plain(" will be notified "), Part{Kind: Instant, At: d.Due, adverbial: true}, plain(" at the earliest"+errorText(d.Held.Words(d.HeldBy))+"."))
		return
	}
	if d.Error == "" {
		b.say(labelOf(d), plain(" is being notified."))
		return
	}
	next := []Part{plain(".")}
	if d.Due.After(b.Now) {
		next = []Part{plain("; next attempt "), {Kind: Instant, At: d.Due, precise: true, adverbial: true}, plain(".")}
	}
	text := fmt.Sprintf(" has not been notified: %s failed so far%s", prose.Count(max(d.Attempts, 1), "attempt"), errorText(d.Error))
	b.say(append([]Part{labelOf(d), plain(text)}, next...)...)
}

// reminders tells about the last reminder and the next one.
func (b *builder) reminders() {
	if b.Check.Stored != checks.StatusDown {
		return
	}
	list := b.deliveries(func(d checks.Delivery) bool { return d.Reminder > 0 && d.State == checks.DeliverySent })
	next := b.Check.Alerting.Next
	more := !next.IsZero() && b.Check.Alerting.Failures == 0 && !b.Check.Ack.Active(next)
	switch {
	case len(list) > 0:
		last := list[len(list)-1]
		parts := []Part{plain(fmt.Sprintf("Reminder %d was sent ", last.Reminder)), when(last.FinishedAt)}
		if more {
			parts = append(parts, plain("; the next is due "), when(next))
		}
		b.say(append(parts, plain("."))...)
	case more && !b.unassigned():
		b.say(plain("The first reminder is due "), when(next), plain("."))
	}
}

// unassigned reports whether neither the check nor the escalation policy names an integration.
func (b *builder) unassigned() bool {
	return len(b.Check.Channels) == 0 && !slices.ContainsFunc(b.Receivers, func(r Receiver) bool { return r.Named })
}

// integrations warns of alerts that nobody would get.
func (b *builder) integrations() {
	if b.Check.RecordOnly {
		b.say(plain("Never alerts: record-only."))
		return
	}
	if len(b.Check.Channels) == 0 && len(b.Receivers) == 0 {
		b.say(plain("This check has no integrations, so no one will be notified."))
		return
	}
	troubled := slices.DeleteFunc(slices.Clone(b.Receivers), func(r Receiver) bool { return r.State == ReachNotified || r.State == ReachSkipped })
	for _, r := range troubled[:min(len(troubled), maxListed)] {
		b.say(append(append(Sentence{r.part()}, r.clause()...), plain("."))...)
	}
	if len(b.Receivers) > 0 && !slices.ContainsFunc(b.Receivers, func(r Receiver) bool { return r.Delivers() }) {
		b.say(plain("No integration of this check can be reached now, so no one may be notified."))
	}
}

// nameOf returns the name of the channel of a delivery, with the recipient that it is for alone.
func nameOf(d checks.Delivery) string {
	if d.Recipient == "" {
		return d.ChannelName
	}
	return cmp.Or(d.ChannelName, string(d.ChannelKind)) + ": " + d.Recipient
}

// label returns the name of an integration, or else its kind.
func label(name string, kind channels.Kind) Part {
	return Part{Kind: Integration, Text: cmp.Or(prose.Line(name, maxName), prose.Line(string(kind), maxName), "an integration")}
}

func labelOf(d checks.Delivery) Part { return label(nameOf(d), d.ChannelKind) }

func labelsOf(list []checks.Delivery) []Part {
	labels := make([]Part, len(list))
	for i, d := range list {
		labels[i] = labelOf(d)
	}
	return labels
}

// names lists labels: "a, b and c".
func names(labels []Part) (parts []Part) {
	shown := cut(labels)
	for i, l := range shown {
		switch {
		case i == 0:
		case i == len(shown)-1 && len(shown) == len(labels):
			parts = append(parts, plain(" and "))
		default:
			parts = append(parts, plain(", "))
		}
		parts = append(parts, l)
	}
	if rest := len(labels) - len(shown); rest > 0 {
		parts = append(parts, plain(" and "+prose.Count(rest, "other")))
	}
	return parts
}

func cut[T any](list []T) []T { return list[:min(len(list), maxListed)] }

// errorText returns ": " and an error without its full stop, or "".
func errorText(text string) string {
	if text = strings.TrimRight(prose.Line(text, maxError), "."); text == "" {
		return ""
	}
	return ": " + text
}
