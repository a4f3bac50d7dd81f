package monitor

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/gate"
	"github.com/rollcall-dev/rollcall/checks/internal/courier"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
	"github.com/rollcall-dev/rollcall/checks/verdict"
)

// Rehearse says for each of some checks of the project what happens if its job does not report any more, or, with failure,
// reports a failure now. It changes nothing and sends nothing. Besides the channels of the project, it reads the last
// deliveries to each. Whether somebody sends to a kind it knows unless Config.DeliveredElsewhere is set. Error:
// [checks.ErrNotFound] if the project was deleted.
func (p *Project) Rehearse(ctx context.Context, failure bool, list ...checks.Check) ([]verdict.Rehearsal, error) {
	in := verdict.RehearseInput{Now: p.now(), Failure: failure}
	var err error
	if in.Channels, in.Reach, err = p.Receivers(ctx, true); err != nil {
		return nil, err
	}
	if in.Windows, err = p.windows(ctx, p.store, store.WindowFilter{EndsAfter: in.Now}); err != nil {
		return nil, err
	}
	parents, err := courier.Parents(ctx, p.store, p.id, in.Now, list...)
	if err != nil {
		return nil, err
	}
	waiting, err := p.waiting(ctx, in.Now, list)
	if err != nil {
		return nil, err
	}
	rehearsals := make([]verdict.Rehearsal, len(list))
	for i, c := range list {
		if i%100 == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		in.Check, in.Parents, in.Waiting = c, parentsOf(parents[c.ID], in.Windows, in.Now), waiting[c.ID]
		rehearsals[i] = verdict.Rehearse(in)
	}
	return rehearsals, nil
}

// mostWaiting bounds the alerts that wait of which a rehearsal knows.
const mostWaiting = 1000

// waiting returns the alerts about outages that go on that have not left yet, by the check, as the gate sees them.
func (p *Project) waiting(ctx context.Context, now time.Time, list []checks.Check) (map[uuid.UUID][]gate.Event, error) {
	if !slices.ContainsFunc(list, func(c checks.Check) bool { return c.Stored == checks.StatusDown }) {
		return nil, nil
	}
	query := checks.DeliveryQuery{State: checks.DeliveryPending, Limit: mostWaiting}
	if len(list) == 1 {
		query.Check = list[0].ID
	}
	found, err := p.courier.List(ctx, p.id, query)
	if err != nil {
		return nil, err
	}
	var queued []store.QueuedDelivery
	for _, d := range found {
		if d.Status == channels.Down && d.Reminder == 0 && d.Attempts == 0 {
			queued = append(queued, store.QueuedDelivery{ID: d.ID, ChannelID: d.ChannelID, CreatedAt: d.CreatedAt})
		}
	}
	alerts, err := p.store.Alerts(ctx, queued)
	events := make(map[uuid.UUID][]gate.Event)
	for _, a := range alerts {
		events[a.Check.ID] = append(events[a.Check.ID], courier.EventOf(a, now))
	}
	return events, err
}

// Receivers returns the channels of the project, Config.OnAlert among them, and whether alerts arrive at each. With last, it is
// known of all when an alert arrived last, and otherwise of those that fail. [verdict.Receivers] says which of them a check
// notifies.
func (p *Project) Receivers(ctx context.Context, last bool) ([]channels.Channel, map[uuid.UUID]verdict.Reach, error) {
	list, err := p.Channels(ctx)
	if err != nil {
		return nil, nil, err
	}
	if p.courier.Configured(channels.Function) == nil {
		function, err := p.marked(ctx, store.OnAlert)
		if err != nil {
			return nil, nil, err
		}
		list = append(list, function)
	}
	reach, err := p.Reach(ctx, list, last)
	return list, reach, err
}

// newestDeliveries is how many deliveries to OnAlert are searched for one that ended by an attempt.
const newestDeliveries = 20

// marked returns the channel of Config.OnAlert with the mark that the database keeps of all other channels.
func (p *Project) marked(ctx context.Context, c channels.Channel) (channels.Channel, error) {
	for d, err := range p.Deliveries(ctx, checks.DeliveryQuery{Channel: c.ID, Limit: newestDeliveries}) {
		if err != nil || d.State == checks.DeliverySent {
			return c, err
		}
		if d.State == checks.DeliveryFailed {
			c.FailedAt, c.Error = d.FinishedAt, d.Error
			break
		}
	}
	return c, nil
}

// Reach says of channels of the project whether alerts that a check is down arrive there, and when by the escalation policy. With last, Delivered is known of all,
// and otherwise of those that fail.
func (p *Project) Reach(ctx context.Context, list []channels.Channel, last bool) (map[uuid.UUID]verdict.Reach, error) {
	outcomes, err := p.courier.Outcomes(ctx, p.id, list, last)
	if err != nil {
		return nil, err
	}
	for _, c := range list {
		o := outcomes[c.ID]
		o.Undeliverable = p.undeliverable(c.Kind)
		outcomes[c.ID] = o
	}
	policies, err := p.store.Escalations(ctx, []uuid.UUID{p.id})
	return verdict.Reaches(list, outcomes, policies[p.id]), err
}
