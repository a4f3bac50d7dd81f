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
)

// NotConfiguredError says that alerts to an integration cannot be sent, because [Config].Notifiers has none for its
// kind.
type NotConfiguredError struct {
	Kind channels.Kind
}

func (e *NotConfiguredError) Error() string {
	return fmt.Sprintf("integrations of the kind %q are not configured on this server", e.Kind)
}

// send makes one attempt to deliver an alert.
func (m *Monitor) send(ctx context.Context, notifier channels.Notifier, a Alert) error {
	ctx, cancel := context.WithTimeout(ctx, m.delivery.Timeout)
	defer cancel()
	return notify(ctx, notifier, a.Channel, func() channels.Notification { return m.notification(ctx, a) })
}

// notify calls a notifier, which may be another program's code: it gets its own copy of the settings, and a panic of it
// is an error.
func notify(
	ctx context.Context, notifier channels.Notifier, c channels.Channel, n func() channels.Notification,
) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v", r)
		}
	}()
	c.Settings = maps.Clone(c.Settings)
	return notifier.Notify(ctx, c, n())
}

// conclude decides what becomes of an alert after an attempt to send it.
func (c *courier) conclude(ctx context.Context, s *send) {
	now := c.m.Now()
	result := DeliveryResult{QueuedDelivery: s.QueuedDelivery, State: DeliverySent}
	outcome := OutcomeSent
	if s.err != nil {
		result.Error = c.m.errorText(s.Channel, s.err)
		result.State, outcome = DeliveryFailed, OutcomeFailed
		old := now.Sub(s.CreatedAt) >= c.d.GiveUp && s.Attempts >= giveUpAttempts
		if !channels.IsPermanent(s.err) && !old {
			result.State, outcome = DeliveryPending, OutcomeRetry
		}
		result.Due = c.retryAt(s, now)
	} else {
		c.sent++
	}
	c.done = append(c.done, result)
	c.m.observer.Attempted(s.Channel.Kind, outcome, s.took())
	c.logOutcome(ctx, s, outcome, result)
}

// retryAt returns when to try again. A receiver that asks for a pause gets it.
func (c *courier) retryAt(s *send, now time.Time) time.Time {
	if after, found := channels.RetryDelay(s.err); found && after > 0 {
		return now.Add(max(min(after, maxRetryAfter), c.d.RetryFirst))
	}
	return now.Add(backoff(c.d.RetryFirst, c.d.RetryMost, s.Attempts))
}

// logOutcome logs what is given up, and the first of the failures of an integration.
func (c *courier) logOutcome(ctx context.Context, s *send, outcome Outcome, r DeliveryResult) {
	attributes := []any{
		"delivery", s.ID, "check", s.Check.ID, "channel", s.ChannelID, "kind", s.Channel.Kind, "attempts", s.Attempts,
	}
	switch {
	case outcome == OutcomeFailed:
		c.m.log.WarnContext(ctx, "an alert was given up", append(attributes, "error", r.Error)...)
	case outcome == OutcomeRetry && !c.failing[s.ChannelID]:
		c.failing[s.ChannelID] = true
		c.m.log.WarnContext(ctx, "alerts to an integration cannot be sent now",
			append(attributes, "again_at", r.Due, "error", r.Error)...)
	case outcome == OutcomeSent && c.failing[s.ChannelID]:
		delete(c.failing, s.ChannelID)
		c.m.log.InfoContext(ctx, "alerts to an integration can be sent again", attributes...)
	}
}

// errorText returns the text of a notifier's error in a form that can be kept and shown: in one line, without the
// secrets of the integration, and not longer than [MaxDeliveryError].
func (m *Monitor) errorText(c channels.Channel, err error) string {
	text := err.Error()
	if errors.Is(err, context.DeadlineExceeded) {
		text = fmt.Sprintf("no answer within %v", m.delivery.Timeout)
	}
	var kind channels.KindInfo // Every setting of an unknown kind is a secret.
	for _, k := range m.kinds {
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
	if runes := []rune(text); len(runes) > MaxDeliveryError {
		text = string(runes[:MaxDeliveryError])
	}
	if strings.TrimSpace(text) == "" {
		return "unknown error"
	}
	return text
}
