package memstore

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
)

// about returns the flip of a delivery, unless it was pruned.
func (d *delivery) about() (flip, bool) {
	list := d.check.flips
	i, found := slices.BinarySearchFunc(list, d.flip, func(f flip, number int64) int { return cmp.Compare(f.number, number) })
	if !found {
		return flip{}, false
	}
	return list[i], true
}

// Alerts returns the content of claimed deliveries.
func (s *Store) Alerts(ctx context.Context, claimed []store.QueuedDelivery) (list []store.Alert, err error) {
	err = s.view(ctx, func() {
		for _, q := range claimed {
			if d := s.deliveries[q.ID]; d != nil {
				list = append(list, s.content(d, q))
			}
		}
	})
	return list, err
}

// content returns the content of a delivery that was claimed as q.
func (s *Store) content(d *delivery, q store.QueuedDelivery) store.Alert {
	c := d.check
	a := store.Alert{
		QueuedDelivery: q, Check: c.locked().Check, Project: c.project.Name, Channel: s.channel(d.ChannelID),
		Reminder: d.reminder, Earlier: d.earlier(), Close: d.close, Open: s.incidents[incident{c.ID, d.ChannelID}].Open,
	}
	if a.Channel.Kind == channels.Group {
		a.Members = s.existing(channels.GroupMembers(a.Channel))
	}
	if f, found := d.about(); found {
		a.Flip = f.AlertFlip
		if f.Up {
			a.DownAt = c.downBefore(f)
		} else {
			a.UpAt = c.upAfter(f)
		}
	}
	if len(c.log) > 0 {
		p := c.log[len(c.log)-1].Ping
		a.BodyEnd = slices.Clone(p.Body[max(0, len(p.Body)-channels.MaxEnd):])
		p.Body = p.Body[:min(len(p.Body), channels.MaxBody)]
		a.Ping = clonePing(p)
	}
	return a
}

// downBefore returns the instant of the last flip down before a flip, or the zero time. Instants can be out of order
// after a clock was set back.
func (c *check) downBefore(f flip) (at time.Time) {
	for _, b := range c.flips {
		if !b.Up && b.number < f.number && !b.At.After(f.At) && !b.At.Before(at) {
			at = b.At
		}
	}
	return at
}

// upAfter returns the instant of the first flip up after a flip, or the zero time.
func (c *check) upAfter(f flip) (at time.Time) {
	for _, b := range c.flips {
		if b.Up && b.number > f.number && !b.At.Before(f.At) && (at.IsZero() || b.At.Before(at)) {
			at = b.At
		}
	}
	return at
}

// earlier returns the newest flips that a delivery sums up, oldest first.
func (d *delivery) earlier() (list []store.AlertFlip) {
	if d.Since.IsZero() {
		return nil
	}
	for _, f := range d.check.flips {
		if f.number < d.flip && !f.At.Before(d.Since) {
			list = append(list, f.AlertFlip)
		}
	}
	slices.SortStableFunc(list, func(a, b store.AlertFlip) int { return a.At.Compare(b.At) })
	return list[max(0, len(list)-store.MaxEarlier):]
}

// Deliveries returns deliveries, newest first.
func (s *Store) Deliveries(ctx context.Context, q store.DeliveryQuery) (list []store.Delivery, err error) {
	err = s.view(ctx, func() {
		var found []*delivery
		for _, d := range s.deliveries {
			if d.check.ProjectID == q.Project && (q.IDs == nil || slices.Contains(q.IDs, d.ID)) &&
				(q.Check == uuid.Nil || d.check.ID == q.Check) && (q.Channel == uuid.Nil || d.ChannelID == q.Channel) &&
				(q.State == "" || d.State == q.State) && (q.Before <= 0 || d.ID < q.Before) {
				found = append(found, d)
			}
		}
		slices.SortFunc(found, func(a, b *delivery) int { return cmp.Compare(b.ID, a.ID) })
		for _, d := range found[:min(q.Limit, len(found))] {
			list = append(list, s.history(d))
		}
	})
	return list, err
}

// history returns a delivery as an entry of the history.
func (s *Store) history(d *delivery) store.Delivery {
	channel := s.channel(d.ChannelID)
	entry := store.Delivery{
		ID: d.ID, CheckID: d.check.ID, CheckName: d.check.Name,
		ChannelID: channel.ID, ChannelName: channel.Name, ChannelKind: channel.Kind,
		Status: channels.Down, Reminder: d.reminder, State: d.State, Attempts: d.Attempts,
		CreatedAt: d.CreatedAt, FinishedAt: d.finishedAt, Error: d.Error, Close: d.close,
	}
	f, found := d.about()
	if found {
		entry.Reason = f.Reason
	}
	if f.Up || d.close != "" {
		entry.Status = channels.Up
	}
	if d.State == store.DeliveryPending {
		entry.Due = d.Due
	}
	return entry
}
