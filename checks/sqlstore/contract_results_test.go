package sqlstore_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
)

// testDeliveryResults records results under the third claim of a delivery, and under others.
func testDeliveryResults(t *testing.T, f fixture) {
	now := noon.Add(time.Hour)
	failed := &store.ChannelMark{FailedAt: now, Error: "refused"}
	for _, tt := range []struct {
		name  string
		claim int
		state checks.DeliveryState
		mark  *store.ChannelMark
		ends  bool // whether the delivery gets the state
	}{
		{"sent", 3, checks.DeliverySent, nil, true},
		{"failed", 3, checks.DeliveryFailed, failed, true},
		{"skipped", 3, checks.DeliverySkipped, nil, true},
		{"sent under a former claim", 2, checks.DeliverySent, nil, true},
		{"failed under a former claim", 2, checks.DeliveryFailed, failed, false},
		{"again under a former claim", 2, checks.DeliveryPending, nil, false},
		{"again", 3, checks.DeliveryPending, nil, false},
	} {
		ops := f.addChannel(t, tt.name, noon)
		copied := f.addChannel(t, "", noon)
		c := f.watched(t, ops)
		f.flip(t, c, noon, 2)
		var q store.QueuedDelivery
		for i := range 3 {
			for _, claimed := range f.claimed(t, noon.Add(time.Duration(i+1)*lease)) {
				if claimed.ChannelID == ops.ID {
					q = claimed
				}
			}
		}
		if q.Attempts != 3 {
			t.Fatalf("%s: claimed %+v", tt.name, q)
		}
		r := store.DeliveryResult{QueuedDelivery: q, Claim: tt.claim, Mark: tt.mark}
		r.State, r.Attempts, r.Due, r.Error = tt.state, tt.claim-1, now.Add(time.Minute), "refused"
		if tt.state == checks.DeliverySent {
			r.Copies = []uuid.UUID{copied.ID}
		}
		f.update(t, func(ctx context.Context, tx store.Tx) error {
			return tx.RecordResults(ctx, now, []store.DeliveryResult{r})
		})
		list := f.history(t, checks.DeliveryQuery{Channel: ops.ID})
		next, got := list[0], list[1] // the newest first
		want := got
		want.Attempts = 3
		switch {
		case tt.ends:
			want.State, want.FinishedAt, want.Due, want.Error = tt.state, now, time.Time{}, "refused"
		case tt.claim == 3:
			want.Due, want.Error = now.Add(time.Minute), "refused"
		default:
			want.State, want.Due, want.Error = checks.DeliveryPending, q.Due, ""
		}
		if tt.claim == 3 {
			want.Attempts = 2
		}
		same(t, tt.name, got, want)
		claimable := slices.ContainsFunc(f.claimed(t, now), func(q store.QueuedDelivery) bool { return q.ID == next.ID })
		if claimable != tt.ends {
			t.Errorf("%s: the next of the line can be claimed: %v", tt.name, claimable)
		}
		if n := len(f.history(t, checks.DeliveryQuery{Channel: copied.ID})); (n == 1) != (tt.state == checks.DeliverySent) {
			t.Errorf("%s: %d copies", tt.name, n)
		}
		for _, ch := range f.channels(t) {
			if ch.ID == ops.ID && (ch.Error == "refused") != (tt.ends && tt.mark != nil) {
				t.Errorf("%s: marked %v", tt.name, ch.Error)
			}
		}
		must(t, f.Update(t.Context(), func(ctx context.Context, tx store.Tx) error {
			for _, id := range []uuid.UUID{ops.ID, copied.ID} {
				if err := writer(ctx, tx).DeleteChannel(ctx, f.project.ID, id); err != nil {
					return err
				}
			}
			return nil
		}))
	}
	f.update(t, func(ctx context.Context, tx store.Tx) error { // deliveries that do not exist
		return tx.RecordResults(ctx, now, []store.DeliveryResult{{QueuedDelivery: store.QueuedDelivery{ID: 1 << 40, State: checks.DeliverySent}}})
	})
}
