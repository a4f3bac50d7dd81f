package memstore

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
)

// incident identifies what a receiver keeps open.
type incident struct{ check, channel uuid.UUID }

// DueIncidents returns the incidents that have been due the longest.
func (s *Store) DueIncidents(ctx context.Context, now time.Time, limit int) (list []store.Incident, err error) {
	err = s.view(ctx, func() {
		for _, i := range s.incidents {
			if !i.Due.After(now) {
				i.Channel = s.channel(i.ChannelID)
				list = append(list, i)
			}
		}
	})
	slices.SortFunc(list, func(a, b store.Incident) int { return a.Due.Compare(b.Due) })
	return list[:min(limit, len(list))], err
}

// LockIncident returns an incident.
func (t *transaction) LockIncident(_ context.Context, checkID, channelID uuid.UUID) (store.Incident, error) {
	i, found := t.s.incidents[incident{checkID, channelID}]
	if !found {
		return store.Incident{}, checks.ErrNotFound
	}
	return i, nil
}

// SaveIncident adds, replaces or removes an incident.
func (t *transaction) SaveIncident(_ context.Context, i store.Incident) error {
	key := incident{i.CheckID, i.ChannelID}
	if i.Open == "" {
		drop(t, t.s.incidents, key)
	} else if _, exists := t.s.channels[i.ChannelID]; exists {
		i.Channel = channels.Channel{}
		i.DownAt, i.Due = checks.Instant(i.DownAt), checks.Instant(i.Due)
		put(t, t.s.incidents, key, i)
	}
	return nil
}

// Waiting reports whether a check has pending deliveries to a channel.
func (t *transaction) Waiting(_ context.Context, checkID, channelID uuid.UUID) (bool, error) {
	return len(t.s.lines[line{t.s.checks[checkID], channelID}]) > 0, nil
}

// CloseIncident adds a delivery that closes an incident.
func (t *transaction) CloseIncident(_ context.Context, checkID, channelID uuid.UUID, reason string, due time.Time) error {
	c := t.s.checks[checkID]
	if _, exists := t.s.channels[channelID]; !exists || c == nil {
		return nil
	}
	due = checks.Instant(due)
	d := &delivery{
		QueuedDelivery: store.QueuedDelivery{ChannelID: channelID, CreatedAt: due, Due: due}, check: c, close: reason,
	}
	var at time.Time
	for _, f := range c.flips {
		if !f.At.Before(at) {
			d.flip, at = f.number, f.At
		}
	}
	t.addDelivery(d)
	return nil
}

// removeIncidents removes the incidents at a channel.
func (t *transaction) removeIncidents(channelID uuid.UUID) {
	for key := range t.s.incidents {
		if key.channel == channelID {
			drop(t, t.s.incidents, key)
		}
	}
}
