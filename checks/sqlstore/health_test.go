package sqlstore_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/channels/standard"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/sqlstore"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/dbtest"
	"github.com/rollcall-dev/rollcall/pings"
)

// TestProbeSchema probes an empty database, one that lacks migrations, and one of a newer version.
func TestProbeSchema(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, db dbtest.DB) {
		bun := db.Empty(t).Bun(t)
		store, err := sqlstore.New(bun)
		if err != nil {
			t.Fatal(err)
		}
		if err := store.Database().Probe(t.Context(), false); err == nil {
			t.Error("an empty database is ready")
		}
		if err := store.Migrate(t.Context()); err != nil {
			t.Fatal(err)
		}
		for _, step := range []struct {
			change string
			ready  bool
		}{{"+ 0", true}, {"- 1", false}, {"+ 2", true}} {
			if _, err := bun.ExecContext(t.Context(), "UPDATE rollcall_schema SET version = version "+step.change); err != nil {
				t.Fatal(err)
			}
			if err := store.Database().Probe(t.Context(), false); (err == nil) != step.ready {
				t.Errorf("version %s: %v", step.change, err)
			}
		}
	})
}

// TestBacklogInOrder has a delivery wait for an earlier one, which is tried again later. Neither is due.
func TestBacklogInOrder(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, db dbtest.DB) {
		bun := db.Bun(t)
		store := dbtest.OpenOn(t, bun).Database()
		clock := dbtest.NewClock(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))
		mon, err := monitor.New(store, &monitor.Config{Now: clock.Now, Channels: standard.Kinds(), DeliveredElsewhere: true})
		if err != nil {
			t.Fatal(err)
		}
		project, _, err := mon.Projects().Create(t.Context(), checks.ProjectSpec{Name: "p"})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := mon.Project(project.ID).CreateChannel(t.Context(), channels.Channel{Kind: "email", Name: "ops", Settings: map[string]string{"to": "ops@example.org"}}); err != nil {
			t.Fatal(err)
		}
		c, err := mon.Project(project.ID).Create(t.Context(), checks.Spec{Channels: new("*")})
		if err != nil {
			t.Fatal(err)
		}
		for _, kind := range []pings.Kind{pings.Failure, pings.Success} {
			clock.Advance(time.Second)
			if _, err := mon.Ping(t.Context(), c.ID, pings.Signal{Kind: kind}); err != nil {
				t.Fatal(err)
			}
		}
		const later = "UPDATE rollcall_deliveries SET due_at = ? WHERE id = (SELECT min(id) FROM rollcall_deliveries)"
		if _, err := bun.NewRaw(later, clock.Now().Add(time.Hour).UnixMicro()).Exec(t.Context()); err != nil {
			t.Fatal(err)
		}
		clock.Advance(time.Minute)
		got, err := mon.Backlog(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(monitor.Backlog{Pending: 2}, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}
