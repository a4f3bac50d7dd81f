package courier

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/verdict"
)

// waitsAfter is how long an alert may take before it counts as waiting.
const waitsAfter = time.Minute

// Outcomes returns what became of the alerts to channels of a project. With last, Delivered is known of all of them, and
// otherwise of those that fail.
func (c *Courier) Outcomes(ctx context.Context, projectID uuid.UUID, list []channels.Channel, last bool) (map[uuid.UUID]verdict.Outcome, error) {
	waiting, err := c.Store.Waiting(ctx, projectID, c.Now().Add(-waitsAfter))
	if err != nil {
		return nil, err
	}
	outcomes := make(map[uuid.UUID]verdict.Outcome, len(list))
	for _, to := range list {
		w := waiting[to.ID]
		var sent int64 // the delivery that arrived last
		o := verdict.Outcome{Waiting: w.Alerts, Attempts: w.Attempts, Oldest: w.Oldest, Newest: w.Newest, Error: w.Error}
		if last || w.Alerts > 0 || !to.FailedAt.IsZero() {
			d, err := c.newest(ctx, projectID, to.ID, checks.DeliverySent)
			if err != nil {
				return nil, err
			}
			o.Delivered, sent = d.FinishedAt, d.ID
		}
		if !to.FailedAt.IsZero() {
			d, err := c.newest(ctx, projectID, to.ID, checks.DeliveryFailed)
			if err != nil {
				return nil, err
			}
			o.InPart = d.InPart || d.Recipient != ""
			if o.FirstGivenUp, err = c.Store.FirstGivenUp(ctx, projectID, to.ID, sent); err != nil {
				return nil, err
			}
		}
		outcomes[to.ID] = o
	}
	return outcomes, nil
}

// newest returns the newest delivery to a channel in a state, or the zero value.
func (c *Courier) newest(ctx context.Context, projectID, channel uuid.UUID, state checks.DeliveryState) (checks.Delivery, error) {
	list, err := c.Store.Deliveries(ctx, projectID, checks.DeliveryQuery{Channel: channel, State: state, Limit: 1})
	if err != nil || len(list) == 0 {
		return checks.Delivery{}, err
	}
	return list[0], nil
}
