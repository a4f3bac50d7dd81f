package monitor

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"
	"unicode"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks/internal/feed"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
)

// NotConfiguredError means that [Config].Notifiers has no notifier for a kind of channel.
type NotConfiguredError struct {
	Kind channels.Kind
}

func (e *NotConfiguredError) Error() string {
	return fmt.Sprintf("integrations of the kind %q are not configured on this server", e.Kind)
}

// Configured returns nil if this monitor can send alerts to channels of a kind. Otherwise the error says why not, for
// users: a *[NotConfiguredError] if there is no notifier, or the error of the notifier's method Configured() error, if it
// has one. Another monitor on the database may be able to send them.
func (m *Monitor) Configured(kind channels.Kind) error {
	notifier := m.delivery.notifiers[kind]
	switch n, asks := notifier.(interface{ Configured() error }); {
	case kind == channels.Group: // its members get the alerts
		return nil
	case notifier == nil:
		return &NotConfiguredError{kind}
	case asks:
		return n.Configured()
	}
	return nil
}

// errNoMembers means that no member of a group exists.
var errNoMembers = errors.New("the group has no members")

// dispatch starts a send for each claimed delivery.
func (c *courier) dispatch(ctx, sending context.Context, claimed []store.QueuedDelivery) error {
	if len(claimed) == 0 {
		return nil
	}
	alerts, err := c.read(ctx, claimed)
	if err != nil && !errors.Is(err, ErrUnavailable) && ctx.Err() == nil {
		alerts, err = c.readEach(ctx, claimed), nil
	}
	if err != nil {
		c.giveBack(c.m.Now(), claimed...)
		return err
	}
	for _, a := range alerts {
		switch notifier := c.d.notifiers[a.Channel.Kind]; {
		case a.Close == "" && !a.Channel.Wants(statusOf(a.Flip)):
			c.done = append(c.done, result{QueuedDelivery: a.QueuedDelivery, to: DeliverySkipped, about: feed.Delivery(a.Check.ProjectID, a.Check.ID)})
		case a.Channel.Kind == channels.Group && len(a.Members) == 0:
			c.done = append(c.done, result{QueuedDelivery: a.QueuedDelivery, to: DeliveryFailed, text: errNoMembers.Error(), about: feed.Delivery(a.Check.ProjectID, a.Check.ID)})
		case a.Channel.Kind == channels.Group:
			c.done = append(c.done, result{QueuedDelivery: a.QueuedDelivery, to: DeliverySent, copies: a.Members, about: feed.Delivery(a.Check.ProjectID, a.Check.ID)})
		case notifier == nil:
			c.conclude(ctx, &send{Alert: a, err: channels.Permanent(&NotConfiguredError{a.Channel.Kind})})
		default:
			c.start(sending, notifier, a)
		}
	}
	return nil
}

// statusOf returns the status that an alert about a flip reports.
func statusOf(f store.AlertFlip) channels.Status {
	if f.Up {
		return channels.Up
	}
	return channels.Down
}

// read reads the alerts of claimed deliveries. It fails those whose check or channel no longer exists.
func (c *courier) read(ctx context.Context, claimed []store.QueuedDelivery) ([]store.Alert, error) {
	alerts, err := c.m.store.Alerts(ctx, claimed)
	if err != nil {
		return nil, err
	}
	found := make(map[int64]bool, len(alerts))
	for _, a := range alerts {
		found[a.ID] = true
	}
	for _, q := range claimed {
		if !found[q.ID] {
			c.done = append(c.done, result{
				QueuedDelivery: q, to: DeliveryFailed, text: "the check or the channel no longer exists", orphan: true,
			})
		}
	}
	return alerts, nil
}

// readEach reads alerts one by one, so that an unreadable one delays no other. It counts as a failed attempt.
func (c *courier) readEach(ctx context.Context, claimed []store.QueuedDelivery) (alerts []store.Alert) {
	for _, q := range claimed {
		list, err := c.read(ctx, []store.QueuedDelivery{q})
		if err != nil {
			c.conclude(ctx, &send{Alert: store.Alert{QueuedDelivery: q}, err: fmt.Errorf("the alert cannot be read: %w", err)})
		}
		alerts = append(alerts, list...)
	}
	return alerts
}

// start sends an alert in a new goroutine.
func (c *courier) start(ctx context.Context, notifier channels.Notifier, a store.Alert) {
	l := c.lanes[a.ChannelID]
	if l == nil {
		l = &lane{slots: make(chan struct{}, c.d.SendsPerChannel)}
		c.lanes[a.ChannelID] = l
	}
	l.claimed++
	s := &send{Alert: a, lane: l}
	c.sends[s] = true
	go func() {
		s.open, s.err = c.await(ctx, s, notifier)
		c.finished <- s
	}()
}

// await waits for a slot of the channel and one of the courier, and then sends an alert. If the receiver asks for a
// pause, it begins before the slots are free again. nowOpen is what is open at the receiver afterwards.
func (c *courier) await(ctx context.Context, s *send, notifier channels.Notifier) (nowOpen string, err error) {
	for _, slots := range []chan struct{}{s.lane.slots, c.slots} {
		select {
		case slots <- struct{}{}:
			defer func() { <-slots }()
		case <-c.halted:
			return s.Open, &notBegunError{c.m.Now()}
		}
	}
	if until, paused := c.d.pausedUntil(s.ChannelID, c.m.Now()); paused {
		return s.Open, &notBegunError{until}
	}
	select {
	case <-c.halted:
		return s.Open, &notBegunError{c.m.Now()}
	default:
	}
	s.began.Store(new(time.Now()))
	nowOpen, err = c.m.send(ctx, notifier, s.Alert)
	if after, found := channels.RetryDelay(err); found && after > 0 {
		c.d.pause(s.ChannelID, c.m.Now().Add(min(after, maxRetryAfter)))
	}
	return nowOpen, err
}

// send makes one attempt to deliver an alert.
func (m *Monitor) send(ctx context.Context, notifier channels.Notifier, a store.Alert) (nowOpen string, err error) {
	ctx, cancel := context.WithTimeout(ctx, m.delivery.Timeout)
	defer cancel()
	return notify(ctx, notifier, a.Channel, a.Open, func() channels.Notification { return m.notification(ctx, a) })
}

// notify calls a notifier, which may be code of an embedding program: it gets a copy of the settings, and notify turns
// a panic into an error. It returns what is open at the receiver afterwards.
func notify(
	ctx context.Context, notifier channels.Notifier, c channels.Channel, open string, n func() channels.Notification,
) (nowOpen string, err error) {
	defer func() {
		if r := recover(); r != nil {
			nowOpen, err = open, fmt.Errorf("panic: %v", r)
		}
	}()
	c.Settings = maps.Clone(c.Settings)
	keeper, keeps := notifier.(channels.IncidentNotifier)
	if !keeps {
		return "", notifier.Notify(ctx, c, n())
	}
	nowOpen, err = keeper.NotifyIncident(ctx, c, n(), open)
	if len(nowOpen) > channels.MaxIncident {
		return open, fmt.Errorf("the notifier returned %d bytes about the incident, the maximum is %d", len(nowOpen), channels.MaxIncident)
	}
	return nowOpen, err
}

// conclude turns the end of an attempt into a result.
func (c *courier) conclude(ctx context.Context, s *send) {
	now := c.m.Now()
	r := result{QueuedDelivery: s.QueuedDelivery, about: feed.Delivery(s.Check.ProjectID, s.Check.ID)}
	r.to, r.due = c.d.judge(s.QueuedDelivery, s.err, now)
	outcome := OutcomeSent
	switch r.to {
	case DeliverySent:
		c.sent++
	case DeliveryFailed:
		outcome = OutcomeFailed
	default:
		outcome = OutcomeRetry
	}
	if s.err != nil {
		r.text, r.done = c.m.errorText(s.Channel, s.err), channels.Accepted(s.err)
	}
	r.incident = c.m.incidentAfter(s, now)
	c.done = append(c.done, r)
	c.m.observer.Attempted(s.Channel.Kind, outcome, s.took())
	c.logOutcome(ctx, s, outcome, r)
}

// logOutcome logs an alert that was given up, and when a channel starts and stops failing.
func (c *courier) logOutcome(ctx context.Context, s *send, outcome Outcome, r result) {
	attributes := []any{
		"delivery", s.ID, "check", s.Check.ID, "channel", s.ChannelID, "kind", s.Channel.Kind, "attempts", s.Attempts,
	}
	switch {
	case outcome == OutcomeFailed:
		c.log.WarnContext(ctx, "an alert was given up", append(attributes, "error", r.text)...)
	case outcome == OutcomeRetry && !c.failing[s.ChannelID]:
		c.failing[s.ChannelID] = true
		c.log.WarnContext(ctx, "alerts to a channel fail",
			append(attributes, "again_at", r.due, "error", r.text)...)
	case outcome == OutcomeSent && c.failing[s.ChannelID]:
		delete(c.failing, s.ChannelID)
		c.log.InfoContext(ctx, "alerts to a channel arrive again", attributes...)
	}
}

// errorText makes the text of a notifier's error safe to show to users: one line without the secrets of the channel, at
// most [MaxDeliveryError] characters long.
func (m *Monitor) errorText(c channels.Channel, err error) string {
	text := err.Error()
	if errors.Is(err, context.DeadlineExceeded) {
		text = fmt.Sprintf("no answer within %v", m.delivery.Timeout)
	}
	var kind channels.KindInfo // Every setting of an unknown kind is a secret.
	for _, k := range m.config.Kinds {
		if k.Kind == c.Kind {
			kind = k
		}
	}
	text = channels.Redact(text, kind.Secrets(c)...)
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD"))
	text = cutText(text, MaxDeliveryError)
	if strings.TrimSpace(text) == "" {
		return "unknown error"
	}
	return text
}
