package sqlstore_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/sqlstore"
	"github.com/rollcall-dev/rollcall/checks/storetest/dbtest"
	"github.com/rollcall-dev/rollcall/pings"
)

// race is a check whose channel one transaction deletes while another saves an alert to it.
type race struct {
	db      *bun.DB
	store   *sqlstore.Store
	check   uuid.UUID
	channel channels.Channel
}

func newRace(t *testing.T) race {
	t.Helper()
	r := race{db: dbtest.PostgreSQL(t).Bun(t)}
	r.store = dbtest.OpenOn(t, r.db)
	mon := monitorOn(t, r.store)
	project, err := mon.OpenProject(t.Context(), "p")
	if err != nil {
		t.Fatal(err)
	}
	r.channel, err = mon.CreateChannel(t.Context(), project.ID, channels.Email, "ops", map[string]string{"to": "a@example.org"})
	if err != nil {
		t.Fatal(err)
	}
	c, err := mon.Create(t.Context(), project.ID, checks.Spec{Channels: new("*")})
	if err != nil {
		t.Fatal(err)
	}
	r.check = c.ID
	return r
}

// fail records a failure in a transaction, which then waits for the end of hold.
func (r race) fail(ctx context.Context, hold func()) error {
	return r.store.Update(ctx, func(ctx context.Context, tx monitor.Tx) error {
		l, err := tx.LockCheck(ctx, r.check)
		if err != nil {
			return err
		}
		failed(l)
		if err := tx.SaveChecks(ctx, []*monitor.Locked{l}); err != nil {
			return err
		}
		hold()
		return nil
	})
}

// record records a failure as the writer of pings does.
func (r race) record(ctx context.Context, _ func()) error {
	return record(ctx, r.store, []uuid.UUID{r.check}, func(locked []*monitor.Locked) error {
		failed(locked[0])
		return nil
	})
}

func failed(l *monitor.Locked) {
	c, ping, effects := l.Check.Ping(pings.Signal{Kind: pings.Fail}, time.Now())
	l.Pings = append(l.Pings, ping)
	l.Apply(c, effects)
}

func (r race) deleteChannel(ctx context.Context, hold func()) error {
	return r.store.Update(ctx, func(ctx context.Context, tx monitor.Tx) error {
		if err := tx.DeleteChannel(ctx, r.channel.ProjectID, r.channel.ID); err != nil {
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

// TestChannelDeletedDuringFlip deletes a channel while an alert to it is committed, in either order: no delivery is left.
func TestChannelDeletedDuringFlip(t *testing.T) {
	type step func(r race, ctx context.Context, hold func()) error
	for name, order := range map[string][2]step{
		"alert first":         {race.fail, race.deleteChannel},
		"deletion first":      {race.deleteChannel, race.fail},
		"deletion, then ping": {race.deleteChannel, race.record},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRace(t)
			second := make(chan error, 1)
			var started bool
			first := order[0](r, t.Context(), func() {
				if started {
					return // the first transaction runs again
				}
				started = true
				go func() { second <- order[1](r, t.Context(), func() {}) }()
				r.settled(t, second)
			})
			if first != nil {
				t.Error(first)
			}
			if err := <-second; err != nil {
				t.Error(err)
			}
			var deliveries, flips int
			err := r.db.NewRaw("SELECT (SELECT count(*) FROM rollcall_deliveries), (SELECT count(*) FROM rollcall_flips)").
				Scan(t.Context(), &deliveries, &flips)
			if err != nil || deliveries != 0 || flips != 1 {
				t.Errorf("%d deliveries to a deleted channel and %d flips, %v", deliveries, flips, err)
			}
		})
	}
}
