//go:build release

package services_test

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/channels/outbound"
	"github.com/rollcall-dev/rollcall/channels/services"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/dbtest"
	"github.com/rollcall-dev/rollcall/pings"
)

// TestRealAlertmanagerMonitor lets a monitor report to an Alertmanager: it refreshes an open alert, resolves it when the
// check is up, and resolves it when the check is paused, about which there is no alert.
func TestRealAlertmanagerMonitor(t *testing.T) {
	p := startAlertmanager(t)
	l := newAlertmanagerLine(t, p)
	ctx := t.Context()
	now := time.Now().Add(-2 * time.Minute) // alerts last four minutes, so there is time to move the clock
	client := outbound.New(&outbound.Config{AllowPrivateNetworks: true})
	t.Cleanup(client.CloseIdleConnections)
	clock := func() time.Time { return now }
	mon, err := monitor.New(dbtest.Memory(t), &monitor.Config{
		Channels: services.New(&services.Config{Client: client, Now: clock}), Now: clock,
	})
	if err != nil {
		t.Fatal(err)
	}
	must := func(_ any, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	project, err := mon.OpenProject(ctx, "jobs")
	must(project, err)
	must(project.CreateChannel(ctx, channels.Channel{Kind: "alertmanager", Name: "am", Settings: maps.Clone(l.settings)}))
	c, err := project.Create(ctx, checks.Spec{Name: new("backup"), Timeout: new(time.Hour), Channels: new("*")})
	must(c, err)
	report := func(kind pings.Kind) {
		t.Helper()
		must(mon.Ping(ctx, c.ID, pings.Signal{Kind: kind}))
		must(nil, mon.Tick(ctx))
	}

	report(pings.Failure)
	first := l.one(p)
	must(mon.Project(c.Check.ProjectID).Update(ctx, c.ID, checks.Spec{Name: new("renamed")}))
	now = now.Add(time.Minute)
	must(nil, mon.Tick(ctx))
	refreshed := l.one(p)
	if later := refreshed.EndsAt.Sub(first.EndsAt); later != time.Minute || refreshed.Annotations["summary"] != "DOWN: renamed" {
		t.Errorf("refreshed, the alert ends %v later: %v", later, refreshed.Annotations)
	}
	if diff := cmp.Diff(first.Labels, refreshed.Labels); diff != "" {
		t.Error(diff)
	}
	report(pings.Success)
	l.none(p)

	report(pings.Failure)
	if names := slices.Collect(maps.Values(l.one(p).Labels)); !slices.Contains(names, "renamed") {
		t.Errorf("labels %q", names)
	}
	must(mon.Project(c.Check.ProjectID).Pause(ctx, c.ID))
	now = now.Add(time.Minute)
	must(nil, mon.Tick(ctx))
	must(nil, mon.Tick(ctx))
	l.none(p)
}
