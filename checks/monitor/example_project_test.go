package monitor_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/monitor/monitortest"
	"github.com/rollcall-dev/rollcall/flips"
	"github.com/rollcall-dev/rollcall/pings"
)

// A check goes up with its first success, and down when the next one is overdue.
func ExampleMonitor_Ping() {
	ctx := context.Background()
	mon := monitortest.New(noon, nil)
	defer mon.Close()
	jobs, err := mon.OpenProject(ctx, "jobs")
	check(err)
	backup, err := jobs.Create(ctx, checks.Spec{Slug: new("backup"), Timeout: new(24 * time.Hour), Grace: new(time.Hour)})
	check(err)

	ping, err := mon.Ping(ctx, backup.ID, pings.Signal{Kind: pings.Success, Body: []byte("12 files")})
	check(err)
	fmt.Println("ping", ping.N, ping.Kind)
	mon.Advance(25 * time.Hour)
	backup, err = jobs.Check(ctx, backup.ID)
	check(err)
	fmt.Println(backup.Status)
	// Output:
	// ping 1 success
	// down
}

// A program describes its check at every start. The same call works on a *client.Client.
func ExampleProject_Upsert() {
	ctx := context.Background()
	mon := monitortest.New(noon, nil)
	defer mon.Close()
	jobs, err := mon.OpenProject(ctx, "jobs")
	check(err)
	for _, grace := range []time.Duration{time.Hour, 2 * time.Hour} {
		spec := checks.Spec{Slug: new("backup"), Schedule: new("0 3 * * *"), Grace: &grace}
		c, created, err := checks.Manager(jobs).Upsert(ctx, spec, checks.UniqueSlug)
		check(err)
		fmt.Println(c.Slug, c.Grace, created)
	}
	// Output:
	// backup 1h0m0s true
	// backup 2h0m0s false
}

func ExampleProject_Flips() {
	ctx := context.Background()
	mon := monitortest.New(noon, nil)
	defer mon.Close()
	jobs, err := mon.OpenProject(ctx, "jobs")
	check(err)
	backup, err := jobs.Create(ctx, checks.Spec{Timeout: new(time.Hour), Grace: new(10 * time.Minute)})
	check(err)
	_, err = mon.Ping(ctx, backup.ID, pings.Signal{Kind: pings.Success})
	check(err)
	mon.Advance(2 * time.Hour)

	for f, err := range jobs.Flips(ctx, backup.ID, flips.Range{}) { // newest first
		check(err)
		fmt.Println(f.At.Format("15:04"), f.Up)
	}
	// Output:
	// 13:10 false
	// 12:00 true
}

func ExampleProject_Deliveries() {
	ctx := context.Background()
	mon := monitortest.New(noon, nil)
	defer mon.Close()
	jobs, err := mon.OpenProject(ctx, "jobs")
	check(err)
	backup, err := jobs.Create(ctx, checks.Spec{Slug: new("backup")})
	check(err)
	for _, kind := range []pings.Kind{pings.Failure, pings.Success} {
		_, err = mon.Ping(ctx, backup.ID, pings.Signal{Kind: kind})
		check(err)
		mon.Advance(time.Minute)
	}

	for d, err := range jobs.Deliveries(ctx, checks.DeliveryQuery{}) { // newest first
		check(err)
		fmt.Println(d.CreatedAt.Format("15:04"), d.Status, d.State)
	}
	// Output:
	// 12:01 up sent
	// 12:00 down sent
}

// Many checks change in few transactions, between which pings get their turn.
func ExampleProject_ChangeMany() {
	ctx := context.Background()
	mon := monitortest.New(noon, nil)
	defer mon.Close()
	jobs, err := mon.OpenProject(ctx, "jobs")
	check(err)
	var changes []monitor.Change
	for _, slug := range []string{"backup", "export", "report"} {
		changes = append(changes, monitor.Upserting(checks.Spec{Slug: &slug}))
	}
	check(jobs.ChangeMany(ctx, changes, nil, func(_ int, c monitor.Changed) {
		fmt.Println("created", c.After.Slug)
		changes = append(changes, monitor.Pausing(c.After.ID))
	}))

	changes = append(changes[3:], monitor.Pausing(uuid.New()))
	gone := func(err error) bool { return errors.Is(err, checks.ErrNotFound) }
	check(jobs.ChangeMany(ctx, changes, gone, func(_ int, c monitor.Changed) {
		fmt.Println(c.After.Slug, c.After.Stored, c.Err)
	}))
	// Output:
	// created backup
	// created export
	// created report
	// backup paused <nil>
	// export paused <nil>
	// report paused <nil>
	//   not found
}
