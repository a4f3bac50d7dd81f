package courier

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
)

// result is a result to record, and which check it is about; the zero Change is for what no page shows.
type result struct {
	store.DeliveryResult
	about Change
}

// results holds the results to record, by the ID of the delivery.
type results map[int64]result

// add adds a result. Of two for one delivery, that it was sent counts, or else the later claim.
func (rs results) add(r result) {
	old, found := rs[r.ID]
	if !found || r.State == store.DeliverySent || old.State != store.DeliverySent && old.Claim <= r.Claim {
		rs[r.ID] = r
	}
}

// pending returns the result of a delivery that becomes pending again.
func pending(q store.QueuedDelivery, due time.Time) store.DeliveryResult {
	r := store.DeliveryResult{QueuedDelivery: q, Claim: q.Attempts}
	r.Due = due
	return r
}

// over returns the result of a delivery that reaches a final state.
func over(q store.QueuedDelivery, state store.DeliveryState, text string) store.DeliveryResult {
	r := store.DeliveryResult{QueuedDelivery: q, Claim: q.Attempts}
	r.State, r.Error = state, text
	return r
}

// record turns the end of a send into a result.
func (l *loop) record(ctx context.Context, s *send) {
	delete(l.sends, s)
	if s.lane.claimed--; s.lane.claimed == 0 {
		delete(l.lanes, s.ChannelID)
	}
	if s.err != nil {
		if left, ok := errors.AsType[*notBegunError](s.err); ok {
			l.giveBack(left.due, s.QueuedDelivery)
			return
		}
		if l.stopping {
			l.giveBack(l.Now(), s.QueuedDelivery)
			return
		}
	}
	l.conclude(ctx, s)
}

// conclude turns the end of an attempt into a result.
func (l *loop) conclude(ctx context.Context, s *send) {
	now := l.Now()
	r := store.DeliveryResult{QueuedDelivery: s.QueuedDelivery, Claim: s.Attempts}
	r.State, r.Due = l.judge(s.QueuedDelivery, s.err, now)
	r.Error = ""
	if s.err != nil {
		r.Error, r.Done = l.errorText(s.Channel, s.err), merged(s.Done, channels.Accepted(s.err))
	}
	switch r.State {
	case store.DeliverySent:
		l.sent++
		r.Mark = &store.ChannelMark{}
	case store.DeliveryFailed:
		r.Mark = &store.ChannelMark{FailedAt: now, Error: r.Error}
	}
	if keeper, keeps := l.notifiers[s.Channel.Kind].(channels.IncidentNotifier); keeps {
		r.Incident = incidentAfter(keeper, s, now)
	}
	if s.err != nil || l.failing[s.ChannelID] {
		l.logEnd(ctx, s, r)
	}
	l.finish(s.Alert, r)
	l.Attempted(s.Channel.Kind, r.State, s.took())
}

// finish adds the result of an alert to those to record.
func (l *loop) finish(a store.Alert, r store.DeliveryResult) {
	l.results.add(result{r, Change{Project: a.Check.ProjectID, Check: a.Check.ID}})
}

// giveBack returns deliveries to the outbox as if nobody had claimed them.
func (l *loop) giveBack(due time.Time, list ...store.QueuedDelivery) {
	for _, q := range list {
		r := pending(q, due)
		r.Attempts--
		l.results.add(result{DeliveryResult: r})
	}
}

// logEnd logs an alert that was given up, and when a channel starts and stops failing.
func (l *loop) logEnd(ctx context.Context, s *send, r store.DeliveryResult) {
	attributes := []any{
		"delivery", s.ID, "check", s.Check.ID, "channel", s.ChannelID, "kind", s.Channel.Kind, "attempts", s.Attempts,
	}
	switch {
	case r.State == store.DeliveryFailed:
		l.Log.WarnContext(ctx, "an alert was given up", append(attributes, "error", r.Error)...)
	case r.State == store.DeliveryPending && !l.failing[s.ChannelID]:
		l.failing[s.ChannelID] = true
		l.Log.WarnContext(ctx, "alerts to a channel fail", append(attributes, "again_at", r.Due, "error", r.Error)...)
	case r.State == store.DeliverySent && l.failing[s.ChannelID]:
		delete(l.failing, s.ChannelID)
		l.Log.InfoContext(ctx, "alerts to a channel arrive again", attributes...)
	}
}

// MaxError is the maximum length of the error of a delivery in characters.
const MaxError = 500

// errorText makes the text of a notifier's error safe to show to users: one line without the secrets of the channel, at
// most [MaxError] characters long.
func (c *Courier) errorText(to channels.Channel, err error) string {
	text := err.Error()
	if errors.Is(err, context.DeadlineExceeded) {
		text = fmt.Sprintf("no answer within %v", c.Timeout)
	}
	var kind channels.KindInfo // Every setting of an unknown kind is a secret.
	for _, k := range c.Kinds {
		if k.Kind == to.Kind {
			kind = k
		}
	}
	text = channels.Redact(text, kind.Secrets(to)...)
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD"))
	text = cutText(text, MaxError)
	if strings.TrimSpace(text) == "" {
		return "unknown error"
	}
	return text
}
