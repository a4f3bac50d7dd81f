package memstore

import (
	"bytes"
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
)

// delivery is a delivery of the outbox. Its check and its channel exist.
type delivery struct {
	store.QueuedDelivery
	check      *check
	flip       int64 // the number of its flip, which may be pruned, or 0
	reminder   int
	finishedAt time.Time
	close      string // why it closes an incident, or "" for an alert
}

// line identifies the pending deliveries of one check to one channel.
type line struct {
	check   *check
	channel uuid.UUID
}

// alert identifies what a delivery says to its channel.
type alert struct {
	line
	flip     int64
	reminder int
	raised   int64 // microseconds since 1970
}

func (d *delivery) line() line { return line{d.check, d.ChannelID} }

func (d *delivery) alert() alert {
	return alert{d.line(), d.flip, d.reminder, d.CreatedAt.UnixMicro()}
}

// addDelivery adds a pending delivery, which gets a new ID.
func (t *transaction) addDelivery(d *delivery) {
	d.ID, d.State = t.s.next(), store.DeliveryPending
	put(t, t.s.deliveries, d.ID, d)
	put(t, t.s.alerts, d.alert(), true)
	t.join(d)
}

// removeDelivery removes a delivery, unless it is removed already.
func (t *transaction) removeDelivery(d *delivery) {
	drop(t, t.s.deliveries, d.ID)
	drop(t, t.s.alerts, d.alert())
	t.leave(d)
}

// removeDeliveries removes the deliveries that a function selects.
func (t *transaction) removeDeliveries(selects func(*delivery) bool) {
	for _, d := range t.s.deliveries {
		if selects(d) {
			t.removeDelivery(d)
		}
	}
}

// join adds a delivery to its line.
func (t *transaction) join(d *delivery) {
	list := t.s.lines[d.line()]
	i, _ := slices.BinarySearchFunc(list, d.ID, func(other *delivery, id int64) int { return cmp.Compare(other.ID, id) })
	if i == len(list) {
		list = append(list, d)
	} else {
		list = slices.Insert(slices.Clone(list), i, d)
	}
	put(t, t.s.lines, d.line(), list)
}

// leave removes a delivery from its line, if it is there.
func (t *transaction) leave(d *delivery) {
	list := t.s.lines[d.line()]
	switch i := slices.Index(list, d); {
	case i < 0:
	case len(list) == 1:
		drop(t, t.s.lines, d.line())
	case i == 0: // the usual case, also of a long line
		put(t, t.s.lines, d.line(), list[1:])
	default:
		put(t, t.s.lines, d.line(), slices.Concat(list[:i], list[i+1:]))
	}
}

// DueChannels returns the channels that have a delivery due. It looks at the first delivery of each line.
func (s *Store) DueChannels(ctx context.Context, now time.Time, after uuid.UUID, limit int) (ids []uuid.UUID, err error) {
	compare := func(a, b uuid.UUID) int { return bytes.Compare(a[:], b[:]) }
	err = s.view(ctx, func() {
		for line, list := range s.lines {
			if !list[0].Due.After(now) && compare(line.channel, after) > 0 {
				ids = append(ids, line.channel)
			}
		}
	})
	slices.SortFunc(ids, compare)
	ids = slices.Compact(ids)
	return ids[:min(limit, len(ids))], err
}

// Backlog summarizes the pending deliveries.
func (s *Store) Backlog(ctx context.Context, now time.Time) (b store.Backlog, err error) {
	err = s.view(ctx, func() {
		for _, list := range s.lines {
			b.Pending = min(b.Pending+len(list), store.MaxPending)
			if due := list[0].Due; !due.After(now) && (b.OldestDue.IsZero() || due.Before(b.OldestDue)) {
				b.OldestDue = due
			}
		}
	})
	return b, err
}

// ClaimDeliveries leases due deliveries that are the first of their line.
func (t *transaction) ClaimDeliveries(_ context.Context, c store.DeliveryClaim) (claimed []store.QueuedDelivery, err error) {
	due := make(map[uuid.UUID][]*delivery)
	for line, list := range t.s.lines {
		if !list[0].Due.After(c.Now) {
			due[line.channel] = append(due[line.channel], list[0])
		}
	}
	for _, room := range c.Room {
		list := due[room.Channel]
		slices.SortFunc(list, func(a, b *delivery) int { return cmp.Or(a.Due.Compare(b.Due), cmp.Compare(a.ID, b.ID)) })
		for _, d := range list[:min(room.N, len(list))] {
			save(t, d)
			d.Attempts++
			d.Due = c.Until
			claimed = append(claimed, d.QueuedDelivery)
		}
	}
	return claimed, nil
}

// LockDeliveries returns the deliveries that exist.
func (t *transaction) LockDeliveries(_ context.Context, ids []int64) (list []store.QueuedDelivery, err error) {
	for _, id := range ids {
		if d := t.s.deliveries[id]; d != nil {
			list = append(list, d.QueuedDelivery)
		}
	}
	return list, nil
}

// LockLines returns lines by the ID of their first delivery.
func (t *transaction) LockLines(_ context.Context, ids []int64) (map[int64][]store.WaitingDelivery, error) {
	lines := make(map[int64][]store.WaitingDelivery, len(ids))
	for _, id := range ids {
		first := t.s.deliveries[id]
		if first == nil {
			continue
		}
		for _, d := range t.s.lines[first.line()] {
			w := store.WaitingDelivery{QueuedDelivery: d.QueuedDelivery, FlipID: d.flip, FlipAt: d.CreatedAt}
			if f, found := d.about(); found {
				w.FlipAt, w.FlipUp = f.At, f.Up
			}
			w.FlipUp = w.FlipUp || d.close != ""
			lines[id] = append(lines[id], w)
		}
	}
	return lines, nil
}

// OnAlertUntil keeps the latest instant until which alerts also go to [store.OnAlert].
func (t *transaction) OnAlertUntil(_ context.Context, until time.Time) error {
	if until.After(t.s.onAlertUntil) {
		save(t, &t.s.onAlertUntil)
		t.s.onAlertUntil = until
	}
	return nil
}

// SaveDeliveries writes changes to deliveries, their copies, the marks of channels, and incidents.
func (t *transaction) SaveDeliveries(ctx context.Context, c store.DeliveryChanges) error {
	for _, q := range c.Deliveries {
		if d := t.s.deliveries[q.ID]; d != nil {
			t.saveDelivery(d, q, c.Now)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(c.Copies)) {
		t.copyDelivery(t.s.deliveries[id], c.Copies[id], c.Now)
	}
	for _, q := range c.Deliveries {
		if d := t.s.deliveries[q.ID]; d != nil && d.State != store.DeliveryPending {
			t.wakeNext(d, c.Now)
		}
	}
	for id, mark := range c.Marks {
		if channel, found := t.s.channels[id]; found {
			channel.FailedAt, channel.Error = mark.FailedAt, mark.Error
			put(t, t.s.channels, id, channel)
		}
	}
	for _, i := range c.Incidents {
		if err := t.SaveIncident(ctx, i); err != nil {
			return err
		}
	}
	return nil
}

// RecordResults writes the results that count.
func (t *transaction) RecordResults(ctx context.Context, now time.Time, results []store.DeliveryResult) error {
	c := store.DeliveryChanges{Now: now, Copies: make(map[int64][]uuid.UUID), Marks: make(map[uuid.UUID]store.ChannelMark)}
	for _, r := range results {
		d := t.s.deliveries[r.ID]
		if d == nil || d.State != store.DeliveryPending || d.Attempts != r.Claim && r.State != store.DeliverySent {
			continue
		}
		if d.Attempts != r.Claim {
			r.Attempts, r.Since = d.Attempts, d.Since
		}
		c.Deliveries = append(c.Deliveries, r.QueuedDelivery)
		c.Copies[r.ID] = r.Copies
		if r.Mark != nil {
			c.Marks[r.ChannelID] = *r.Mark
		}
		if r.Incident != nil {
			c.Incidents = append(c.Incidents, *r.Incident)
		}
	}
	return t.SaveDeliveries(ctx, c)
}

// saveDelivery writes the changes to a delivery.
func (t *transaction) saveDelivery(d *delivery, q store.QueuedDelivery, now time.Time) {
	before := d.State
	save(t, d)
	d.State, d.Attempts, d.Due, d.Since, d.Error = q.State, q.Attempts, checks.Instant(q.Due), q.Since, q.Error
	d.Done = slices.Clone(q.Done)
	d.finishedAt = time.Time{}
	if d.State != store.DeliveryPending {
		d.finishedAt = now
		t.leave(d)
	} else if before != store.DeliveryPending {
		t.join(d)
	}
}

// copyDelivery adds deliveries of the same alert to further channels.
func (t *transaction) copyDelivery(d *delivery, to []uuid.UUID, now time.Time) {
	if d == nil {
		return
	}
	for _, channel := range t.s.existing(to) {
		copied := &delivery{
			QueuedDelivery: store.QueuedDelivery{ChannelID: channel, CreatedAt: d.CreatedAt, Due: now, Since: d.Since},
			check:          d.check, flip: d.flip, reminder: d.reminder,
		}
		if !t.s.alerts[copied.alert()] {
			t.addDelivery(copied)
		}
	}
}

// wakeNext makes the next delivery of a line due after one that has ended, unless it was claimed before.
func (t *transaction) wakeNext(ended *delivery, now time.Time) {
	list := t.s.lines[ended.line()]
	if len(list) > 0 && list[0].Attempts == 0 && list[0].Due.After(now) {
		save(t, list[0])
		list[0].Due = now
	}
}
