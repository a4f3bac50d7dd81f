package monitor_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/sqlite"
	"github.com/rollcall-dev/rollcall/pings"
)

func ExampleConfig_onAlert() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "jobs-")
	exit(err)
	defer os.RemoveAll(dir)
	store, err := sqlite.Open(ctx, filepath.Join(dir, "jobs.db"))
	exit(err)
	defer store.Close()
	mon, err := monitor.New(store, &monitor.Config{
		OnAlert: func(ctx context.Context, n channels.Notification) error {
			fmt.Printf("%s is %s: %s\n", n.Check.Name, n.Status, n.Reason)
			return nil // an error would be retried
		},
	})
	exit(err)

	project, err := mon.OpenProject(ctx, "jobs")
	exit(err)
	backup, err := mon.Create(ctx, project.ID, checks.Spec{Name: new("backup")})
	exit(err)
	_, err = mon.Ping(ctx, backup.ID, pings.Signal{Kind: pings.Fail, ExitStatus: new(3)})
	exit(err)
	_, err = mon.Deliver(ctx) // Run does this all the time
	exit(err)
	// Output:
	// backup is down: a failure was signalled, exit status 3
}

func ExampleMonitor_UpsertChannel() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "jobs-")
	exit(err)
	defer os.RemoveAll(dir)
	store, err := sqlite.Open(ctx, filepath.Join(dir, "jobs.db"))
	exit(err)
	defer store.Close()
	mon, err := monitor.New(store, nil)
	exit(err)
	project, err := mon.OpenProject(ctx, "jobs")
	exit(err)

	for _, to := range []string{"ops@example.org", "ops@example.org", "oncall@example.org"} { // three starts of a program
		_, change, err := mon.UpsertChannel(ctx, project.ID, channels.Email, "ops", map[string]string{"to": to})
		exit(err)
		fmt.Println(to, change)
	}
	// Output:
	// ops@example.org created
	// ops@example.org unchanged
	// oncall@example.org updated
}

func exit(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
