package monitor

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/pings"
)

// DefaultDeliveries is how many deliveries are listed where [DeliveryQuery].Limit is 0.
const DefaultDeliveries = 100

// Deliveries returns deliveries of a project, newest first. They are kept as long as flips (API-V3.md section 8), and
// those that are pending until they are over. Error: *[checks.FieldError] for the state or the limit.
func (m *Monitor) Deliveries(ctx context.Context, q DeliveryQuery) ([]Delivery, error) {
	states := []DeliveryState{"", DeliveryPending, DeliverySent, DeliveryFailed, DeliverySuperseded}
	switch {
	case !slices.Contains(states, q.State):
		return nil, &checks.FieldError{Field: "state",
			Reason: fmt.Sprintf("must be pending, sent, failed or superseded: %q", q.State)}
	case q.Limit < 0:
		return nil, &checks.FieldError{Field: "limit", Reason: fmt.Sprintf("is too small: %d, the minimum is 0", q.Limit)}
	case q.Limit == 0:
		q.Limit = DefaultDeliveries
	}
	return m.store.Deliveries(ctx, q)
}

// RetryDeliveries makes failed deliveries of a project pending again, due at once, and returns how many. The error is
// [checks.ErrNotFound], and nothing was changed, when one of the identifiers is not that of a failed delivery of the
// project.
func (m *Monitor) RetryDeliveries(ctx context.Context, projectID uuid.UUID, ids ...int64) (int, error) {
	slices.Sort(ids)
	return m.retry(ctx, projectID, append([]int64{}, slices.Compact(ids)...))
}

// RetryFailedDeliveries makes all failed deliveries of a project pending again, due at once, and returns how many.
func (m *Monitor) RetryFailedDeliveries(ctx context.Context, projectID uuid.UUID) (int, error) {
	return m.retry(ctx, projectID, nil)
}

func (m *Monitor) retry(ctx context.Context, projectID uuid.UUID, ids []int64) (int, error) {
	n, err := m.store.RetryDeliveries(ctx, projectID, ids, m.Now())
	if err == nil && n > 0 {
		m.delivery.wake()
	}
	return n, err
}

// TestChannel sends a test alert to an integration of a project now, and to each member of a group. It is not recorded
// and not tried again. It returns what the notifier returned, with the text that would be kept in [Delivery].Error;
// *[NotConfiguredError] when there is none for the kind, and [checks.ErrNotFound].
func (m *Monitor) TestChannel(ctx context.Context, projectID, channelID uuid.UUID) error {
	project, err := m.store.Project(ctx, projectID)
	if err != nil {
		return err
	}
	list, err := m.store.Channels(ctx, projectID)
	if err != nil {
		return err
	}
	c, found := channelByID(list, channelID)
	if !found {
		return checks.ErrNotFound
	}
	if c.Kind != channels.Group {
		return m.test(ctx, project, c)
	}
	var failures []error
	members := 0
	for _, id := range channels.GroupMembers(c) {
		member, found := channelByID(list, id)
		if !found {
			continue
		}
		members++
		if err := m.test(ctx, project, member); err != nil {
			failures = append(failures, fmt.Errorf("%s %q (%s): %w", member.Kind, member.Name, member.ID, err))
		}
	}
	if members == 0 {
		return errors.New("the group has no members")
	}
	return errors.Join(failures...)
}

func channelByID(list []channels.Channel, id uuid.UUID) (channels.Channel, bool) {
	i := slices.IndexFunc(list, func(c channels.Channel) bool { return c.ID == id })
	if i < 0 {
		return channels.Channel{}, false
	}
	return list[i], true
}

// test sends a test alert to one integration.
func (m *Monitor) test(ctx context.Context, project checks.Project, c channels.Channel) error {
	notifier := m.delivery.notifiers[c.Kind]
	if notifier == nil {
		return &NotConfiguredError{c.Kind}
	}
	ctx, cancel := context.WithTimeout(ctx, m.delivery.Timeout)
	defer cancel()
	now := m.Now()
	err := notify(ctx, notifier, c, func() channels.Notification {
		check := checks.Check{
			ID: uuid.New(), Settings: checks.Defaults(), State: checks.State{NPings: 1},
		}
		check.Name, check.Slug = "Test", "test"
		return channels.Notification{
			ID: uuid.NewString(), Incident: uuid.NewString(), Check: m.describe(check, project.Name),
			Status: channels.Down, At: now,
			Ping:   channels.Ping{At: now.Add(-checks.DefaultTimeout - checks.DefaultGrace), Kind: string(pings.Success)},
			Reason: "this is a test", Test: true,
		}
	})
	if err == nil {
		return nil
	}
	return &sendError{err: err, text: m.errorText(c, err)}
}

// sendError is a notifier's error with a text that can be shown.
type sendError struct {
	err  error
	text string
}

func (e *sendError) Error() string { return e.text }
func (e *sendError) Unwrap() error { return e.err }
