// Command fleet keeps a check for each job of a fleet. Its argument is a file with a line for each job: its slug and its
// schedule, such as "host-17-backup 0 3 * * *". It deletes the checks that it made for jobs which are no longer there.
// $ROLLCALL_URL and $ROLLCALL_API_KEY select the server and the project.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"os/signal"
	"strings"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/client"
)

const (
	// tag marks the checks that this program may delete.
	tag = "fleet"
	// workers make requests at once. The client keeps them within the rate limit of the server.
	workers = 4
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	file, err := os.ReadFile(os.Args[1])
	check(err)
	c, err := client.New(os.Getenv("ROLLCALL_URL"), os.Getenv("ROLLCALL_API_KEY"), nil)
	check(err)
	report, err := reconcile(ctx, c, string(file))
	fmt.Println(report)
	check(err)
}

// reconcile creates and updates the checks of the jobs, and only if all of that worked deletes the others.
func reconcile(ctx context.Context, c *client.Client, file string) (*report, error) {
	r := new(report)
	jobs := make(map[string]bool)
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(workers)
	for line := range strings.Lines(file) {
		slug, schedule, _ := strings.Cut(strings.TrimSpace(line), " ")
		jobs[slug] = true
		group.Go(func() error {
			spec := checks.Spec{Slug: &slug, Tags: []string{tag}, Schedule: &schedule}
			_, created, err := c.Upsert(groupCtx, spec, checks.UniqueSlug)
			if created {
				r.created.Add(1)
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return r, err
	}
	list, err := c.Checks(ctx, checks.Query{Tags: []string{tag}})
	if err != nil {
		return r, err
	}
	for _, have := range list {
		if jobs[have.Slug] {
			continue
		}
		// Somebody else may have deleted it. A proxy that answers 404 is no reason to believe that.
		if _, err := c.Delete(ctx, have.ID); err != nil && !errors.Is(err, checks.ErrNotFound) {
			return r, err
		}
		r.deleted++
	}
	return r, nil
}

// report counts what reconcile did.
type report struct {
	created atomic.Int64
	deleted int
}

func (r *report) String() string {
	return fmt.Sprintf("%d created, %d deleted", r.created.Load(), r.deleted)
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
