package monitor_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/channels/standard"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/audit"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/dbtest"
	"github.com/rollcall-dev/rollcall/pings"
)

// jobs creates checks in one transaction each of many.
func (s setup) jobs(t testing.TB, n int, spec func(i int) checks.Spec) (list []checks.Check) {
	t.Helper()
	changes := make([]monitor.Change, n)
	for i := range changes {
		changes[i] = monitor.Creating(spec(i))
	}
	must(t, s.Project(s.project.ID).ChangeMany(t.Context(), changes, nil, func(i int, c monitor.Changed) {
		if i != len(list) || !c.Created || c.Err != nil {
			t.Errorf("change %d was reported as number %d: %+v", len(list), i, c)
		}
		list = append(list, c.After)
	}))
	return list
}

// TestChangeManyLikeOne makes the same changes one by one and many at once: checks, events and the audit log are the same.
func TestChangeManyLikeOne(t *testing.T) {
	eachConfig(t, monitor.Config{AuditRetention: 365 * 24 * time.Hour}, func(t *testing.T, s setup) {
		const n = 60
		type result struct {
			checks []checks.Check
			events [][]checks.Event
			audit  []audit.Entry
		}
		run := func(name string, apply func(p *monitor.Project, list []monitor.Change) []error) (r result, errs []error) {
			project, _, err := s.CreateProject(t.Context(), checks.ProjectSpec{Name: name})
			must(t, err)
			p := s.Project(project.ID)
			hook, err := p.CreateChannel(t.Context(), channels.Channel{Kind: channels.Webhook, Name: "hook", Settings: map[string]string{"url_down": "https://example.org/"}})
			must(t, err)
			ids := make([]uuid.UUID, n)
			for i := range ids {
				c, err := p.Create(t.Context(), checks.Spec{Slug: new(fmt.Sprint("job-", i)), Tags: []string{"a"}, Channels: new("")})
				must(t, err)
				ids[i] = c.ID
				if i%3 > 0 {
					s.ping(t, c.ID, map[bool]pings.Kind{true: pings.Success, false: pings.Failure}[i%3 == 1])
				}
			}
			must(t, errors.Join(pause(t, p, ids[5]), pause(t, p, ids[6])))
			var list []monitor.Change
			for i, id := range ids {
				switch i % 6 {
				case 0:
					list = append(list, monitor.Updating(id, func(c checks.Check) (checks.Spec, error) {
						return checks.Spec{Tags: append(c.TagList(), "b"), Channels: new(hook.ID.String())}, nil
					}))
				case 1:
					list = append(list, monitor.Pausing(id), monitor.Resuming(id), monitor.Pausing(id))
				case 2:
					list = append(list, monitor.Resuming(id)) // not paused, but for job-5
				case 3:
					list = append(list, monitor.Upserting(checks.Spec{Slug: new(fmt.Sprint("job-", i)), Grace: new(time.Hour), After: new("job-1")}))
				case 4:
					list = append(list, monitor.Deleting(id), monitor.Deleting(id))
				default:
					list = append(list, monitor.Upserting(checks.Spec{Slug: new(fmt.Sprint("new-", i)), After: new(fmt.Sprint("job-", i))}),
						monitor.Updating(id, func(checks.Check) (checks.Spec, error) { return checks.Spec{Timeout: new(time.Second)}, nil }))
				}
			}
			errs = apply(p, list)
			found, err := checks.Stored(p.Checks(t.Context(), checks.Query{}))
			must(t, err)
			for _, c := range found {
				events, err := checks.Collect(p.Events(t.Context(), c.ID, monitor.EventQuery{}))
				must(t, err)
				for i := range events {
					events[i].ID, events[i].CheckID = 0, uuid.Nil
				}
				r.events = append(r.events, events)
				c.ID, c.ProjectID, c.BadgeKey = uuid.Nil, uuid.Nil, uuid.Nil
				for i := range c.Channels {
					c.Channels[i] = uuid.Nil
				}
				r.checks = append(r.checks, c)
			}
			r.audit, err = s.Installation().Audit(t.Context(), audit.Query{Project: project.ID, Limit: 1000})
			must(t, err)
			r.audit = slices.DeleteFunc(r.audit, func(e audit.Entry) bool { return e.Action == "project.create" }) // it has another name
			for i := range r.audit {
				r.audit[i].ID, r.audit[i].ProjectID, r.audit[i].CheckID = 0, uuid.Nil, uuid.Nil
			}
			return r, errs
		}
		all := func(error) bool { return true }
		one, errsOfOne := run("one", func(p *monitor.Project, list []monitor.Change) (errs []error) {
			for _, c := range list {
				must(t, p.ChangeMany(t.Context(), []monitor.Change{c}, all, func(_ int, c monitor.Changed) { errs = append(errs, c.Err) }))
			}
			return errs
		})
		many, errsOfMany := run("many", func(p *monitor.Project, list []monitor.Change) (errs []error) {
			must(t, p.ChangeMany(t.Context(), list, all, func(_ int, c monitor.Changed) { errs = append(errs, c.Err) }))
			return errs
		})
		if diff := cmp.Diff(one, many, cmp.AllowUnexported(result{})); diff != "" {
			t.Errorf("many at once differ (-one by one +many):\n%s", diff)
		}
		if diff := cmp.Diff(fmt.Sprint(errsOfOne), fmt.Sprint(errsOfMany)); diff != "" {
			t.Errorf("errors (-one by one +many):\n%s", diff)
		}
	})
}

func pause(t *testing.T, p *monitor.Project, id uuid.UUID) error {
	_, err := p.Pause(t.Context(), id)
	return err
}

// TestChangeManyStops ends the context, and has a change fail, in the middle. What was reported is what was done, and a second
// call does the rest.
func TestChangeManyStops(t *testing.T) {
	each(t, func(t *testing.T, s setup) {
		const n = 400
		list := s.jobs(t, n, func(i int) checks.Spec { return checks.Spec{Slug: new(fmt.Sprint("job-", i))} })
		p := s.Project(s.project.ID)
		errHas := errors.New("it has the tag")
		tagging := func(tag string) (changes []monitor.Change) {
			for _, c := range list {
				changes = append(changes, monitor.Updating(c.ID, func(c checks.Check) (checks.Spec, error) {
					if c.HasTags([]string{tag}) {
						return checks.Spec{}, errHas
					}
					return checks.Spec{Tags: append(c.TagList(), tag)}, nil
				}))
			}
			return changes
		}
		tagged := func(tag string) int {
			found, err := p.Checks(t.Context(), checks.Query{Tags: []string{tag}})
			must(t, err)
			return len(found)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := 0
		err := p.ChangeMany(ctx, tagging("a"), nil, func(i int, c monitor.Changed) {
			done++
			cancel()
		})
		if !errors.Is(err, context.Canceled) || done == 0 || done == n || tagged("a") != done {
			t.Errorf("after the end of the context %d are reported, %d have the tag; error %v", done, tagged("a"), err)
		}
		skipped := 0
		must(t, p.ChangeMany(t.Context(), tagging("a"), func(err error) bool { return errors.Is(err, errHas) }, func(_ int, c monitor.Changed) {
			if c.Err != nil {
				skipped++
			}
		}))
		if skipped != done || tagged("a") != n {
			t.Errorf("the second call skipped %d, and %d have the tag", skipped, tagged("a"))
		}

		changes := tagging("b")
		changes[n/2] = monitor.Deleting(uuid.New())
		done = 0
		err = p.ChangeMany(t.Context(), changes, nil, func(int, monitor.Changed) { done++ })
		if !errors.Is(err, checks.ErrNotFound) || done != n/2 || tagged("b") != n/2 {
			t.Errorf("%d are reported, %d have the tag; error %v", done, tagged("b"), err)
		}

		// What the database alone refuses fails alone.
		changes = nil
		for i := range 20 {
			changes = append(changes, monitor.Creating(checks.Spec{Name: new(fmt.Sprint(i))}))
		}
		changes[7] = monitor.Creating(checks.Spec{ID: list[0].ID})
		var refused []int
		must(t, p.ChangeMany(t.Context(), changes, func(err error) bool { return errors.Is(err, checks.ErrExists) }, func(i int, c monitor.Changed) {
			if c.Err != nil {
				refused = append(refused, i)
			}
		}))
		if !slices.Equal(refused, []int{7}) {
			t.Errorf("refused are %v", refused)
		}
	})
}

// TestChangeManyGivesTurns pings between two transactions: ChangeMany commits, and reports, long before its end.
func TestChangeManyGivesTurns(t *testing.T) {
	each(t, func(t *testing.T, s setup) {
		const n = 1200
		list := s.jobs(t, n, func(i int) checks.Spec { return checks.Spec{} })
		asked, pinged := 0, 0
		changes := make([]monitor.Change, n)
		for i, c := range list {
			changes[i] = monitor.Updating(c.ID, func(checks.Check) (checks.Spec, error) {
				asked++
				return checks.Spec{Desc: new("x")}, nil
			})
		}
		must(t, s.Project(s.project.ID).ChangeMany(t.Context(), changes, nil, func(i int, c monitor.Changed) {
			if i+1 == asked && asked < n { // the transaction is over
				s.ping(t, list[n-1].ID, pings.Success)
				pinged++
			}
		}))
		if pinged < 2 {
			t.Errorf("there was room for %d pings", pinged)
		}
		c, err := s.Check(t.Context(), list[n-1].ID)
		must(t, err)
		if c.NPings != int64(pinged) || c.Desc != "x" {
			t.Errorf("the check has %d pings of %d and the description %q", c.NPings, pinged, c.Desc)
		}
	})
}

// TestChangeManyLimit: the limit of the account counts what the same call adds and deletes.
func TestChangeManyLimit(t *testing.T) {
	each(t, func(t *testing.T, s setup) {
		free, _, err := s.CreateProject(t.Context(), checks.ProjectSpec{Name: "free", Account: "f", Plan: "free"})
		must(t, err)
		s.project = free
		list := s.jobs(t, 18, func(int) checks.Spec { return checks.Spec{} })
		changes := []monitor.Change{monitor.Deleting(list[0].ID)}
		for i := range 10 {
			changes = append(changes, monitor.Upserting(checks.Spec{Slug: new(fmt.Sprint("s-", i))}))
		}
		done := 0
		err = s.Project(free.ID).ChangeMany(t.Context(), changes, nil, func(int, monitor.Changed) { done++ })
		found, listErr := s.Project(free.ID).Checks(t.Context(), checks.Query{})
		must(t, listErr)
		if !errors.Is(err, checks.ErrCheckLimit) || done != 4 || len(found) != 20 {
			t.Errorf("%d changes are reported, %d checks are there; error %v", done, len(found), err)
		}
	})
}

// TestDeleteLargeProject deletes a project of many checks in steps. After a failure in the middle, which says how many are deleted,
// it can be deleted again.
func TestDeleteLargeProject(t *testing.T) {
	eachStore(t, func(t *testing.T, open func() database) {
		store := &ending{Store: open().Store}
		s := newSetup(t, database{store}, checks.ProjectSpec{Name: "p"})
		list := s.jobs(t, 1200, func(int) checks.Spec { return checks.Spec{} })
		s.ping(t, list[0].ID, pings.Failure)
		store.after = 2
		err := s.Projects().Delete(t.Context(), s.project.ID)
		store.after = 0
		left, listErr := s.Project(s.project.ID).Checks(t.Context(), checks.Query{})
		must(t, listErr)
		want := fmt.Sprintf("(%d of 1200 checks are deleted)", 1200-len(left))
		if !errors.Is(err, checks.ErrUnavailable) || !strings.Contains(err.Error(), want) || len(left) == 1200 {
			t.Errorf("error %v, want one that says %s", err, want)
		}
		must(t, s.Projects().Delete(t.Context(), s.project.ID))
		if err := s.Projects().Delete(t.Context(), s.project.ID); !errors.Is(err, checks.ErrNotFound) {
			t.Errorf("error %v of a project that is deleted", err)
		}
		if c, err := s.Check(t.Context(), list[1199].ID); !errors.Is(err, checks.ErrNotFound) {
			t.Errorf("a check is left: %+v, %v", c, err)
		}
	})
}

// ending is a store whose transactions fail after some.
type ending struct {
	store.Store
	after int // 0 for never
}

func (f *ending) Update(ctx context.Context, fn func(ctx context.Context, tx store.Tx) error) error {
	if f.after > 0 {
		if f.after--; f.after == 0 {
			f.after = 1
			return store.ErrUnavailable
		}
	}
	return f.Store.Update(ctx, fn)
}

// BenchmarkMany changes 10,000 checks, while pings come one after another: to the same server, and to one beside it. It reports the
// time for all and the longest ping.
func BenchmarkMany(b *testing.B) {
	dbtest.Each(b, func(b *testing.B, db dbtest.DB) {
		const n = 10_000
		for _, beside := range []bool{false, true} {
			b.Run(map[bool]string{false: "server", true: "beside"}[beside], func(b *testing.B) { benchmarkMany(b, db, n, beside) })
		}
	})
}

func benchmarkMany(b *testing.B, db dbtest.DB, n int, beside bool) {
	mon, err := monitor.New(db.Open(b), &monitor.Config{AuditRetention: 365 * 24 * time.Hour, Channels: standard.Kinds(), DeliveredElsewhere: true})
	must(b, err)
	pinged := mon
	if beside {
		pinged, err = monitor.New(db.Open(b), nil)
		must(b, err)
	}
	project, err := mon.OpenProject(b.Context(), fmt.Sprint("p ", beside))
	must(b, err)
	for i := range 2 {
		_, err := project.CreateChannel(b.Context(), channels.Channel{Kind: channels.Webhook, Name: fmt.Sprint(i), Settings: map[string]string{"url_down": "https://example.org/"}})
		must(b, err)
	}
	target, err := project.Create(b.Context(), checks.Spec{Name: new("pinged"), Channels: new("")})
	must(b, err)
	var list []checks.Check
	run := func(name string, change func(c checks.Check) monitor.Change) {
		b.Run(name, func(b *testing.B) {
			for range b.N {
				if b.N > 1 {
					b.Fatal("run with -benchtime 1x")
				}
				changes := make([]monitor.Change, n)
				for i := range changes {
					if list == nil {
						changes[i] = monitor.Upserting(checks.Spec{Slug: new(fmt.Sprint("job-", i)), Name: new(fmt.Sprint("Job ", i)), Tags: []string{"prod", "db"}, Channels: new("*")})
					} else {
						changes[i] = change(list[i])
					}
				}
				stop, worst := make(chan struct{}), make(chan time.Duration)
				go func() {
					var most time.Duration
					for {
						select {
						case <-stop:
							worst <- most
							return
						default:
						}
						begin := time.Now()
						if _, err := pinged.Ping(b.Context(), target.ID, pings.Signal{Kind: pings.Success}); err != nil {
							b.Error(err)
						}
						most = max(most, time.Since(begin))
						time.Sleep(time.Millisecond)
					}
				}()
				var after []checks.Check
				must(b, project.ChangeMany(b.Context(), changes, nil, func(_ int, c monitor.Changed) { after = append(after, c.After) }))
				list = after
				close(stop)
				b.ReportMetric(float64((<-worst).Milliseconds()), "ms/worst-ping")
			}
		})
	}
	spec := func(of func(c checks.Check) checks.Spec) func(c checks.Check) monitor.Change {
		return func(c checks.Check) monitor.Change {
			return monitor.Updating(c.ID, func(c checks.Check) (checks.Spec, error) { return of(c), nil })
		}
	}
	run("create", nil)
	run("tag", spec(func(c checks.Check) checks.Spec { return checks.Spec{Tags: append(c.TagList(), "new")} }))
	run("untag", spec(func(checks.Check) checks.Spec { return checks.Spec{Tags: []string{"prod", "db"}} }))
	run("integration", spec(func(c checks.Check) checks.Spec { return checks.Spec{Channels: new(c.Channels[0].String())} }))
	run("pause", func(c checks.Check) monitor.Change { return monitor.Pausing(c.ID) })
	run("resume", func(c checks.Check) monitor.Change { return monitor.Resuming(c.ID) })
	run("delete", func(c checks.Check) monitor.Change { return monitor.Deleting(c.ID) })
}
