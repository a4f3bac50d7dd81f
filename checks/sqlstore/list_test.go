package sqlstore_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/sqlstore"
	"github.com/rollcall-dev/rollcall/checks/storetest/dbtest"
	"github.com/rollcall-dev/rollcall/pings"
)

// TestListsAsInTheDatabase has two servers change the checks of a project at random and list them, together with a third
// that only lists: after each change, all list what one lists that has just been started.
func TestListsAsInTheDatabase(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, db dbtest.DB) {
		clock := dbtest.NewClock(time.Date(2026, 3, 1, 12, 0, 0, 123456789, time.UTC))
		var stores []*sqlstore.Store
		var servers []*monitor.Monitor
		for range 3 {
			store := db.Open(t)
			mon, err := monitor.New(store, &monitor.Config{Now: clock.Now})
			if err != nil {
				t.Fatal(err)
			}
			stores, servers = append(stores, store), append(servers, mon)
		}
		project, err := servers[0].OpenProject(t.Context(), "p")
		if err != nil {
			t.Fatal(err)
		}
		var assignable []uuid.UUID
		addChannel := func(mon *monitor.Monitor, _ uuid.UUID) error {
			c, err := mon.CreateChannel(t.Context(), project.ID, channels.Email, "", map[string]string{"to": "a@example.org"})
			assignable = append(assignable, c.ID)
			return err
		}
		if err := addChannel(servers[0], uuid.Nil); err != nil {
			t.Fatal(err)
		}
		bundb := db.Bun(t)
		random := rand.New(rand.NewPCG(1, 2))
		changes := map[string]func(mon *monitor.Monitor, id uuid.UUID) error{
			"ping": func(mon *monitor.Monitor, id uuid.UUID) error {
				clock.Advance(time.Duration(random.IntN(30)) * time.Hour) // its deadline can have passed
				kinds := []pings.Kind{pings.Success, pings.Start, pings.Fail, pings.Log}
				_, err := mon.Ping(t.Context(), id, pings.Signal{Kind: kinds[random.IntN(len(kinds))],
					RunID: uuid.NullUUID{UUID: uuid.New(), Valid: random.IntN(2) == 0}})
				return err
			},
			"pause": func(mon *monitor.Monitor, id uuid.UUID) error {
				_, err := mon.Pause(t.Context(), id)
				return err
			},
			"update": func(mon *monitor.Monitor, id uuid.UUID) error {
				_, err := mon.Update(t.Context(), id, checks.Spec{
					Name: new(fmt.Sprint("n", random.IntN(100))), Slug: new(fmt.Sprint("s", random.IntN(3))),
					Tags: new(fmt.Sprint("t", random.IntN(3))), Channels: new([]string{"", "*", assignable[random.IntN(len(assignable))].String()}[random.IntN(3)]),
				})
				return err
			},
			"add channel": addChannel,
			"remove channel": func(mon *monitor.Monitor, _ uuid.UUID) error {
				last := len(assignable) - 1
				if last == 0 {
					return nil
				}
				gone := assignable[last]
				assignable = assignable[:last]
				return mon.DeleteChannel(t.Context(), project.ID, gone)
			},
			"create": func(mon *monitor.Monitor, _ uuid.UUID) error {
				_, err := mon.Create(t.Context(), project.ID, checks.Spec{})
				return err
			},
			"delete": func(mon *monitor.Monitor, id uuid.UUID) error {
				_, err := mon.Delete(t.Context(), id)
				return err
			},
		}
		names := []string{"add channel", "add channel", "remove channel", "update", "create", "ping", "ping", "ping", "pause", "update", "delete"}
		for range 20 {
			if err := changes["create"](servers[0], uuid.Nil); err != nil {
				t.Fatal(err)
			}
		}
		steps := 300
		if testing.Short() { // as under the race detector
			steps = 60
		}
		for i := range steps {
			list, err := stores[i%3].Checks(t.Context(), monitor.CheckFilter{ProjectID: &project.ID})
			if err != nil || len(list) == 0 {
				t.Fatal(len(list), err)
			}
			name := names[random.IntN(len(names))]
			if err := changes[name](servers[random.IntN(2)], list[random.IntN(len(list))].ID); err != nil {
				t.Fatal(name, err)
			}
			for _, q := range []monitor.CheckQuery{{}, {Slug: new("s1")}, {Tags: []string{"t1"}}, {Slug: new("s2"), Tags: []string{"t2"}}} {
				fresh, err := sqlstore.New(bundb)
				if err != nil {
					t.Fatal(err)
				}
				want, err := fresh.Checks(t.Context(), monitor.CheckFilter{ProjectID: &project.ID, CheckQuery: q})
				if err != nil {
					t.Fatal(err)
				}
				for k, store := range stores {
					got, err := store.Checks(t.Context(), monitor.CheckFilter{ProjectID: &project.ID, CheckQuery: q})
					if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(checks.Check{})); diff != "" || err != nil {
						t.Fatalf("step %d, %s: server %d (-database +list): %s, %v", i, name, k, diff, err)
					}
				}
			}
		}
	})
}

// withCheck opens a store that has one check.
func withCheck(t *testing.T, db dbtest.DB) (*sqlstore.Store, *monitor.Monitor, checks.Check) {
	t.Helper()
	store := db.Open(t)
	mon := monitorOn(t, store)
	return store, mon, addCheck(t, mon)
}

// TestListsAreTheCallers changes what a list has returned: the next list and the next ping do not see it.
func TestListsAreTheCallers(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, db dbtest.DB) {
		store, mon, c := withCheck(t, db)
		if _, err := mon.Ping(t.Context(), c.ID, pings.Signal{Kind: pings.Start}); err != nil {
			t.Fatal(err)
		}
		for range 3 { // read, then remembered
			list, err := store.Checks(t.Context(), monitor.CheckFilter{ProjectID: &c.ProjectID})
			if err != nil || len(list) != 1 || len(list[0].Runs) != 1 || list[0].Runs[0].ID.Valid {
				t.Fatal(list, err)
			}
			list[0].Runs[0].ID = uuid.NullUUID{UUID: uuid.New(), Valid: true}
		}
		p, err := mon.Ping(t.Context(), c.ID, pings.Signal{Kind: pings.Success})
		if err != nil || p.Duration == nil {
			t.Errorf("the run was changed: %v, %v", p.Duration, err)
		}
	})
}

// TestListOfManyChecks lists more checks than are looked up at once, before and after some of them were pinged and
// others removed.
func TestListOfManyChecks(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, db dbtest.DB) {
		store, mon, c := withCheck(t, db)
		want := []uuid.UUID{c.ID}
		err := store.Update(t.Context(), func(ctx context.Context, tx monitor.Tx) error {
			for range 600 {
				c, err := checks.New(c.ProjectID, checks.Spec{}, mon.Now())
				if err != nil {
					return err
				}
				if err := tx.SaveChecks(ctx, []*monitor.Locked{{Check: c}}); err != nil {
					return err
				}
				want = append(want, c.ID)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		for range 3 {
			var got []uuid.UUID
			list, err := store.Checks(t.Context(), monitor.CheckFilter{ProjectID: &c.ProjectID})
			for _, c := range list {
				got = append(got, c.ID)
			}
			if err != nil || !slices.Equal(got, want) {
				t.Fatalf("%d of %d checks, or in another order: %v", len(got), len(want), err)
			}
			for i := 0; i < len(want); i += 50 {
				if _, err := mon.Ping(t.Context(), want[i], pings.Signal{Kind: pings.Success}); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := mon.Delete(t.Context(), want[300]); err != nil {
				t.Fatal(err)
			}
			want = slices.Delete(want, 300, 301)
		}
	})
}
