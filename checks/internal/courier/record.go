package courier

import (
	"context"
	"errors"
	"time"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
)

// took returns the duration of the attempt so far, 0 before it begins.
func (s *send) took() time.Duration {
	if began := s.began.Load(); began != nil {
		return time.Since(*began)
	}
	return 0
}

// record turns the end of a send into a result.
func (l *loop) record(ctx context.Context, s *send) {
	delete(l.sends, s)
	if s.lane.claimed--; s.lane.claimed == 0 {
		delete(l.lanes, s.ChannelID)
	}
	if s.err != nil {
		if left, ok := errors.AsType[*notBegunError](s.err); ok {
			l.giveBack(left.due, s.deliveries()...)
			return
		}
		if l.stopping {
			l.giveBack(l.Now(), s.deliveries()...)
			return
		}
	}
	l.paces[s.ChannelID] = l.paces[s.ChannelID].next(s.took(), s.err != nil, l.Now(), l.SendsPerChannel)
	l.conclude(ctx, s)
}

// deliveries returns all that the message is about.
func (s *send) deliveries() []store.QueuedDelivery {
	list := []store.QueuedDelivery{s.QueuedDelivery}
	for _, o := range s.others {
		list = append(list, o.QueuedDelivery)
	}
	return list
}

// conclude turns the end of an attempt into a result.
func (l *loop) conclude(ctx context.Context, s *send) {
	now := l.Now()
	r := store.DeliveryResult{QueuedDelivery: s.QueuedDelivery, Claim: s.Attempts}
	keeper, keeps := l.notifiers[s.Channel.Kind].(channels.IncidentNotifier)
	err := s.err
	if r.Error = ""; err != nil || len(s.Apart) > 0 {
		r.Done, r.Handovers, err = l.remainder(s, keeps, now)
	}
	if r.State, r.Due = l.judge(s.QueuedDelivery, err, now); err != nil {
		r.Error = l.errorText(s.Channel, err)
	}
	switch r.State {
	case checks.DeliverySent:
		l.sent++
		if len(r.Handovers) == 0 {
			r.Mark = &store.ChannelMark{}
		}
	case checks.DeliveryFailed:
		r.Mark = &store.ChannelMark{FailedAt: now, Error: r.Error}
	}
	if keeps {
		r.Incident = incidentAfter(keeper, s, now)
	}
	if s.err != nil || l.failing[s.ChannelID] {
		l.logEnd(ctx, s, r)
	}
	l.results.add(result{r, Change{Project: s.Check.ProjectID, Check: s.Check.ID}})
	for _, o := range s.others { // what has become of the message has become of them
		q := o.QueuedDelivery
		q.State, q.Due, q.Error, q.Done = r.State, r.Due, r.Error, r.Done
		same := store.DeliveryResult{QueuedDelivery: q, Claim: o.Attempts, Handovers: r.Handovers}
		if l.results.add(result{same, Change{Project: o.Check.ProjectID, Check: o.Check.ID}}); r.State == checks.DeliverySent {
			l.sent++
		}
	}
	l.Attempted(s.Channel.Kind, r.State, s.took())
}

// remainder returns the recipients that a delivery does not go to any more, those that get deliveries of their own, and the
// error that is left for the delivery itself. An incident has only one delivery at a time.
func (l *loop) remainder(s *send, keeps bool, now time.Time) (done []string, list []store.Handover, left error) {
	if keeps {
		return merged(s.Done, channels.Accepted(s.err)), nil, s.err
	}
	r := l.divide(s.QueuedDelivery, s.Apart, s.err, now)
	for _, h := range r.handed {
		if h.err != nil {
			h.Error = l.errorText(s.Channel, h.err)
		}
		list = append(list, h.Handover)
	}
	return r.done, list, r.err
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
	text := r.Error
	if s.err != nil {
		text = l.causeText(s.Channel, s.err)
	}
	switch {
	case r.State == checks.DeliveryFailed:
		l.Log.WarnContext(ctx, "an alert was given up", append(attributes, "error", text)...)
	case s.err != nil && !l.failing[s.ChannelID]:
		l.failing[s.ChannelID] = true
		l.Log.WarnContext(ctx, "alerts to a channel fail", append(attributes, "again_at", r.Due, "error", text)...)
	case s.err == nil && l.failing[s.ChannelID]:
		delete(l.failing, s.ChannelID)
		l.Log.InfoContext(ctx, "alerts to a channel arrive again", attributes...)
	}
}

// incidentAfter returns the incident to save after an attempt, or nil if nothing about it has changed.
func incidentAfter(keeper channels.IncidentNotifier, s *send, now time.Time) *store.Incident {
	if s.open == "" && s.Open == "" || s.err != nil && s.open == s.Open {
		return nil
	}
	return &store.Incident{
		CheckID: s.Check.ID, ChannelID: s.ChannelID, CheckName: s.Check.DisplayName(), DeliveryID: s.ID,
		Open: s.open, DownAt: s.Flip.At, Due: now.Add(look(keeper)),
	}
}
