package monitor

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
	"github.com/rollcall-dev/rollcall/flips"
)

// Views is what the pages and the badges of a server show: many checks at once, each with its state machine, and lookups by
// the keys in public addresses. No query of it depends on the number of checks.
type Views struct{ *service }

// Views returns what pages and badges show, for a server.
func (m *Monitor) Views() *Views { return &Views{m.service} }

// CheckByBadgeKey returns the check with this badge key, in any project. Error: [checks.ErrNotFound].
func (v *Views) CheckByBadgeKey(ctx context.Context, key uuid.UUID) (checks.Check, error) {
	c, err := one(v.store.Checks(ctx, store.CheckFilter{BadgeKey: &key}))
	return c, about("check", "of a badge key", err) // which is a secret
}

// CheckIDBySlug returns the identifier of the check with a slug, in the project with the ping key. Errors:
// [checks.ErrNotFound], [checks.ErrAmbiguousSlug], [checks.ErrUnavailable].
func (v *Views) CheckIDBySlug(ctx context.Context, pingKey, slug string) (uuid.UUID, error) {
	id, _, err := v.checkIDBySlug(ctx, pingKey, slug, false, true)
	return id, about("slug", slug, err)
}

// Transitions returns, for each of the checks that has some, its transitions and pauses at or after an instant, by time.
// Those of one instant are in the order in which they happened. What the clock has done and nobody has recorded yet is not
// among them; see [checks.Check.Settle].
func (v *Views) Transitions(ctx context.Context, ids []uuid.UUID, since time.Time) (map[uuid.UUID][]checks.Transition, error) {
	return v.transitions(ctx, ids, since)
}

// CheckEvent is a transition or a pause of one of several checks.
type CheckEvent struct {
	// CheckID is the identifier of the check.
	CheckID uuid.UUID
	// Transition is what happened, and when.
	checks.Transition
}

// Events returns the newest transitions and pauses of checks that the query selects, newest first, those that nobody has
// recorded yet included. The query has a Limit; all events at the instant of the last one are among them.
func (v *Views) Events(ctx context.Context, list []checks.Check, q EventQuery) (newest []CheckEvent, err error) {
	// It looks at spans that grow, so that it reads little of a long history.
	now := v.now()
	until := q.Before
	if until.IsZero() {
		until = now.Add(24 * time.Hour) // a clock was set back
	}
	ids := make([]uuid.UUID, len(list))
	for i, c := range list {
		ids[i] = c.ID
	}
	q.Limit = max(q.Limit, 1)
	oldest := flips.RetentionBoundary(now)
	all := map[uuid.UUID][]checks.Event{}
	for span := 48 * time.Hour; len(ids) > 0; span *= 4 {
		from := until.Add(-span)
		if all, err = v.store.Events(ctx, store.EventQuery{Checks: ids, From: from, Until: until, Limit: q.Limit}); err != nil {
			return nil, err
		}
		found := 0
		for _, events := range all {
			found += len(events)
		}
		if found >= q.Limit || from.Before(oldest) {
			break
		}
	}
	for _, c := range list {
		_, effects := c.Settle(now)
		for _, t := range effects.Transitions {
			recorded := slices.ContainsFunc(all[c.ID], func(e checks.Event) bool { return !e.At.Before(t.At) })
			if t.At.Before(until) && !recorded {
				newest = append(newest, CheckEvent{c.ID, t})
			}
		}
		for _, e := range slices.Backward(all[c.ID]) {
			newest = append(newest, CheckEvent{c.ID, e.Transition})
		}
	}
	slices.SortStableFunc(newest, func(a, b CheckEvent) int { return b.At.Compare(a.At) })
	return newest, nil
}

// Channel returns a channel of any project. Error: [checks.ErrNotFound].
func (v *Views) Channel(ctx context.Context, id uuid.UUID) (channels.Channel, error) {
	c, err := one(v.store.Channels(ctx, store.ChannelFilter{IDs: []uuid.UUID{id}}))
	return c, about("channel", id, err)
}

// Kinds returns the kinds of channels that [Project.CreateChannel] accepts, each once, with their settings.
func (v *Views) Kinds() (list []channels.Type) {
	for _, t := range v.config.Channels {
		if i := slices.IndexFunc(list, func(known channels.Type) bool { return known.Kind == t.Kind }); i >= 0 {
			list[i] = t
		} else {
			list = append(list, t)
		}
	}
	return list
}

// Kind returns a kind of channels, and whether it is one of [Views.Kinds].
func (v *Views) Kind(kind channels.Kind) (t channels.Type, known bool) {
	list := v.Kinds()
	i := slices.IndexFunc(list, func(t channels.Type) bool { return t.Kind == kind })
	if i < 0 {
		return channels.Type{}, false
	}
	return list[i], true
}

// Configured returns nil if this monitor can send alerts to channels of a kind. Otherwise the error says why not, for
// users: a *[channels.NotConfiguredError]. Another monitor on the database may be able to send them.
func (v *Views) Configured(kind channels.Kind) error { return v.courier.Configured(kind) }

// Undeliverable returns a *[channels.NotConfiguredError] if nobody sends alerts to channels of a kind: this monitor cannot,
// and [Config].DeliveredElsewhere is not set. For [channels.Function] it says whether there is Config.OnAlert.
func (v *Views) Undeliverable(kind channels.Kind) error {
	if v.config.DeliveredElsewhere && kind != channels.Function {
		return nil
	}
	return v.courier.Configured(kind)
}

// OnAlert returns the channel of deliveries to [Config].OnAlert, which no list has, and whether this monitor has the function.
func (v *Views) OnAlert() (channels.Channel, bool) {
	return store.OnAlert, v.courier.Configured(channels.Function) == nil
}
