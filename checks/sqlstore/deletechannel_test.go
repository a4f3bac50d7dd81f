package sqlstore_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/channels/standard"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/sqlstore"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/dbtest"
	"github.com/rollcall-dev/rollcall/pings"
)

// race is a check whose channel one transaction deletes while another saves an alert to it.
type race struct {
	db      *bun.DB
	store   *sqlstore.Database
	check   uuid.UUID
	channel channels.Channel
}

func newRace(t *testing.T) race {
	t.Helper()
	r := race{db: dbtest.PostgreSQL(t).Bun(t)}
	r.store = dbtest.OpenOn(t, r.db).Database()
	mon, err := monitor.New(r.store, &monitor.Config{Channels: standard.Kinds(), DeliveredElsewhere: true})
	must(t, err)
	project, err := mon.OpenProject(t.Context(), "p")
	if err != nil {
		t.Fatal(err)
	}
	r.channel, err = project.CreateChannel(t.Context(), channels.Channel{Kind: channels.Email, Name: "ops", Settings: map[string]string{"to": "a@example.org"}})
	if err != nil {
		t.Fatal(err)
	}
	c, err := project.Create(t.Context(), checks.Spec{Channels: new("*")})
	if err != nil {
		t.Fatal(err)
	}
	r.check = c.ID
	return r
}

// fail records a failure in a transaction, which then waits for the end of hold.
func (r race) fail(ctx context.Context, hold func()) error {
	return r.store.Update(ctx, func(ctx context.Context, tx store.Tx) error {
		l, err := tx.LockCheck(ctx, r.check)
		if err != nil {
			return err
		}
		failed(l)
		if err := tx.SaveChecks(ctx, []*store.Locked{l}); err != nil {
			return err
		}
		hold()
		return nil
	})
}

// record records a failure as the writer of pings does.
func (r race) record(ctx context.Context, _ func()) error {
	return recordWith(ctx, r.store, []uuid.UUID{r.check}, func(locked []*store.Locked) error {
		failed(locked[0])
		return nil
	})
}

func failed(l *store.Locked) {
	receive(l, pings.Signal{Kind: pings.Failure}, time.Now())
}

func (r race) deleteChannel(ctx context.Context, hold func()) error {
	return r.store.Update(ctx, func(ctx context.Context, tx store.Tx) error {
		if err := writer(ctx, tx).DeleteChannel(ctx, r.channel.ProjectID, r.channel.ID); err != nil {
			return err
		}
		hold()
		return nil
	})
}

// settled waits until a goroutine has ended or its transaction waits for a lock.
func (r race) settled(t *testing.T, done <-chan error) {
	t.Helper()
	for len(done) == 0 {
		var waiting int
		err := r.db.NewRaw(`SELECT count(*) FROM pg_stat_activity
			WHERE datname = current_database() AND wait_event_type = 'Lock'`).Scan(t.Context(), &waiting)
		if err != nil {
			t.Error(err)
			return
		}
		if waiting > 0 {
			return
		}
		time.Sleep(time.Millisecond) // for another process
	}
}

type step func(r race, ctx context.Context, hold func()) error

// run begins the second step inside the transaction of the first, and returns when both have ended.
func (r race) run(t *testing.T, first, second step) {
	t.Helper()
	done := make(chan error, 1)
	var started bool
	err := first(r, t.Context(), func() {
		if started {
			return // the first transaction runs again
		}
		started = true
		go func() { done <- second(r, t.Context(), func() {}) }()
		r.settled(t, done)
	})
	if err != nil {
		t.Error(err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// count compares the numbers of deliveries and flips.
func (r race) count(t *testing.T, deliveries, flips int) {
	t.Helper()
	var d, f int
	err := r.db.NewRaw("SELECT (SELECT count(*) FROM rollcall_deliveries), (SELECT count(*) FROM rollcall_flips)").Scan(t.Context(), &d, &f)
	if err != nil || d != deliveries || f != flips {
		t.Errorf("%d deliveries and %d flips, %v; want %d and %d", d, f, err, deliveries, flips)
	}
}

// TestChannelDeletedDuringFlip deletes a channel while an alert to it is committed, in either order. No delivery is left.
func TestChannelDeletedDuringFlip(t *testing.T) {
	for name, order := range map[string][2]step{
		"alert first":         {race.fail, race.deleteChannel},
		"deletion first":      {race.deleteChannel, race.fail},
		"deletion, then ping": {race.deleteChannel, race.record},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRace(t)
			r.run(t, order[0], order[1])
			r.count(t, 0, 1)
		})
	}
}

// TestMemberDeletedDuringExpansion deletes a member of a group while an alert to the group is copied to it, in either
// order. Only the delivery to the group is left.
func TestMemberDeletedDuringExpansion(t *testing.T) {
	for name, order := range map[string][2]step{
		"copy first": {race.copyAlert, race.deleteChannel}, "deletion first": {race.deleteChannel, race.copyAlert},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRace(t)
			if err := r.record(t.Context(), nil); err != nil {
				t.Fatal(err)
			}
			// The channel of the delivery acts as the group.
			member := r.channel
			member.ID, member.Name = uuid.New(), "member"
			err := r.store.Update(t.Context(), func(ctx context.Context, tx store.Tx) error { return writer(ctx, tx).SaveChannel(ctx, member) })
			if err != nil {
				t.Fatal(err)
			}
			r.channel = member
			r.run(t, order[0], order[1])
			r.count(t, 1, 1)
		})
	}
}

// copyAlert copies the alert of the only delivery to the channel.
func (r race) copyAlert(ctx context.Context, hold func()) error {
	return r.store.Update(ctx, func(ctx context.Context, tx store.Tx) error {
		err := tx.RecordResults(ctx, time.Now(), []store.DeliveryResult{{
			QueuedDelivery: store.QueuedDelivery{ID: 1, State: checks.DeliverySent}, Copies: []uuid.UUID{r.channel.ID},
		}})
		hold()
		return err
	})
}
