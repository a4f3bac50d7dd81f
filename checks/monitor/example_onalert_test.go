package monitor_test

import (
	"context"
	"fmt"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/sqlite"
	"github.com/rollcall-dev/rollcall/pings"
)

func ExampleConfig_onAlert() {
	ctx := context.Background()
	store, err := sqlite.Open(ctx, sqlite.Memory)
	check(err)
	defer store.Close()
	mon, err := monitor.New(store, &monitor.Config{
		OnAlert: func(ctx context.Context, n channels.Notification) error {
			fmt.Printf("%s is %s: %s\n", n.Check.Name, n.Status, n.Reason)
			return nil // an error would be retried
		},
	})
	check(err)

	project, err := mon.OpenProject(ctx, "jobs")
	check(err)
	backup, err := project.Create(ctx, checks.Spec{Slug: new("backup")})
	check(err)
	_, err = mon.Ping(ctx, backup.ID, pings.Signal{Kind: pings.Failure, ExitStatus: new(3)})
	check(err)
	check(mon.Tick(ctx)) // Start does this all the time
	// Output:
	// backup is down: the job reported a failure, exit status 3
}

func ExampleProject_UpsertChannel() {
	ctx := context.Background()
	store, err := sqlite.Open(ctx, sqlite.Memory)
	check(err)
	defer store.Close()
	pager := channels.NotifierFunc(func(context.Context, channels.Channel, channels.Notification) error { return nil })
	mon, err := monitor.New(store, &monitor.Config{Channels: []channels.Type{
		{Kind: "pager", Settings: []channels.Setting{{Name: "number", Required: true}}, Notifier: pager},
	}})
	check(err)
	project, err := mon.OpenProject(ctx, "jobs")
	check(err)

	for _, number := range []string{"12", "12", "13"} { // three starts of a program
		c, created, err := project.UpsertChannel(ctx, channels.Channel{Kind: "pager", Name: "ops", Settings: map[string]string{"number": number}})
		check(err)
		fmt.Println(c.Settings["number"], created)
	}
	// Output:
	// 12 true
	// 12 false
	// 13 false
}
