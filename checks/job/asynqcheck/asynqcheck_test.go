package asynqcheck_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hibiken/asynq"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/job/asynqcheck"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/dbtest"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// redis starts a throwaway Redis server.
func redis(t *testing.T) asynq.RedisClientOpt {
	return asynq.RedisClientOpt{Network: "unix", Addr: dbtest.Redis(t)}
}

// TestSync runs a real scheduler and a real worker until each task has run. Then the program starts with one task fewer.
func TestSync(t *testing.T) {
	server := redis(t)
	mon, err := monitor.New(dbtest.Memory(t), nil)
	must(t, err)
	p, err := mon.OpenProject(t.Context(), "p")
	must(t, err)
	tasks := []*asynq.PeriodicTaskConfig{
		{Cronspec: "@every 1s", Task: asynq.NewTask("backup:nightly", nil, asynq.MaxRetry(0))},
		{Cronspec: "@every 1s", Task: asynq.NewTask("report", nil, asynq.MaxRetry(0))},
		{Cronspec: "@every 1s", Task: asynq.NewTask("broken", nil, asynq.MaxRetry(0))},
		{Cronspec: "CRON_TZ=Europe/Riga 30 3 * * 1-5", Task: asynq.NewTask("weekdays", nil)},
	}
	m := asynqcheck.New(p, "asynq", nil)
	must(t, m.Sync(t.Context(), tasks))

	done := make(chan string, 1000)
	failed := func(_ context.Context, task *asynq.Task, _ error) { done <- task.Type() }
	worker := asynq.NewServer(server, asynq.Config{
		Concurrency: 4, LogLevel: asynq.FatalLevel, TaskCheckInterval: 10 * time.Millisecond, ErrorHandler: asynq.ErrorHandlerFunc(failed),
	})
	mux := asynq.NewServeMux()
	mux.Use(func(next asynq.Handler) asynq.Handler { // outside of the monitor's, so that the pings have been sent
		return asynq.HandlerFunc(func(ctx context.Context, task *asynq.Task) error {
			err := next.ProcessTask(ctx, task)
			if err == nil {
				done <- task.Type()
			}
			return err
		})
	}, m.Middleware)
	var other atomic.Int64
	mux.HandleFunc("backup:nightly", func(context.Context, *asynq.Task) error { return nil })
	mux.HandleFunc("report", func(context.Context, *asynq.Task) error { return errors.New("no printer") })
	mux.HandleFunc("broken", func(context.Context, *asynq.Task) error { panic("out of order") })
	mux.HandleFunc("other", func(context.Context, *asynq.Task) error { other.Add(1); return nil })
	must(t, worker.Start(mux))
	scheduler := asynq.NewScheduler(server, &asynq.SchedulerOpts{LogLevel: asynq.FatalLevel})
	must(t, asynqcheck.Register(scheduler, tasks))
	must(t, scheduler.Start())
	client := asynq.NewClient(server)
	_, err = client.Enqueue(asynq.NewTask("other", nil))
	must(t, err)
	must(t, client.Close())
	seen := make(map[string]bool)
	for timeout := time.After(time.Minute); len(seen) < 4; {
		select {
		case name := <-done:
			seen[name] = true
		case <-timeout:
			t.Fatalf("only %v ran", seen)
		}
	}
	scheduler.Shutdown()
	worker.Shutdown()

	check := func(slug string) checks.Check {
		t.Helper()
		found, err := p.CheckBySlug(t.Context(), slug)
		must(t, err)
		return *found.Check
	}
	now := mon.Now()
	backup := check("backup-nightly")
	if backup.Name != "backup:nightly" || backup.Timeout != time.Minute || fmt.Sprint(backup.Tags) != "[asynq]" || backup.Status(now) != checks.StatusUp {
		t.Errorf("the check of the backup: %+v", backup)
	}
	for slug, message := range map[string]string{"report": "no printer", "broken": "out of order"} {
		c := check(slug)
		log, err := checks.Collect(mon.Project(c.ProjectID).Pings(t.Context(), c.ID, checks.PingQuery{}))
		must(t, err)
		body, err := mon.Project(c.ProjectID).PingBody(t.Context(), c.ID, log[0].N)
		must(t, err)
		if c.Status(now) != checks.StatusDown || !strings.Contains(string(body), message) {
			t.Errorf("the check of %s is %v; body %s", slug, c.Status(now), body)
		}
	}
	if c := check("weekdays"); c.Schedule != "30 3 * * 1-5" || c.TZ != "Europe/Riga" {
		t.Errorf("the check of the weekdays: %+v", c)
	}
	if _, err := p.CheckBySlug(t.Context(), "other"); !errors.Is(err, checks.ErrNotFound) || other.Load() == 0 {
		t.Errorf("the other task ran %d times and has the check %v", other.Load(), err)
	}

	// A second start without the report pauses its check if it is asked to.
	for _, pause := range []bool{false, true} {
		m := asynqcheck.New(p, "asynq", &asynqcheck.Config{PauseGone: pause})
		must(t, m.Sync(t.Context(), append(tasks[:1:1], tasks[2:]...)))
		if report := check("report"); (report.Stored == checks.StatusPaused) != pause {
			t.Errorf("the check of a removed task is %v, to be paused %t", report.Stored, pause)
		}
	}
	if again := check("backup-nightly"); again.ID != backup.ID || again.Stored == checks.StatusPaused {
		t.Errorf("after the second start: %+v", again)
	}
}

// TestSyncErrors synchronizes tasks that cannot have a check.
func TestSyncErrors(t *testing.T) {
	mon, err := monitor.New(dbtest.Memory(t), nil)
	must(t, err)
	p, err := mon.OpenProject(t.Context(), "p")
	must(t, err)
	task := func(cronspec, name string) *asynq.PeriodicTaskConfig {
		return &asynq.PeriodicTaskConfig{Cronspec: cronspec, Task: asynq.NewTask(name, nil)}
	}
	err = asynqcheck.New(p, "asynq", nil).Sync(t.Context(), []*asynq.PeriodicTaskConfig{
		task("@daily", "a:b"), task("@hourly", "a-b"), task("now and then", "vague"), task("@weekly", "good"),
	})
	for _, want := range []string{`job "a-b": would share the check "a-b" with the job "a:b"`, `job "vague"`} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one about %s", err, want)
		}
	}
	if good, err := p.CheckBySlug(t.Context(), "good"); err != nil || good.Schedule != "0 0 * * 0" {
		t.Errorf("the good task: %+v, %v", good, err)
	}
}
