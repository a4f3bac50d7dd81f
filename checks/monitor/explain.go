package monitor

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
	"github.com/rollcall-dev/rollcall/checks/verdict"
	"github.com/rollcall-dev/rollcall/pings"
)

const (
	// explainPings is how many pings Explain searches for a success.
	explainPings = 100
	// explainEvents is how many transitions and pauses Explain reads.
	explainEvents = 3
	// explainBodyTime bounds reading a body from object storage.
	explainBodyTime = time.Second
)

// Explain says in words how a check is: since when, why, who was told and what comes next. It takes at most eight short
// queries. Error: [checks.ErrNotFound].
func (m *Monitor) Explain(ctx context.Context, id uuid.UUID) (verdict.Verdict, error) {
	now := m.Now()
	c, err := m.Check(ctx, id)
	if err != nil {
		return verdict.Verdict{}, err
	}
	in := verdict.Input{Check: c, Now: now}
	stored, err := m.store.History(ctx, id, store.HistoryQuery{Limit: explainEvents})
	if err != nil {
		return verdict.Verdict{}, err
	}
	events := eventsOf(stored)
	// What happened after the check was read would contradict it.
	events = slices.DeleteFunc(events, func(e Event) bool { return e.At.After(c.StoredSince) })
	for _, e := range slices.Backward(events) {
		in.Transitions = append(in.Transitions, e.Transition)
	}
	if len(events) > 0 {
		in.Deliveries = explained(events[0].Deliveries)
	}
	if in.Pings, err = m.store.Pings(ctx, id, explainPings); err != nil {
		return verdict.Verdict{}, err
	}
	m.explainFailure(ctx, &in)
	available, err := m.store.Channels(ctx, c.ProjectID)
	in.Integrations = slices.DeleteFunc(available, func(ch channels.Channel) bool { return !slices.Contains(c.Channels, ch.ID) })
	return verdict.Explain(in), err
}

// explainFailure reads the output of the failure that took a check down. Without the output the verdict is shorter.
func (m *Monitor) explainFailure(ctx context.Context, in *verdict.Input) {
	if n := len(in.Transitions); n == 0 || in.Transitions[n-1].Reason != checks.ReasonFail {
		return
	}
	at := in.Transitions[len(in.Transitions)-1].At
	for i, p := range in.Pings {
		if p.Kind != pings.Fail || !p.At.Equal(at) || p.BodySize == 0 {
			continue
		}
		full, err := m.store.Ping(ctx, in.Check.ID, p.N, explainPings)
		if err == nil && full.BodyKey != "" {
			limited, cancel := context.WithTimeout(ctx, explainBodyTime)
			defer cancel()
			full.Body, err = m.bodies.Read(limited, full)
		}
		if err == nil {
			in.Pings[i].Body = full.Body
		}
		return
	}
}

// explained turns the deliveries of alerts into those of a verdict.
func explained(list []Delivery) []verdict.Delivery {
	var result []verdict.Delivery
	for _, d := range list {
		if d.Close != "" {
			continue
		}
		result = append(result, verdict.Delivery{
			Name: d.ChannelName, Kind: d.ChannelKind, State: verdict.DeliveryState(d.State), Reminder: d.Reminder,
			Attempts: d.Attempts, Due: d.Due, FinishedAt: d.FinishedAt, Error: d.Error,
		})
	}
	return result
}
