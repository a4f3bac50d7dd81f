package courier

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/gate"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
	"github.com/rollcall-dev/rollcall/flips"
)

// askLater is when the gate is asked again about an alert that waits, if it does not say so.
const askLater = time.Minute

// ask asks the gate about alerts and returns those that leave, the ungoverned ones at least. What it decides about the others is
// recorded in the transaction that reads the policies, which no change of a policy can overtake.
func (l *loop) ask(ctx context.Context, alerts []store.Alert) (leave []store.Alert, err error) {
	var governed []store.Alert
	for _, a := range alerts {
		if a.Governed {
			governed = append(governed, a)
		}
	}
	parents, err := l.parents(ctx, governed)
	if err != nil {
		l.giveBack(l.Now(), queued(alerts)...)
		return nil, err
	}
	var changed []Change
	err = l.Store.Update(ctx, func(ctx context.Context, tx store.Tx) error {
		leave, changed = nil, nil
		of, err := policiesOf(ctx, tx, governed)
		if err != nil {
			return err
		}
		lines, err := tx.LockLines(ctx, downs(governed))
		if err != nil {
			return err
		}
		now := l.Now() // later than all that was read under the locks, for which it may have waited
		var results []store.DeliveryResult
		clocks := make(map[int64]gate.Clock)
		for _, a := range governed {
			p := of(a)
			for _, parent := range parents[a.Check.ID] {
				p.Parents = append(p.Parents, parentOf(a, parent, p.Windows, now))
			}
			d := gate.Decide(EventOf(a, now), p, now)
			if d.Clock != (gate.Clock{}) && d.Clock != a.Flip.Clock {
				clocks[a.Flip.ID] = d.Clock
			}
			kept, leaves := keep(a, d, lines[a.ID], now)
			if results = append(results, kept...); leaves {
				leave = append(leave, a)
			}
			if len(kept) > 0 {
				changed = append(changed, Change{Project: a.Check.ProjectID, Check: a.Check.ID})
			}
		}
		if err := tx.SaveClocks(ctx, clocks); err != nil {
			return err
		}
		return tx.RecordResults(ctx, now, results)
	})
	if err != nil {
		l.giveBack(l.Now(), queued(alerts)...)
		return nil, fmt.Errorf("cannot ask the gate: %w", err)
	}
	if len(changed) > 0 {
		l.Changed(ctx, changed)
	}
	return append(slices.DeleteFunc(alerts, func(a store.Alert) bool { return a.Governed }), leave...), nil
}

// parentOf returns a check as the gate sees it for an alert about its follower. If the alert waits for it, and it has only been late
// since, it came up with a success.
func parentOf(a store.Alert, parent Parent, windows []gate.Window, now time.Time) gate.Parent {
	p := parent.Gate(windows, now)
	success, deadline := parent.History.LastSuccess, a.CreatedAt.Add(parent.Grace) // it was late then
	if a.Held == gate.ByParent && !p.Up.IsZero() && success.After(a.CreatedAt) && p.Until(a.Check.Grace).Before(a.CreatedAt) {
		if p.Up = success; deadline.Before(success) {
			p.Up = deadline
		}
	}
	return p
}

// queued returns the deliveries of alerts.
func queued(alerts []store.Alert) []store.QueuedDelivery {
	list := make([]store.QueuedDelivery, len(alerts))
	for i, a := range alerts {
		list[i] = a.QueuedDelivery
	}
	return list
}

// downs returns the alerts that a check is down.
func downs(alerts []store.Alert) (ids []int64) {
	for _, a := range alerts {
		if !a.Flip.Up && a.Reminder == 0 {
			ids = append(ids, a.ID)
		}
	}
	return ids
}

// EventOf returns an alert as the gate sees it at an instant.
func EventOf(a store.Alert, now time.Time) gate.Event {
	e := gate.Event{
		Kind: gate.Down, At: a.CreatedAt, Clock: a.Flip.Clock, Grace: a.Check.Grace,
		Check: a.Check.ID, Tags: a.Check.TagList(), Channel: a.ChannelID,
	}
	if a.Flip.Reason == flips.Failure {
		e.Reported = a.Flip.At
	}
	switch {
	case a.Flip.Up:
		e.Kind = gate.Up
	case a.Reminder > 0: // the alert was raised then or later; if it still waits, its reminders end with it
		if e.Kind, e.At = gate.Reminder, a.Flip.At; a.Early(now) {
			e.Last = a.Told
		}
	}
	return e
}

// policiesOf reads the policies of the projects of alerts, and returns those that hold for each alert. It locks them until the
// commit.
func policiesOf(ctx context.Context, tx store.CourierTx, alerts []store.Alert) (of func(a store.Alert) gate.Policies, err error) {
	f := store.WindowFilter{EndsAfter: alerts[0].CreatedAt}
	for _, a := range alerts {
		if f.Projects = append(f.Projects, a.Check.ProjectID); a.CreatedAt.Before(f.EndsAfter) {
			f.EndsAfter = a.CreatedAt
		}
	}
	if err := tx.LockPolicies(ctx, f.Projects); err != nil {
		return nil, err
	}
	found, err := tx.Windows(ctx, f)
	if err != nil {
		return nil, err
	}
	windows := make(map[uuid.UUID][]gate.Window)
	for _, w := range found {
		windows[w.ProjectID] = append(windows[w.ProjectID], w.Window)
	}
	steps, err := tx.Escalations(ctx, f.Projects)
	return func(a store.Alert) gate.Policies {
		p := a.Check.Policies()
		p.Windows, p.Steps = windows[a.Check.ProjectID], steps[a.Check.ProjectID]
		return p
	}, err
}

// keep returns what a decision of the gate means for an alert and for what is behind it in its line, and whether the alert leaves.
// The line is nil unless the alert says that the check is down.
func keep(a store.Alert, d gate.Decision, line []store.WaitingDelivery, now time.Time) (list []store.DeliveryResult, leaves bool) {
	q := a.QueuedDelivery
	if d.Action != gate.Send {
		q.Held, q.HeldBy = d.Why, d.Name
	}
	if d.Action == gate.Wait {
		if q.HeldUntil = d.Until; !q.HeldUntil.After(now) {
			q.HeldUntil = now.Add(askLater)
		}
	}
	if q.Held != "" && q.Held != gate.ByStorm && len(line) > 0 { // a storm keeps nothing quiet
		line[0].QueuedDelivery = q
		line = slices.DeleteFunc(line, func(w store.WaitingDelivery) bool { return w.ID < q.ID }) // reminders of earlier outages that wait
		over := ""
		switch {
		case a.Check.Stored != checks.StatusDown:
			over = closeReason(incidentView{}, a.Check)
		case !a.UpAt.IsZero(), !a.Flip.At.IsZero() && a.Check.StoredSince.After(a.Flip.At):
			over = "that outage is over"
		}
		if list = skipLine(line, over, q.Attempts > 1, a.Channel.Kind == channels.Group); len(list) > 0 && list[0].ID == q.ID {
			return list, false
		}
	}
	switch {
	case a.Unheard:
		return append(list, skipped(q, "the alert that it was down was not sent")), false
	case a.Reminder > 0 && !a.Told.Before(a.CreatedAt):
		return append(list, skipped(q, "an alert was sent after it was due")), false
	case a.Replaced, a.Reminder > 0 && a.Held != "" && !a.Check.StoredSince.Equal(a.Flip.At):
		return append(list, skipped(q, "that outage is over")), false
	case a.Held == gate.ByRepeat && a.Check.RepeatEvery == 0:
		return append(list, skipped(q, "there are no reminders any more")), false
	case d.Action == gate.Drop:
		return append(list, skipped(q, d.Why.Words(d.Name))), false
	case d.Action == gate.Wait:
		r := pending(q, q.HeldUntil)
		r.Attempts--
		return append(list, r), false
	}
	return list, true
}

// skipLine returns what ends of a line that begins with an alert that a check is down, which the gate has kept back so far. With an
// alert that the check is up behind it, it ends, and so do those that were raised meanwhile; what recipients know decides about the
// recoveries. One about a later outage takes its place, unless it was tried and its outage goes on. If its outage was over when the check
// was read, which was before the line, it ends for that reason. Otherwise only its reminders do. One that was tried counts as heard, and
// decides nothing about those behind it. A group hears nothing itself, and its members may have heard before: it keeps its newest reminder.
func skipLine(line []store.WaitingDelivery, over string, tried, group bool) (list []store.DeliveryResult) {
	first := line[0]
	tried = tried && !group
	for len(line) > 0 && (line[0].ID == first.ID || !tried && line[0].CreatedAt.Before(first.HeldUntil)) {
		down, from, text := line[0], 0, first.Held.Words(first.HeldBy)
		ends := slices.IndexFunc(line, func(w store.WaitingDelivery) bool { return w.FlipUp || w.FlipID != down.FlipID })
		isOver := down.ID == first.ID && over != ""
		switch {
		case ends >= 0 && line[ends].FlipUp:
		case ends >= 0 && tried && !isOver:
			from = 1
		case ends >= 0:
			text = supersededText("")
		case isOver:
			ends, text = len(line), over
		default:
			ends, from = len(line), 1
			if group {
				ends = max(1, len(line)-1)
			}
		}
		for _, w := range line[from:ends] {
			w.Held, w.HeldBy = first.Held, first.HeldBy
			list = append(list, skipped(w.QueuedDelivery, text))
		}
		line = line[ends:]
		for len(line) > 0 && line[0].FlipUp {
			line = line[1:]
		}
	}
	return list
}

// skipped returns the result of a delivery that the gate drops. That it was claimed to ask the gate is no attempt. A reminder leaves no
// row, because the next one follows anyway: a check that waits for days would leave one for each of its integrations and repeats.
func skipped(q store.QueuedDelivery, why string) store.DeliveryResult {
	r := ended(q, checks.DeliverySkipped, cutText(why, MaxError))
	r.Attempts = max(0, r.Attempts-1)
	r.Forget = r.Reminder > 0 && r.Attempts == 0
	return r
}
