package courier

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
)

// List returns deliveries of a project, newest first. Error: *[checks.FieldError].
func (c *Courier) List(ctx context.Context, projectID uuid.UUID, q checks.DeliveryQuery) ([]checks.Delivery, error) {
	switch q.State {
	case "", checks.DeliveryPending, checks.DeliverySent, checks.DeliveryFailed, checks.DeliverySuperseded, checks.DeliverySkipped:
	default:
		return nil, &checks.FieldError{Field: "state", Reason: fmt.Sprintf("must be pending, sent, failed, superseded or skipped: %q", q.State)}
	}
	if q.Limit < 0 {
		return nil, &checks.FieldError{Field: "limit", Reason: fmt.Sprintf("is too small: %d, the minimum is 0", q.Limit)}
	}
	return c.Store.Deliveries(ctx, projectID, q)
}

// Retry makes failed deliveries of a project pending again, each with one attempt counted if it had any, and returns how many. If an
// identifier is not that of a failed delivery of the project, it changes nothing and returns [checks.ErrNotFound].
func (c *Courier) Retry(ctx context.Context, projectID uuid.UUID, ids []int64) (int, error) {
	ids = slices.Compact(slices.Sorted(slices.Values(ids)))
	if len(ids) == 0 {
		return 0, nil
	}
	query := checks.DeliveryQuery{IDs: ids, State: checks.DeliveryFailed, Limit: len(ids)}
	list, err := c.Store.Deliveries(ctx, projectID, query)
	if err != nil {
		return 0, err
	}
	if len(list) < len(ids) {
		return 0, checks.ErrNotFound
	}
	return c.retry(ctx, projectID, list, len(ids))
}

// retryPage is the number of deliveries that one transaction makes pending again.
const retryPage = 500

// RetryFailed makes all failed deliveries of a project pending again, each with one attempt counted if it had any, and returns how many.
func (c *Courier) RetryFailed(ctx context.Context, projectID uuid.UUID) (retried int, err error) {
	query := checks.DeliveryQuery{State: checks.DeliveryFailed, Limit: retryPage}
	for {
		list, err := c.Store.Deliveries(ctx, projectID, query)
		if err != nil || len(list) == 0 {
			return retried, err
		}
		n, err := c.retry(ctx, projectID, list, 0)
		retried += n
		if err != nil {
			return retried, err
		}
		query.Before = list[len(list)-1].ID
	}
}

// retry makes the failed ones among deliveries of a project pending again. If there are fewer than least, it changes
// nothing and returns [checks.ErrNotFound].
func (c *Courier) retry(ctx context.Context, projectID uuid.UUID, list []checks.Delivery, least int) (retried int, err error) {
	ids := make([]int64, len(list))
	changed := make([]Change, len(list))
	for i, d := range list {
		ids[i], changed[i] = d.ID, Change{Project: projectID, Check: d.CheckID}
	}
	err = c.Store.Update(ctx, func(ctx context.Context, tx store.Tx) error {
		retried, err = tx.RetryDeliveries(ctx, ids, c.Now())
		if err == nil && retried < least {
			err = checks.ErrNotFound
		}
		return err
	})
	if err != nil {
		return 0, err
	}
	if retried > 0 {
		c.Wake()
		c.Changed(ctx, changed)
	}
	return retried, nil
}

// parked is how much later than its turn a delivery may be due that waits in its line.
const parked = time.Second

// Remaining returns how many alerts this courier has not delivered that were raised at or before an instant: those that are
// due, and those that have failed and will be retried. It leaves out those that another process is sending.
func (c *Courier) Remaining(ctx context.Context, raised time.Time) (n int, err error) {
	if !c.Delivers() {
		return 0, nil
	}
	left, err := c.Store.Remaining(ctx, raised, c.Now().Add(parked))
	for channel, alerts := range left {
		if c.Serves(channel) {
			n += alerts
		}
	}
	return n, err
}

// abandonChannels bounds the channels of one transaction of Abandon, and abandonLines the lines of each.
const abandonChannels, abandonLines = 20, 10

// Abandon fails the deliveries that the courier leaves to others and that have been due for GiveUp without any server
// claiming them.
func (c *Courier) Abandon(ctx context.Context) error {
	if c.toChannels && c.Serves(store.OnAlert.ID) {
		return nil
	}
	for {
		if failed, err := c.abandonSome(ctx); err != nil || failed == 0 {
			return err
		}
	}
}

func (c *Courier) abandonSome(ctx context.Context) (failed int, err error) {
	now := c.Now()
	late := now.Add(-c.GiveUp)
	due, err := c.Store.DueChannels(ctx, late, uuid.Nil, abandonChannels) // store.OnAlert has the lowest ID
	due = slices.DeleteFunc(due, func(d store.DueChannel) bool { return c.Serves(d.Channel) })
	if err != nil || len(due) == 0 {
		return 0, err
	}
	err = c.Store.Update(ctx, func(ctx context.Context, tx store.Tx) error {
		failed, err = c.failLines(ctx, tx, due, late, now)
		return err
	})
	if err == nil && failed > 0 {
		c.Changed(ctx, []Change{{}}) // claims do not say which checks they are about, and this is rare
	}
	return failed, err
}

// failLines fails the deliveries to channels that are late and first in their lines, and those behind them.
func (c *Courier) failLines(ctx context.Context, tx store.CourierTx, due []store.DueChannel, late, now time.Time) (failed int, err error) {
	claim := store.DeliveryClaim{Now: late, Until: now}
	for _, d := range due {
		claim.Room = append(claim.Room, store.ChannelRoom{Channel: d.Channel, N: abandonLines})
	}
	claimed, err := tx.ClaimDeliveries(ctx, claim)
	if err != nil {
		return 0, err
	}
	ids := make([]int64, len(claimed))
	for i, q := range claimed {
		ids[i] = q.ID
	}
	lines, err := tx.LockLines(ctx, ids)
	if err != nil {
		return 0, err
	}
	var results []store.DeliveryResult
	for _, line := range lines {
		for i, w := range line {
			if w.CreatedAt.After(late) || w.HeldUntil.After(late) { // the claim may have changed Due
				continue
			}
			missing := "a notifier"
			if w.ChannelID == store.OnAlert.ID {
				missing = "OnAlert"
			}
			r := ended(w.QueuedDelivery, checks.DeliveryFailed, fmt.Sprintf("not sent within %v: no server has %s", c.GiveUp, missing))
			if i == 0 {
				r.Attempts-- // the claim was no attempt
			}
			r.Mark = &store.ChannelMark{FailedAt: now, Error: r.Error}
			results = append(results, r)
		}
	}
	return len(results), tx.RecordResults(ctx, now, results)
}
