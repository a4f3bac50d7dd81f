// Package schedulertest is the contract of the packages that report the jobs of a scheduler, such as croncheck.
package schedulertest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/monitor"
)

// Errors of jobs. The job [Program.Failing] returns NoPrinter, and [Program.Panicking] panics with OutOfOrder.
const (
	NoPrinter  = "no printer"
	OutOfOrder = "out of order"
)

// Program is a program with a scheduler and its reporter. Its jobs are named by the slugs of their checks.
type Program struct {
	Tag       string   // of its checks
	Name      string   // of the check of the job Good
	Good      string   // succeeds
	Failing   string   // fails with NoPrinter
	Panicking string   // panics with OutOfOrder
	Others    []string // further checks after the first start
	// PanicBody is what the last ping of the job Panicking contains.
	PanicBody string
	// Start creates a scheduler with jobs and their reporter, and synchronizes the checks of p with them. On the first start it also
	// adds a job that the reporter must leave alone, and runs the scheduler until each job has ended a run.
	Start func(t *testing.T, p *monitor.Project, first, pauseGone bool, jobs ...string)
}

// Test runs a program, and starts it again with one job fewer. Afterwards the checks of p are those of the last start.
func Test(t *testing.T, mon *monitor.Monitor, p *monitor.Project, program Program) {
	t.Helper()
	ctx := t.Context()
	check := func(slug string) checks.Check {
		t.Helper()
		found, err := p.CheckBySlug(ctx, slug)
		must(t, err)
		return *found.Check
	}
	program.Start(t, p, true, false, program.Good, program.Failing, program.Panicking)

	all, err := p.Checks(ctx, checks.Query{})
	must(t, err)
	var slugs []string
	for _, c := range all {
		slugs = append(slugs, c.Slug)
	}
	slices.Sort(slugs)
	want := append([]string{program.Good, program.Failing, program.Panicking}, program.Others...)
	slices.Sort(want)
	if !slices.Equal(slugs, want) {
		t.Errorf("the jobs have the checks %q, want %q", slugs, want)
	}
	good := check(program.Good)
	if good.Name != program.Name || fmt.Sprint(good.Tags) != "["+program.Tag+"]" || good.NPings < 2 || good.NPings%2 != 0 {
		t.Errorf("the check of a job: %+v", good)
	}
	for slug, last := range map[string]struct {
		status checks.Status
		body   string
	}{
		program.Good:      {checks.StatusUp, ""},
		program.Failing:   {checks.StatusDown, NoPrinter},
		program.Panicking: {checks.StatusDown, program.PanicBody},
	} {
		c := check(slug)
		log, err := checks.Collect(p.Pings(ctx, c.ID, checks.PingQuery{}))
		must(t, err)
		body, err := p.PingBody(ctx, c.ID, log[0].N)
		if last.body == "" && errors.Is(err, checks.ErrNotFound) {
			err = nil
		}
		must(t, err)
		if c.Status(mon.Now()) != last.status || log[0].Duration == nil || !strings.Contains(string(body), last.body) {
			t.Errorf("the check of the job %s is %v, want %v; last ping %+v with the body %s", slug, c.Status(mon.Now()), last.status, log[0], body)
		}
	}

	// Other settings stay as a person has set them. The check of a job that is gone is paused if the program asks for it.
	_, err = p.Update(ctx, good.ID, checks.Spec{Grace: new(5 * time.Minute)})
	must(t, err)
	for _, pauseGone := range []bool{false, true} {
		program.Start(t, p, false, pauseGone, program.Good, program.Panicking)
		if gone := check(program.Failing); (gone.Stored == checks.StatusPaused) != pauseGone {
			t.Errorf("the check of a removed job is %v, to be paused: %t", gone.Stored, pauseGone)
		}
		if again := check(program.Good); again.ID != good.ID || again.Grace != 5*time.Minute || again.Stored == checks.StatusPaused {
			t.Errorf("after another start: %+v", again)
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
