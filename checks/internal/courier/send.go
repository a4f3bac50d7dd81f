package courier

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/internal/background"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
)

// notBegunError means that no attempt was made, because the channel is paused or the courier stops.
type notBegunError struct{ due time.Time }

func (e *notBegunError) Error() string { return "not begun" }

// begin reads the alerts of claimed deliveries, asks the gate about them and starts to send them. Those that need no attempt
// become results.
func (l *loop) begin(ctx, sending context.Context, claimed []store.QueuedDelivery) error {
	alerts, err := l.Store.Alerts(ctx, claimed)
	if err != nil && !store.Away(err) && ctx.Err() == nil {
		alerts, claimed = l.readEach(ctx, claimed)
		err = nil
	}
	if err != nil {
		l.giveBack(l.Now(), claimed...)
		return err
	}
	if len(alerts) < len(claimed) {
		l.failOrphans(alerts, claimed)
	}
	if slices.ContainsFunc(alerts, func(a store.Alert) bool { return a.Governed }) {
		if alerts, err = l.ask(ctx, alerts); err != nil {
			return err
		}
	}
	var combined []*send
	for _, a := range alerts {
		switch notifier := l.notifiers[a.Channel.Kind]; {
		case a.Close == "" && !a.Channel.Wants(status(a.Flip.Up)):
			r := ended(a.QueuedDelivery, checks.DeliverySkipped, "")
			r.Attempts-- // it was claimed, not tried
			l.settle(a, r)
		case a.Channel.Kind == channels.Group && len(a.Members) == 0:
			r := ended(a.QueuedDelivery, checks.DeliveryFailed, errNoMembers.Error())
			r.Mark = &store.ChannelMark{FailedAt: l.Now(), Error: r.Error}
			l.settle(a, r)
		case a.Channel.Kind == channels.Group:
			r := ended(a.QueuedDelivery, checks.DeliverySent, "")
			r.Copies = a.Members
			l.settle(a, r)
		case notifier == nil && l.Elsewhere:
			l.leave(a.ChannelID)
			l.giveBack(l.Now(), a.QueuedDelivery)
		case notifier == nil:
			l.conclude(ctx, &send{Alert: a, err: l.lacks(a.Channel.Kind)})
		case l.combines[a.Channel.Kind] && (a.Storm.Checks > 0 || a.Batch != 0):
			combined = append(combined, &send{Alert: a})
		default:
			l.start(sending, notifier, &send{Alert: a})
		}
	}
	if len(combined) > 0 {
		return l.combine(ctx, sending, combined)
	}
	return nil
}

// settle records the result of an alert that needs no attempt.
func (l *loop) settle(a store.Alert, r store.DeliveryResult) {
	l.paces[a.ChannelID] = l.paces[a.ChannelID].next(0, false, l.Now(), l.SendsPerChannel)
	l.results.add(result{r, Change{Project: a.Check.ProjectID, Check: a.Check.ID}})
}

// errNoMembers means that no member of a group exists.
var errNoMembers = errors.New("the group has no members")

// start makes an attempt in a new goroutine.
func (l *loop) start(ctx context.Context, notifier channels.Notifier, s *send) {
	s.busy = l.sending[s.ChannelID]
	if s.busy == nil {
		s.busy = &busy{slots: make(chan struct{}, l.SendsPerChannel)}
		l.sending[s.ChannelID] = s.busy
	}
	s.busy.claimed++
	l.sends[s] = true
	go func() {
		s.open, s.err = l.attempt(ctx, notifier, s)
		if s.nobody = errors.Is(s.err, channels.ErrNobody); s.nobody {
			s.err = nil
		}
		l.finished <- s
	}()
}

// attempt waits for a slot of the channel and makes one attempt to send an alert. If the receiver asks for a pause, it
// begins before the slot is free again. nowOpen is what is open at the receiver afterwards.
func (l *loop) attempt(ctx context.Context, notifier channels.Notifier, s *send) (nowOpen string, err error) {
	select {
	case s.busy.slots <- struct{}{}:
		defer func() { <-s.busy.slots }()
	case <-l.halted:
		return s.Open, &notBegunError{l.Now()}
	}
	l.mu.Lock()
	until := l.paused[s.ChannelID]
	l.mu.Unlock()
	if l.Now().Before(until) {
		return s.Open, &notBegunError{until}
	}
	select {
	case <-l.halted:
		return s.Open, &notBegunError{l.Now()}
	default:
	}
	s.began.Store(new(time.Now()))
	nowOpen, err = l.notify(ctx, notifier, s.Channel, s.Open, func(ctx context.Context) channels.Notification {
		if len(s.others) > 0 {
			return l.combined(ctx, s)
		}
		return l.notification(ctx, s.Alert)
	})
	if err != nil && !aboutOne(s, err) {
		if after, found := channels.RetryDelay(err); found && after > 0 {
			l.pause(s.ChannelID, l.Now().Add(min(after, maxRetryAfter)))
		}
	}
	return nowOpen, err
}

// notify calls a notifier, which may be code of an embedding program: it gets a copy of the settings, and notify turns
// a panic and runtime.Goexit into an error. It returns what is open at the receiver afterwards.
func (c *Courier) notify(
	ctx context.Context, notifier channels.Notifier, to channels.Channel, open string, content func(context.Context) channels.Notification,
) (nowOpen string, err error) {
	ctx, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	to.Settings = maps.Clone(to.Settings)
	keeper, keeps := notifier.(channels.IncidentNotifier)
	if keeps {
		nowOpen = open // unless it returns
	}
	err = background.Call(func() (err error) {
		if !keeps {
			return notifier.Notify(ctx, to, content(ctx))
		}
		nowOpen, err = keeper.NotifyIncident(ctx, to, content(ctx), open)
		return err
	})
	if len(nowOpen) > channels.MaxIncident {
		return open, fmt.Errorf("the notifier returned %d bytes about the incident, the maximum is %d", len(nowOpen), channels.MaxIncident)
	}
	return nowOpen, err
}

// readEach reads alerts one by one, so that an unreadable one delays no other. It counts as a failed attempt. read are the
// deliveries that could be read.
func (l *loop) readEach(ctx context.Context, claimed []store.QueuedDelivery) (alerts []store.Alert, read []store.QueuedDelivery) {
	for _, q := range claimed {
		list, err := l.Store.Alerts(ctx, []store.QueuedDelivery{q})
		if err != nil {
			l.conclude(ctx, &send{Alert: store.Alert{QueuedDelivery: q}, err: fmt.Errorf("the alert cannot be read: %w", err)})
			continue
		}
		alerts, read = append(alerts, list...), append(read, q)
	}
	return alerts, read
}

// failOrphans fails the claimed deliveries that have no alert, because their check or channel no longer exists.
func (l *loop) failOrphans(alerts []store.Alert, claimed []store.QueuedDelivery) {
	found := make(map[int64]bool, len(alerts))
	for _, a := range alerts {
		found[a.ID] = true
	}
	for _, q := range claimed {
		if !found[q.ID] {
			l.results.add(result{DeliveryResult: ended(q, checks.DeliveryFailed, "the check or the channel no longer exists")})
		}
	}
}
