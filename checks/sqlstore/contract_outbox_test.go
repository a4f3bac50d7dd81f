package sqlstore_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
	"github.com/rollcall-dev/rollcall/pings"
)

// watched adds a check with channels.
func (f fixture) watched(t *testing.T, list ...channels.Channel) checks.Check {
	t.Helper()
	c, err := checks.New(f.project.ID, checks.Spec{Name: new("watched")}, noon)
	if err != nil {
		t.Fatal(err)
	}
	for _, channel := range list {
		c.Channels = append(c.Channels, channel.ID)
	}
	f.update(t, func(ctx context.Context, tx store.Tx) error { return insertCheck(ctx, tx, c) })
	return c
}

// flip takes a check down and up again in turn, a second apart, beginning at an instant.
func (f fixture) flip(t *testing.T, c checks.Check, at time.Time, times int) {
	t.Helper()
	must(t, f.edit(t.Context(), c.ID, func(l *store.Locked) error {
		for i := range times {
			kind := pings.Failure
			if i%2 == 1 {
				kind = pings.Success
			}
			receive(l, pings.Signal{Kind: kind}, at.Add(time.Duration(i)*time.Second))
		}
		return nil
	}))
}

// lease is how long the claims of tests last, and perChannel how many deliveries of a channel they claim.
const lease, perChannel = 15 * time.Second, 10

// exchange records results of deliveries and then claims others, in one transaction.
func (f fixture) exchange(t *testing.T, now time.Time, room int, results ...store.DeliveryResult) (claimed []store.QueuedDelivery) {
	t.Helper()
	claim := store.DeliveryClaim{Now: now, Until: now.Add(lease)}
	for _, c := range f.channels(t) {
		claim.Room = append(claim.Room, store.ChannelRoom{Channel: c.ID, N: room})
	}
	f.update(t, func(ctx context.Context, tx store.Tx) (err error) {
		if err := tx.RecordResults(ctx, now, results); err != nil {
			return err
		}
		claimed, err = tx.ClaimDeliveries(ctx, claim)
		return err
	})
	return claimed
}

// claimed claims at an instant.
func (f fixture) claimed(t *testing.T, now time.Time) []store.QueuedDelivery {
	t.Helper()
	return f.exchange(t, now, perChannel)
}

// save records what became of claimed deliveries.
func (f fixture) save(t *testing.T, now time.Time, list ...store.QueuedDelivery) {
	t.Helper()
	f.exchange(t, now, 0, resultsOf(list...)...)
}

// retry makes failed deliveries pending again.
func (f fixture) retry(t *testing.T, now time.Time, want int, ids ...int64) {
	t.Helper()
	f.update(t, func(ctx context.Context, tx store.Tx) error {
		n, err := tx.RetryDeliveries(ctx, ids, now)
		if n != want {
			t.Errorf("%d deliveries are pending again, want %d", n, want)
		}
		return err
	})
}

// resultsOf returns results under the claims that the deliveries have.
func resultsOf(list ...store.QueuedDelivery) (results []store.DeliveryResult) {
	for _, q := range list {
		results = append(results, store.DeliveryResult{QueuedDelivery: q, Claim: q.Attempts})
	}
	return results
}

func sent(list ...store.QueuedDelivery) (results []store.DeliveryResult) {
	for _, q := range list {
		results = append(results, resultsOf(ended(q, checks.DeliverySent, ""))...)
	}
	return results
}

func ended(q store.QueuedDelivery, state checks.DeliveryState, text string) store.QueuedDelivery {
	q.State, q.Error = state, text
	return q
}

func (f fixture) history(t *testing.T, q checks.DeliveryQuery) []checks.Delivery {
	t.Helper()
	return f.historyOf(t, f.project.ID, q)
}

// historyOf is history in any project.
func (f fixture) historyOf(t *testing.T, project uuid.UUID, q checks.DeliveryQuery) []checks.Delivery {
	t.Helper()
	if q.Limit == 0 {
		q.Limit = 1000
	}
	list, err := f.Deliveries(t.Context(), project, q)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func (f fixture) alerts(t *testing.T, claimed []store.QueuedDelivery) []store.Alert {
	t.Helper()
	list, err := f.Alerts(t.Context(), claimed)
	if err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(list, func(a, b store.Alert) int { return int(a.ID - b.ID) })
	return list
}
