package sqlstore_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/channels/standard"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/sqlstore"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/dbtest"
	"github.com/rollcall-dev/rollcall/pings"
)

// TestServersSeeTheSameChecks changes the checks of a project at random, on two servers. After each change these two and a
// third one lock and list what a server that has cached nothing lists.
func TestServersSeeTheSameChecks(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, db dbtest.DB) {
		c := newChaos(t, db)
		bundb := db.Bun(t)
		for i := range 60 {
			what := c.step(t)
			uncached, err := sqlstore.New(bundb)
			must(t, err)
			for _, q := range []checks.Query{{}, {Slug: "s1"}, {Tags: []string{"t1"}}, {Slug: "s2", Tags: []string{"t2"}}} {
				want := c.list(t, uncached.Database(), q)
				for n, store := range c.stores {
					if diff := cmp.Diff(want, c.list(t, store, q)); diff != "" {
						t.Fatalf("step %d, %s: server %d lists (-database +server):\n%s", i, what, n, diff)
					}
				}
			}
			want := c.lock(t, uncached.Database())
			for n, store := range c.stores {
				if diff := cmp.Diff(want, c.lock(t, store)); diff != "" {
					t.Fatalf("step %d, %s: server %d locks (-database +server):\n%s", i, what, n, diff)
				}
			}
		}
	})
}

// chaos is a project that two of three servers change at random.
type chaos struct {
	random   *rand.Rand
	clock    *dbtest.Clock
	stores   []*sqlstore.Database
	servers  []*monitor.Monitor
	project  uuid.UUID
	channels []uuid.UUID
}

func newChaos(t *testing.T, db dbtest.DB) *chaos {
	t.Helper()
	c := &chaos{
		random: rand.New(rand.NewPCG(1, 2)),
		clock:  dbtest.NewClock(time.Date(2026, 3, 1, 12, 0, 0, 123456789, time.UTC)),
	}
	for range 3 {
		store := db.Open(t).Database()
		mon, err := monitor.New(store, &monitor.Config{Now: c.clock.Now, Channels: standard.Kinds(), DeliveredElsewhere: true})
		must(t, err)
		c.stores, c.servers = append(c.stores, store), append(c.servers, mon)
	}
	project, err := c.servers[0].OpenProject(t.Context(), "p")
	must(t, err)
	c.project = project.ID()
	must(t, c.addChannel(t, c.servers[0]))
	for range 20 {
		_, err := c.servers[0].Project(c.project).Create(t.Context(), checks.Spec{})
		must(t, err)
	}
	return c
}

// step makes a change and returns its name.
func (c *chaos) step(t *testing.T) string {
	t.Helper()
	list := c.list(t, c.stores[c.random.IntN(3)], checks.Query{})
	if len(list) == 0 {
		t.Fatal("no checks are left")
	}
	mon, id := c.servers[c.random.IntN(2)], list[c.random.IntN(len(list))].ID
	changes := []string{"add channel", "add channel", "delete channel", "update", "create", "ping", "ping", "ping", "pause", "update", "delete"}
	change := changes[c.random.IntN(len(changes))]
	var err error
	switch change {
	case "ping":
		err = c.ping(t, mon, id)
	case "pause":
		_, err = mon.Project(c.project).Pause(t.Context(), id)
	case "update":
		_, err = mon.Project(c.project).Update(t.Context(), id, checks.Spec{
			Name: c.text("n", 100), Slug: c.text("s", 3), Tags: []string{*c.text("t", 3)},
			Channels: new([]string{"", "*", c.channels[c.random.IntN(len(c.channels))].String()}[c.random.IntN(3)]),
		})
	case "create":
		_, err = mon.Project(c.project).Create(t.Context(), checks.Spec{})
	case "delete":
		_, err = mon.Project(c.project).Delete(t.Context(), id)
	case "add channel":
		err = c.addChannel(t, mon)
	case "delete channel":
		if last := len(c.channels) - 1; last > 0 {
			err = mon.Project(c.project).DeleteChannel(t.Context(), c.channels[last])
			c.channels = c.channels[:last]
		}
	}
	if err != nil {
		t.Fatalf("%s: %v", change, err)
	}
	return change
}

// text returns a random text of the form n17.
func (c *chaos) text(prefix string, n int) *string { return new(fmt.Sprint(prefix, c.random.IntN(n))) }

// ping pings a check, possibly after its deadline.
func (c *chaos) ping(t *testing.T, mon *monitor.Monitor, id uuid.UUID) error {
	c.clock.Advance(time.Duration(c.random.IntN(30)) * time.Hour)
	kinds := []pings.Kind{pings.Success, pings.Start, pings.Failure, pings.Log}
	_, err := mon.Ping(t.Context(), id, pings.Signal{
		Kind: kinds[c.random.IntN(len(kinds))], RunID: uuid.NullUUID{UUID: uuid.New(), Valid: c.random.IntN(2) == 0},
	})
	return err
}

func (c *chaos) addChannel(t *testing.T, mon *monitor.Monitor) error {
	channel, err := mon.Project(c.project).CreateChannel(t.Context(), channels.Channel{Kind: channels.Email, Name: "", Settings: map[string]string{"to": "a@example.org"}})
	c.channels = append(c.channels, channel.ID)
	return err
}

func (c *chaos) list(t *testing.T, s *sqlstore.Database, q checks.Query) []checks.Check {
	t.Helper()
	filter := store.CheckFilter{ProjectID: &c.project, Tags: q.Tags}
	if q.Slug != "" {
		filter.Slug = &q.Slug
	}
	list, err := s.Checks(t.Context(), filter)
	must(t, err)
	return list
}

// lock returns the checks as a batch of pings finds them, in the order of their IDs.
func (c *chaos) lock(t *testing.T, s *sqlstore.Database) (list []checks.Check) {
	t.Helper()
	var ids []uuid.UUID
	for _, check := range c.list(t, s, checks.Query{}) {
		ids = append(ids, check.ID)
	}
	must(t, s.Update(t.Context(), func(ctx context.Context, tx store.Tx) error {
		locked, err := tx.LockChecks(ctx, ids)
		list = nil
		for _, l := range locked {
			list = append(list, l.Check)
		}
		return err
	}))
	slices.SortFunc(list, func(a, b checks.Check) int { return bytes.Compare(a.ID[:], b.ID[:]) })
	return list
}
