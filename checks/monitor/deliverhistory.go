package monitor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/internal/feed"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
	"github.com/rollcall-dev/rollcall/pings"
)

// DeliveryState is the state of a delivery. It is the type of package store under the same name.
type DeliveryState = store.DeliveryState

// The states of a delivery. All but DeliveryPending are final.
const (
	DeliveryPending    DeliveryState = store.DeliveryPending    // to be sent, being sent, or to be sent again
	DeliverySent       DeliveryState = store.DeliverySent       // the receiver has accepted it
	DeliveryFailed     DeliveryState = store.DeliveryFailed     // it was given up
	DeliverySuperseded DeliveryState = store.DeliverySuperseded // it was late, and a newer alert replaced it
	DeliverySkipped    DeliveryState = store.DeliverySkipped    // the channel does not want alerts about that status
)

// Delivery is an entry of the history of deliveries.
type Delivery struct {
	// ID identifies the delivery within its database.
	ID int64
	// CheckID and CheckName are those of the check that the alert is about.
	CheckID   uuid.UUID
	CheckName string
	// ChannelID, ChannelName and ChannelKind are those of the channel that it goes to.
	ChannelID   uuid.UUID
	ChannelName string
	ChannelKind channels.Kind
	// Status is the status that the alert reports.
	Status channels.Status
	// Reason says why the status changed. It is "" if the flip was pruned.
	Reason checks.Reason
	// Close says why the delivery closes an incident at its receiver without an alert, such as "the check was paused". It is
	// "" for an alert.
	Close string
	// Reminder is 0 for the alert itself and counts the reminders from 1.
	Reminder int
	// State is the state of the delivery.
	State DeliveryState
	// Attempts counts the attempts to send it, including one in progress.
	Attempts int
	// CreatedAt is when the alert was raised, in UTC.
	CreatedAt time.Time
	// Due is when a pending delivery can be claimed next. It is the zero time in a final state.
	Due time.Time
	// FinishedAt is when the delivery reached its final state, or the zero time.
	FinishedAt time.Time
	// Error is the error of the last attempt, at most [MaxDeliveryError] characters.
	Error string
}

// DeliveryQuery selects deliveries. The zero value of a field other than Project selects all.
type DeliveryQuery struct {
	// Project is the project that the deliveries belong to.
	Project uuid.UUID
	// IDs selects the deliveries with these identifiers.
	IDs []int64
	// Check and Channel select the deliveries of one check and to one channel.
	Check, Channel uuid.UUID
	// State selects the deliveries in one state.
	State DeliveryState
	// Before selects lower identifiers: pass the last one of a page to get the next page.
	Before int64
	// Limit bounds the number of deliveries. Default: [DefaultDeliveries].
	Limit int
}

// DefaultDeliveries is the number of deliveries that a [DeliveryQuery] with the Limit 0 returns.
const DefaultDeliveries = 100

// Deliveries returns deliveries of a project, newest first. The monitor keeps them as long as flips (server/API.md
// section 8), and pending ones until they are final. Errors: *[checks.FieldError] for the state or the limit,
// [checks.ErrNotFound] for the project.
func (m *Monitor) Deliveries(ctx context.Context, q DeliveryQuery) ([]Delivery, error) {
	states := []DeliveryState{"", DeliveryPending, DeliverySent, DeliveryFailed, DeliverySuperseded, DeliverySkipped}
	switch {
	case !slices.Contains(states, q.State):
		return nil, &checks.FieldError{Field: "state",
			Reason: fmt.Sprintf("must be pending, sent, failed, superseded or skipped: %q", q.State)}
	case q.Limit < 0:
		return nil, &checks.FieldError{Field: "limit", Reason: fmt.Sprintf("is too small: %d, the minimum is 0", q.Limit)}
	case q.Limit == 0:
		q.Limit = DefaultDeliveries
	}
	rows, err := m.store.Deliveries(ctx, store.DeliveryQuery(q))
	list := make([]Delivery, len(rows))
	for i, d := range rows {
		list[i] = Delivery(d)
	}
	return list, m.exists(ctx, q.Project, len(list), err)
}

// RetryDeliveries makes failed deliveries of a project pending again, with no attempts counted, and returns how many.
// If an identifier is not that of a failed delivery of the project, it changes nothing and returns
// [checks.ErrNotFound].
func (m *Monitor) RetryDeliveries(ctx context.Context, projectID uuid.UUID, ids ...int64) (int, error) {
	ids = slices.Compact(slices.Sorted(slices.Values(ids)))
	if len(ids) == 0 {
		return 0, m.exists(ctx, projectID, 0, nil)
	}
	query := store.DeliveryQuery{Project: projectID, IDs: ids, State: DeliveryFailed, Limit: len(ids)}
	list, err := m.store.Deliveries(ctx, query)
	if err != nil {
		return 0, err
	}
	if len(list) < len(ids) {
		return 0, checks.ErrNotFound
	}
	return m.retry(ctx, projectID, list, len(ids))
}

// retryPage is the number of deliveries that one transaction makes pending again.
const retryPage = 500

// RetryFailedDeliveries makes all failed deliveries of a project pending again, with no attempts counted, and returns
// how many. Error: [checks.ErrNotFound].
func (m *Monitor) RetryFailedDeliveries(ctx context.Context, projectID uuid.UUID) (retried int, err error) {
	query := store.DeliveryQuery{Project: projectID, State: DeliveryFailed, Limit: retryPage}
	for {
		list, err := m.store.Deliveries(ctx, query)
		if err != nil || len(list) == 0 {
			return retried, m.exists(ctx, projectID, retried, err)
		}
		n, err := m.retry(ctx, projectID, list, 0)
		retried += n
		if err != nil {
			return retried, err
		}
		query.Before = list[len(list)-1].ID
	}
}

// retry makes the failed ones among deliveries of a project pending again. If there are fewer than least, it changes nothing and
// returns [checks.ErrNotFound].
func (m *Monitor) retry(ctx context.Context, projectID uuid.UUID, list []store.Delivery, least int) (retried int, err error) {
	ids := make([]int64, len(list))
	for i, d := range list {
		ids[i] = d.ID
	}
	err = m.store.Update(ctx, func(ctx context.Context, tx store.Tx) error {
		rows, err := tx.LockDeliveries(ctx, ids)
		if err != nil {
			return err
		}
		changes := store.DeliveryChanges{Now: m.Now()}
		for _, q := range rows {
			if q.State == DeliveryFailed {
				q.State, q.Attempts, q.Due, q.Error = DeliveryPending, 0, changes.Now, ""
				changes.Deliveries = append(changes.Deliveries, q)
			}
		}
		if retried = len(changes.Deliveries); retried < least {
			return checks.ErrNotFound
		}
		return tx.SaveDeliveries(ctx, changes)
	})
	if err != nil {
		return 0, err
	}
	if retried > 0 {
		m.delivery.wake()
		changed := make([]feed.Note, len(list))
		for i, d := range list {
			changed[i] = feed.Delivery(projectID, d.CheckID)
		}
		m.feed.Publish(ctx, changed...)
	}
	return retried, nil
}

// TestChannel sends a test alert to a channel of a project, or to each member of a group. It neither records nor
// retries the attempt. The error is that of the notifier, with the text that [Delivery].Error would have; a
// *[NotConfiguredError] if the kind has no notifier; or [checks.ErrNotFound]. TestChannel also closes the incident that
// the test has opened at an [channels.IncidentNotifier].
func (m *Monitor) TestChannel(ctx context.Context, projectID, channelID uuid.UUID) error {
	project, err := m.Project(ctx, projectID)
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
		return errNoMembers
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

// test sends a test alert to one channel.
func (m *Monitor) test(ctx context.Context, project checks.Project, c channels.Channel) error {
	notifier := m.delivery.notifiers[c.Kind]
	if notifier == nil {
		return &NotConfiguredError{c.Kind}
	}
	ctx, cancel := context.WithTimeout(ctx, m.delivery.Timeout)
	defer cancel()
	now := m.Now()
	check := checks.Check{ID: uuid.New(), Settings: checks.Defaults(), State: checks.State{NPings: 1}}
	check.Name, check.Slug, check.Desc = "Test", "test", "The description of the check."
	output := []byte("The last lines of the job's output.\n")
	n := channels.Notification{
		ID: uuid.NewString(), Incident: uuid.NewString(), Check: m.describe(check, project.Name),
		Status: channels.Down, At: now,
		Ping: channels.Ping{
			At: now.Add(-checks.DefaultTimeout - checks.DefaultGrace), Kind: string(pings.Success),
			Duration: 41 * time.Second, Body: output, End: output,
		},
		Reason: "this is a test", Test: true,
	}
	n.Check.URL = "" // the check has no page
	open, err := notify(ctx, notifier, c, "", func() channels.Notification { return n })
	if open != "" { // the test leaves no incident open
		n.ID, n.Status = uuid.NewString(), channels.Up
		_, closing := notify(ctx, notifier, c, open, func() channels.Notification { return n })
		err = cmp.Or(err, closing)
	}
	if err == nil {
		return nil
	}
	return &sendError{err: err, text: m.errorText(c, err)}
}

// sendError is an error of a notifier with a text that is safe to show to users.
type sendError struct {
	err  error
	text string
}

func (e *sendError) Error() string { return e.text }
func (e *sendError) Unwrap() error { return e.err }
