package declare_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/rollcall-dev/rollcall/checks/declare"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/sqlite"
)

func Example() {
	mon, cleanup := openMonitor()
	defer cleanup()
	ctx := context.Background()
	target := declare.OnProjects(mon.Projects())
	for _, text := range []string{
		"projects: [{name: jobs, checks: [{slug: nightly, schedule: '0 3 * * *', tz: Europe/Riga}]}]",
		"projects: [{name: jobs, checks: [{slug: nightly, timeout: 24h, grace: 600}]}]",
	} {
		doc, err := declare.Parse([]byte(text), nil)
		if err != nil {
			log.Fatal(err)
		}
		plan, err := declare.NewPlan(ctx, target, doc, nil)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Print(plan)
		if _, err := plan.Apply(ctx, target, nil); err != nil {
			log.Fatal(err)
		}
	}
	// Output:
	// project "jobs"
	//   + project "jobs"
	//   + check "nightly"
	//       + schedule: "0 3 * * *"
	//       + tz: "Europe/Riga"
	// project "jobs"
	//   ~ check "nightly"
	//       + timeout: 24h
	//       - schedule: "0 3 * * *"
	//       - tz: "Europe/Riga"
	//       ~ grace: 1h -> 10m
}

// Parse reports every error of a file with its place.
func ExampleParse() {
	_, err := declare.Parse([]byte("checks:\n  - slug: nightly\n    grace: 5s\n  - timeout: 1 month\n"), nil)
	fmt.Println(err)
	// Output:
	// checks.yaml:3:12: grace is too small: 5, the minimum is 60
	// checks.yaml:4:5: a check has no slug
	// checks.yaml:4:14: timeout: "1 month" has months or years, which differ in length: write days, such as 30 days
}

func ExampleDocument_Write() {
	doc := declare.Document{Projects: []declare.Project{{Name: "jobs", Checks: []declare.Check{}}}}
	if err := doc.Write(os.Stdout); err != nil {
		log.Fatal(err)
	}
	// Output:
	// projects:
	//   - name: jobs
	//     checks: []
}

// openMonitor returns a monitor on a new SQLite database.
func openMonitor() (mon *monitor.Monitor, cleanup func()) {
	dir, err := os.MkdirTemp("", "rollcall-example-")
	if err != nil {
		log.Fatal(err)
	}
	store, err := sqlite.Open(context.Background(), filepath.Join(dir, "rollcall.db"))
	if err != nil {
		log.Fatal(err)
	}
	if mon, err = monitor.New(store, nil); err != nil {
		log.Fatal(err)
	}
	return mon, func() {
		store.Close()
		os.RemoveAll(dir)
	}
}

// With one project, a file describes its checks and its maintenance. It may also be that of a *client.Client.
func ExampleOnProject() {
	mon, cleanup := openMonitor()
	defer cleanup()
	ctx := context.Background()
	jobs, err := mon.OpenProject(ctx, "jobs")
	if err != nil {
		log.Fatal(err)
	}
	doc, err := declare.Parse([]byte("checks: [{slug: nightly, schedule: '0 3 * * *', tz: Europe/Riga}]"), nil)
	if err != nil {
		log.Fatal(err)
	}
	plan, err := declare.NewPlan(ctx, declare.OnProject(jobs), doc, nil)
	if err != nil {
		log.Fatal(err)
	}
	for _, change := range plan.Changes {
		fmt.Println(change.Action, change.Type, change.Name)
	}
	// Output: create check nightly
}
