package courier

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
)

// result is what became of a claimed delivery.
type result struct {
	store.QueuedDelivery                     // as claimed
	to                   store.DeliveryState // the new state; DeliveryPending for a renewed lease or a retry
	due                  time.Time           // when a pending one may be claimed next
	uncounted            bool                // the claim was no attempt, so Attempts goes back by 1
	text                 string              // what went wrong; "" keeps the former text of a pending delivery
	copies               []uuid.UUID         // the members of the group that it went to
	done                 []string            // further recipients that have accepted it
	incident             *store.Incident
	orphan               bool   // its check or channel no longer exists
	about                Change // the zero value for what no page shows
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

// conclude records the result of an attempt.
func (l *loop) conclude(ctx context.Context, s *send) {
	now := l.Now()
	var r result
	r.to, r.due = l.judge(s.QueuedDelivery, s.err, now)
	if s.err != nil {
		r.text, r.done = l.errorText(s.Channel, s.err), channels.Accepted(s.err)
	}
	if keeper, keeps := l.notifiers[s.Channel.Kind].(channels.IncidentNotifier); keeps {
		r.incident = incidentAfter(keeper, s, now)
	}
	if r.to == store.DeliverySent {
		l.sent++
	}
	if r.to != store.DeliverySent || l.failing[s.ChannelID] {
		l.logEnd(ctx, s, r)
	}
	l.finish(s.Alert, r)
	l.Attempted(s.Channel.Kind, r.to, s.took())
}

// finish adds a result of an alert to those to record.
func (l *loop) finish(a store.Alert, r result) {
	r.QueuedDelivery, r.about = a.QueuedDelivery, Change{Project: a.Check.ProjectID, Check: a.Check.ID}
	l.results = append(l.results, r)
}

// logEnd logs an alert that was given up, and when a channel starts and stops failing.
func (l *loop) logEnd(ctx context.Context, s *send, r result) {
	attributes := []any{
		"delivery", s.ID, "check", s.Check.ID, "channel", s.ChannelID, "kind", s.Channel.Kind, "attempts", s.Attempts,
	}
	switch {
	case r.to == store.DeliveryFailed:
		l.Log.WarnContext(ctx, "an alert was given up", append(attributes, "error", r.text)...)
	case r.to == store.DeliveryPending && !l.failing[s.ChannelID]:
		l.failing[s.ChannelID] = true
		l.Log.WarnContext(ctx, "alerts to a channel fail", append(attributes, "again_at", r.due, "error", r.text)...)
	case r.to == store.DeliverySent && l.failing[s.ChannelID]:
		delete(l.failing, s.ChannelID)
		l.Log.InfoContext(ctx, "alerts to a channel arrive again", attributes...)
	}
}

// saveResults writes the results of deliveries.
func saveResults(ctx context.Context, tx store.Tx, results []result, now time.Time) error {
	if len(results) == 0 {
		return nil
	}
	ids := make([]int64, len(results))
	for i, r := range results {
		ids[i] = r.ID
	}
	rows, err := tx.LockDeliveries(ctx, ids)
	if err != nil {
		return err
	}
	return tx.SaveDeliveries(ctx, settle(rows, results, now))
}

// settle applies results to the current rows of the outbox and returns the changes. A delivery that was sent stays
// sent, even if another server has claimed it since. Any other result counts only if its claim is still the latest.
func settle(rows []store.QueuedDelivery, results []result, now time.Time) store.DeliveryChanges {
	changes := store.DeliveryChanges{Now: now, Copies: make(map[int64][]uuid.UUID), Marks: make(map[uuid.UUID]store.ChannelMark)}
	rows = slices.Clone(rows)
	byID := make(map[int64]*store.QueuedDelivery, len(rows))
	for i := range rows {
		byID[rows[i].ID] = &rows[i]
	}
	changed := make(map[int64]bool)
	for _, r := range results {
		row := byID[r.ID]
		if row == nil || row.State != store.DeliveryPending || r.to != store.DeliverySent && row.Attempts != r.Attempts {
			continue
		}
		changed[r.ID] = true
		row.State, row.Done = r.to, merged(row.Done, r.done)
		if r.incident != nil {
			changes.Incidents = append(changes.Incidents, *r.incident)
		}
		switch {
		case r.to == store.DeliveryPending:
			row.Due = r.due
			if r.uncounted {
				row.Attempts--
			}
			if r.text != "" {
				row.Error = r.text
			}
			continue
		case r.copies != nil:
			changes.Copies[r.ID] = r.copies
		case r.to == store.DeliveryFailed && !r.orphan:
			changes.Marks[row.ChannelID] = store.ChannelMark{FailedAt: now, Error: r.text}
		case r.to == store.DeliverySent:
			changes.Marks[row.ChannelID] = store.ChannelMark{}
		}
		row.Error = r.text
	}
	for _, row := range rows {
		if changed[row.ID] {
			changes.Deliveries = append(changes.Deliveries, row)
		}
	}
	return changes
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
