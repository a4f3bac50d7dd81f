package sqlstore_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
	"github.com/rollcall-dev/rollcall/pings"
)

// move moves a check to a project, with channels.
func (f fixture) move(ctx context.Context, id, projectID uuid.UUID, channelIDs ...uuid.UUID) error {
	return f.Update(ctx, func(ctx context.Context, tx store.Tx) error {
		l, err := tx.LockCheck(ctx, id)
		if err != nil {
			return err
		}
		l.ProjectID, l.MovedFrom, l.Channels, l.SettingsChanged = projectID, l.ProjectID, channelIDs, true
		return tx.SaveChecks(ctx, []*store.Locked{l})
	})
}

// testMoveCheck: a check that is saved with another project is found there only, with its log, flips and state. Without
// its deliveries, nobody can send an alert about it to the old channels.
func testMoveCheck(t *testing.T, f fixture) {
	other := f
	other.project = f.addProject(t, newProject("second"))
	old, theirs := f.addChannel(t, "old", noon), other.addChannel(t, "theirs", noon)
	c, stays := f.watched(t, old), f.watched(t, old)
	f.change(t, c.ID, checks.Spec{Slug: new("job")}, noon)
	f.update(t, func(ctx context.Context, tx store.Tx) error { return tx.OnAlertUntil(ctx, noon.Add(time.Hour)) })
	f.ping(t, c.ID, pings.Signal{Kind: pings.Failure}, noon)
	f.ping(t, stays.ID, pings.Signal{Kind: pings.Failure}, noon)
	f.ping(t, c.ID, pings.Signal{Kind: pings.Start}, noon.Add(time.Second))
	before := f.check(t, c.ID)
	must(t, f.move(t.Context(), c.ID, other.project.ID, theirs.ID))

	want := before
	want.ProjectID, want.Channels = other.project.ID, []uuid.UUID{theirs.ID}
	same(t, "check", f.check(t, c.ID), want)
	same(t, "checks of the old project", f.list(t), []checks.Check{f.check(t, stays.ID)})
	same(t, "checks of the new project", other.list(t), []checks.Check{want})
	for project, want := range map[uuid.UUID]int{f.project.ID: 0, other.project.ID: 1} {
		found, err := f.Checks(t.Context(), store.CheckFilter{ProjectID: &project, Slug: new("job")})
		must(t, err)
		if len(found) != want {
			t.Errorf("%d checks with the slug, want %d", len(found), want)
		}
		f.update(t, func(ctx context.Context, tx store.Tx) error {
			n, err := tx.FindChecks(ctx, project, store.Match{Slug: new("job")})
			if len(n) != want {
				t.Errorf("matched %d checks with the slug, want %d", len(n), want)
			}
			return err
		})
	}
	if n, m := len(f.log(t, c.ID)), len(f.flips(t, c.ID, time.Time{}, time.Time{})); n != 2 || m != 1 {
		t.Errorf("%d pings and %d flips after the move, want 2 and 1", n, m)
	}
	left := other.history(t, checks.DeliveryQuery{})
	if len(left) != 1 || left[0].ChannelKind != channels.Function {
		t.Errorf("deliveries after the move: %+v, want that to OnAlert", left)
	}
	if n := len(f.history(t, checks.DeliveryQuery{})); n != 2 {
		t.Errorf("%d deliveries of the check that stays, want 2", n)
	}
	f.ping(t, c.ID, pings.Signal{}, noon.Add(time.Minute))
	if alerts := other.history(t, checks.DeliveryQuery{Channel: theirs.ID}); len(alerts) != 1 || alerts[0].Status != channels.Up {
		t.Errorf("alerts to the new channel: %+v", alerts)
	}
	f.update(t, func(ctx context.Context, tx store.Tx) error {
		return writer(ctx, tx).DeleteProject(ctx, f.project.ID)
	})
	if got := f.check(t, c.ID); got.NPings != 3 {
		t.Errorf("after the old project was deleted: %+v", got)
	}
	f.update(t, func(ctx context.Context, tx store.Tx) error {
		return writer(ctx, tx).DeleteProject(ctx, other.project.ID)
	})
	f.gone(t, c.ID)
}

// testMoveWhileDelivering moves a check while another transaction copies a delivery to a member of a group.
func testMoveWhileDelivering(t *testing.T, f fixture) {
	other := f.addProject(t, newProject("second"))
	group, member := f.addChannel(t, "group", noon), f.addChannel(t, "member", noon)
	for range 5 {
		c := f.watched(t, group)
		f.ping(t, c.ID, pings.Signal{Kind: pings.Failure}, noon)
		var toGroup store.QueuedDelivery
		for _, q := range f.claimed(t, noon) {
			toGroup = q
		}
		var wg sync.WaitGroup
		wg.Go(func() {
			err := f.Update(t.Context(), func(ctx context.Context, tx store.Tx) error {
				results := sent(toGroup)
				results[0].Copies = []uuid.UUID{member.ID}
				return tx.RecordResults(ctx, noon, results)
			})
			if err != nil {
				t.Error(err)
			}
		})
		if err := f.move(t.Context(), c.ID, other.ID); err != nil {
			t.Error(err)
		}
		wg.Wait()
		moved := f
		moved.project = other
		for _, left := range moved.history(t, checks.DeliveryQuery{Check: c.ID}) {
			if left.ChannelID != group.ID || left.State == checks.DeliveryPending || left.ChannelName != "in another project" {
				t.Fatalf("after the move: %+v, want only what somebody may have got", left)
			}
		}
	}
}
