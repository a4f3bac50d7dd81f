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
	backup, err := mon.Create(ctx, project.ID, checks.Spec{Name: new("backup")})
	check(err)
	_, err = mon.Ping(ctx, backup.ID, pings.Signal{Kind: pings.Failure, ExitStatus: new(3)})
	check(err)
	_, err = mon.Deliver(ctx) // Run does this all the time
	check(err)
	// Output:
	// backup is down: the job reported a failure, exit status 3
}

func ExampleMonitor_UpsertChannel() {
	ctx := context.Background()
	store, err := sqlite.Open(ctx, sqlite.Memory)
	check(err)
	defer store.Close()
	mon, err := monitor.New(store, nil)
	check(err)
	project, err := mon.OpenProject(ctx, "jobs")
	check(err)

	for _, to := range []string{"ops@example.org", "ops@example.org", "oncall@example.org"} { // three starts of a program
		_, change, err := mon.UpsertChannel(ctx, project.ID, channels.Email, "ops", map[string]string{"to": to})
		check(err)
		fmt.Println(to, change)
	}
	// Output:
	// ops@example.org created
	// ops@example.org unchanged
	// oncall@example.org updated
}
