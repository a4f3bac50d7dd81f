package sessions_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/records"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/dbtest"
	"github.com/rollcall-dev/rollcall/server/internal/sessions"
)

func TestMain(m *testing.M) { os.Exit(dbtest.Run(m)) }

// fixture is the sessions of a database, with a clock to move.
type fixture struct {
	*sessions.Store
	t     *testing.T
	mon   *monitor.Monitor
	clock *dbtest.Clock
}

func each(t *testing.T, test func(f fixture)) {
	dbtest.Each(t, func(t *testing.T, db dbtest.DB) {
		clock := dbtest.NewClock(time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC))
		mon, err := monitor.New(db.Open(t), &monitor.Config{Now: clock.Now})
		if err != nil {
			t.Fatal(err)
		}
		test(fixture{sessions.New(mon), t, mon, clock})
	})
}

// is fails the test unless an error is the one that is wanted.
func (f fixture) is(err, want error) {
	f.t.Helper()
	if !errors.Is(err, want) {
		f.t.Errorf("the error is %v, want %v", err, want)
	}
}

// session is one of a new key that lasts an hour.
func (f fixture) session() sessions.Session {
	now := f.clock.Now()
	return sessions.Session{
		Keys: []sessions.Key{{Project: uuid.New(), Key: uuid.New()}}, CreatedAt: now, SeenAt: now, Until: now.Add(time.Hour), Address: "192.0.2.1", Agent: "é",
	}
}

// TestSessions: a session is found by its token alone until it ends, is replaced or its time is over, and no late visit revives it.
func TestSessions(t *testing.T) {
	each(t, func(f fixture) {
		ctx := f.t.Context()
		want := f.session()
		f.is(f.Open(ctx, "a", "", want, nil), nil)
		got, err := f.Find(ctx, "a")
		f.is(err, nil)
		want.ID = sessions.ID("a")
		if diff := cmp.Diff(want, got); diff != "" {
			f.t.Errorf("the session (-opened +found):\n%s", diff)
		}
		for _, other := range []string{"", "A", "a\x00", "\xff", want.ID} {
			_, err := f.Find(ctx, other)
			f.is(err, checks.ErrNotFound)
		}
		failed := errors.New("failed")
		f.is(f.Open(ctx, "b", "a", want, func(context.Context, records.Tx) error { return failed }), failed)
		_, err = f.Find(ctx, "a")
		f.is(err, nil) // the check failed, so nothing has changed
		f.is(f.Open(ctx, "b", "a", want, nil), nil)
		f.is(f.Renew(ctx, "a", got), nil)
		_, err = f.Find(ctx, "a")
		f.is(err, checks.ErrNotFound)

		f.clock.Advance(30 * time.Minute)
		got.SeenAt, got.Until = f.clock.Now(), f.clock.Now().Add(time.Hour)
		f.is(f.Renew(ctx, "b", got), nil)
		f.clock.Advance(time.Hour - time.Microsecond)
		_, err = f.Find(ctx, "b")
		f.is(err, nil)
		f.clock.Advance(time.Microsecond)
		_, err = f.Find(ctx, "b")
		f.is(err, checks.ErrNotFound)

		f.is(f.Open(ctx, "c", "b", f.session(), nil), nil)
		f.is(f.End(ctx, "c"), nil)
		_, err = f.Find(ctx, "c")
		f.is(err, checks.ErrNotFound)
	})
}

// TestManySessions: one session beyond the most of its owner ends the one that was seen least recently, and none of another owner.
func TestManySessions(t *testing.T) {
	each(t, func(f fixture) {
		ctx, s := f.t.Context(), f.session()
		f.is(f.Open(ctx, "old", "", s, nil), nil)
		f.clock.Advance(-time.Minute)
		f.is(f.Open(ctx, "other", "", f.session(), nil), nil)
		f.clock.Advance(2 * time.Minute)
		s.SeenAt = f.clock.Now()
		f.is(f.Open(ctx, "new", "", s, nil), nil)
		store, kind := f.mon.Installation().Records(), sessions.Kind
		f.is(store.Update(ctx, func(ctx context.Context, tx records.Tx) error {
			found, err := tx.LockRecords(ctx, f.clock.Now(), records.Query{Kind: &kind, Owner: &s.Keys[0].Key})
			for i := len(found); i < sessions.Most && err == nil; i++ {
				r := found[0]
				r.Key = fmt.Sprintf("%064d", i)
				for _, known := range found {
					if known.Key[:sessions.IDLength] == sessions.ID("new") {
						r.Value = known.Value
					}
				}
				err = tx.SaveRecords(ctx, f.clock.Now(), r)
			}
			return err
		}), nil)
		f.is(f.Open(ctx, "last", "", s, nil), nil)
		for token, want := range map[string]error{"old": checks.ErrNotFound, "other": nil, "new": nil, "last": nil} {
			if _, err := f.Find(ctx, token); !errors.Is(err, want) {
				f.t.Errorf("%s: %v, want %v", token, err, want)
			}
		}
		found, err := store.Records(ctx, f.clock.Now(), records.Query{Kind: &kind, Owner: &s.Keys[0].Key})
		if err != nil || len(found) != sessions.Most {
			f.t.Errorf("%d sessions, %v", len(found), err)
		}
	})
}
