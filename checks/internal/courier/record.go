package courier

import (
	"context"
	"errors"
	"log/slog"
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
	if s.busy.claimed--; s.busy.claimed == 0 {
		delete(l.sending, s.ChannelID)
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
		err = l.remainder(s, &r, keeps, now)
	}
	if r.State, r.Due = l.judge(s.QueuedDelivery, err, now); err != nil {
		r.Error = l.errorText(s.Channel, err)
	}
	if r.State == checks.DeliverySent && (s.nobody || s.err != nil) && len(r.Done) == 0 {
		r.State, r.Error = checks.DeliverySuperseded, "the alert goes to each recipient separately"
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
	if s.err != nil || l.troubled.Load() {
		l.logEnd(ctx, s, r)
	}
	l.results.add(result{r, Change{Project: s.Check.ProjectID, Check: s.Check.ID}})
	for _, o := range s.others { // what has become of the message has become of them
		q := o.QueuedDelivery
		q.State, q.Due, q.Error, q.Done, q.Handed = r.State, r.Due, r.Error, r.Done, r.Handed
		same := store.DeliveryResult{QueuedDelivery: q, Claim: o.Attempts, Handovers: r.Handovers}
		if l.results.add(result{same, Change{Project: o.Check.ProjectID, Check: o.Check.ID}}); r.State == checks.DeliverySent {
			l.sent++
		}
	}
	l.Attempted(s.Channel.Kind, r.State, s.took())
}

// remainder puts the recipients that have an alert after an attempt, and those that get deliveries of their own, into its result, and
// returns the error that is left for the delivery itself. An incident has only one delivery at a time.
func (l *loop) remainder(s *send, r *store.DeliveryResult, keeps bool, now time.Time) error {
	if keeps {
		r.Done = merged(s.Done, channels.Accepted(s.err))
		return s.err
	}
	left := l.divide(s.QueuedDelivery, s.Apart, s.err, now)
	for _, h := range left.handed {
		if h.err != nil {
			h.Error = l.errorText(s.Channel, h.err)
		}
		r.Handovers, r.Handed = append(r.Handovers, h.Handover), merged(r.Handed, []string{h.Recipient})
	}
	r.Done = left.done
	return left.err
}

// giveBack returns deliveries to the outbox as if nobody had claimed them.
func (l *loop) giveBack(due time.Time, list ...store.QueuedDelivery) {
	for _, q := range list {
		r := pending(q, due)
		r.Attempts--
		l.results.add(result{DeliveryResult: r})
	}
}

// trouble is what the log says of a channel to which alerts fail. A receiver that fails and works by turns fills no log: each line that
// repeats comes after a pause, and counts the attempts since the one before.
type trouble struct {
	failing        bool // as the log says
	begins, giveUp pacer
	failed, sent   int // attempts since the last line
}

// pacer lets a line pass, and then none for a pause that doubles from a minute to an hour while lines go on.
type pacer struct {
	until time.Time
	pause time.Duration
}

func (p *pacer) pass(now time.Time) bool {
	const first, most = time.Minute, time.Hour
	if now.Before(p.until) {
		return false
	}
	if p.pause = min(max(2*p.pause, first), most); now.Sub(p.until) > most {
		p.pause = first
	}
	p.until = now.Add(p.pause)
	return true
}

// logEnd logs an alert that was given up, and when a channel starts and stops failing.
func (l *loop) logEnd(ctx context.Context, s *send, r store.DeliveryResult) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now, t := l.Now(), l.troubles[s.ChannelID]
	switch {
	case t == nil && s.err == nil:
		return
	case t == nil:
		t = &trouble{}
		l.troubles[s.ChannelID] = t
		l.troubled.Store(true)
	}
	line, level := "", slog.LevelWarn
	if s.err == nil {
		t.sent++
		if t.failing || t.failed > 0 && !now.Before(t.begins.until) {
			line, level, t.failing = "alerts to a channel arrive again", slog.LevelInfo, false
		}
	} else {
		t.failed++
		switch {
		case r.State == checks.DeliveryFailed && t.giveUp.pass(now):
			line = "an alert was given up"
		case r.State != checks.DeliveryFailed && !t.failing && t.begins.pass(now):
			line, t.failing = "alerts to a channel fail", true
		}
	}
	if line == "" {
		return
	}
	attributes := []any{
		"delivery", s.ID, "check", s.Check.ID, "channel", s.ChannelID, "kind", s.Channel.Kind, "attempts", s.Attempts,
	}
	if s.err != nil {
		if r.State != checks.DeliveryFailed {
			attributes = append(attributes, "again_at", r.Due)
		}
		attributes = append(attributes, "error", l.causeText(s.Channel, s.err))
	}
	if t.failed+t.sent > 1 {
		attributes = append(attributes, "failed", t.failed, "sent", t.sent)
	}
	t.failed, t.sent = 0, 0
	l.Log.Log(ctx, level, line, attributes...)
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
