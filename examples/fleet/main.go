// Command fleet keeps a check for each job of a fleet. Its argument is a file with a line for each job: its slug and its
// schedule, such as "host-17-backup 0 3 * * *". It deletes the checks that it made for jobs which are no longer there.
// $ROLLCALL_URL and $ROLLCALL_API_KEY select the server and the project.
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"os/signal"
	"strings"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/declare"
	"github.com/rollcall-dev/rollcall/client"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	file, err := os.ReadFile(os.Args[1])
	check(err)
	c, err := client.New(os.Getenv("ROLLCALL_URL"), os.Getenv("ROLLCALL_API_KEY"), nil)
	check(err)
	plan, err := reconcile(ctx, c, string(file))
	check(err)
	fmt.Print(plan)
}

// specs returns a check for each job of the file.
func specs(file string) (list []checks.Spec) {
	for line := range strings.Lines(file) {
		slug, schedule, _ := strings.Cut(strings.TrimSpace(line), " ")
		list = append(list, checks.Spec{Slug: &slug, Schedule: &schedule})
	}
	return list
}

// reconcile creates and updates the checks of the jobs, and deletes those of former ones: the checks with the tag. It leaves
// all others alone.
func reconcile(ctx context.Context, c *client.Client, file string) (declare.Plan, error) {
	fleet := declare.OnProject(c)
	plan, err := declare.Diff(ctx, fleet, specs(file), &declare.Options{Tag: "fleet", Prune: true})
	if err != nil {
		return plan, err
	}
	_, err = plan.Apply(ctx, fleet, nil)
	return plan, err
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
