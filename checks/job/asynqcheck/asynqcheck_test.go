package asynqcheck_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/hibiken/asynq"

	"github.com/rollcall-dev/rollcall/checks/job/asynqcheck"
	"github.com/rollcall-dev/rollcall/checks/job/internal/schedulertest"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/dbtest"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// patience bounds the wait for the tasks. Only a broken test reaches it.
const patience = 5 * time.Minute

// redis starts a throwaway Redis server.
func redis(t *testing.T) asynq.RedisClientOpt {
	return asynq.RedisClientOpt{Network: "unix", Addr: dbtest.Redis(t)}
}

// TestContract runs a real scheduler and a real worker until each task has run.
func TestContract(t *testing.T) {
	server := redis(t)
	mon, err := monitor.New(dbtest.Memory(t), nil)
	must(t, err)
	p, err := mon.OpenProject(t.Context(), "p")
	must(t, err)
	types := map[string]string{"backup-nightly": "backup:nightly", "report": "report", "broken": "broken"}
	schedulertest.Test(t, mon, p, schedulertest.Program{
		Tag: "asynq", Name: "backup:nightly", Good: "backup-nightly", Failing: "report", Panicking: "broken", PanicBody: schedulertest.OutOfOrder,
		Others: []string{"weekdays"},
		Start: func(t *testing.T, p *monitor.Project, first, pauseGone bool, slugs ...string) {
			tasks := []*asynq.PeriodicTaskConfig{{Cronspec: "CRON_TZ=Europe/Riga 30 3 * * 1-5", Task: asynq.NewTask("weekdays", nil)}}
			for _, slug := range slugs {
				tasks = append(tasks, &asynq.PeriodicTaskConfig{Cronspec: "@every 1s", Task: asynq.NewTask(types[slug], nil, asynq.MaxRetry(0))})
			}
			m := asynqcheck.New(p, "asynq", &asynqcheck.Config{PauseGone: pauseGone})
			must(t, m.Sync(t.Context(), tasks))
			if first {
				run(t, server, m, tasks)
			}
		},
	})

	backup, err := p.CheckBySlug(t.Context(), "backup-nightly")
	if err != nil || backup.Timeout != time.Minute {
		t.Errorf("the check of the backup: %+v, %v", backup.Check, err)
	}
	weekdays, err := p.CheckBySlug(t.Context(), "weekdays")
	if err != nil || weekdays.Schedule != "30 3 * * 1-5" || weekdays.TZ != "Europe/Riga" {
		t.Errorf("the check of the weekdays: %+v, %v", weekdays.Check, err)
	}
}

// run schedules tasks until each that is due every second has run, and a task without a check.
func run(t *testing.T, server asynq.RedisClientOpt, m *asynqcheck.Reporter, tasks []*asynq.PeriodicTaskConfig) {
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
	mux.HandleFunc("backup:nightly", func(context.Context, *asynq.Task) error { return nil })
	mux.HandleFunc("report", func(context.Context, *asynq.Task) error { return errors.New(schedulertest.NoPrinter) })
	mux.HandleFunc("broken", func(context.Context, *asynq.Task) error { panic(schedulertest.OutOfOrder) })
	mux.HandleFunc("other", func(context.Context, *asynq.Task) error { return nil })
	must(t, worker.Start(mux))
	scheduler := asynq.NewScheduler(server, &asynq.SchedulerOpts{LogLevel: asynq.FatalLevel})
	must(t, asynqcheck.Register(scheduler, tasks))
	must(t, scheduler.Start())
	client := asynq.NewClient(server)
	_, err := client.Enqueue(asynq.NewTask("other", nil))
	must(t, err)
	must(t, client.Close())
	seen := make(map[string]bool)
	for timeout := time.After(patience); len(seen) < 4; {
		select {
		case name := <-done:
			seen[name] = true
		case <-timeout:
			t.Fatalf("only %v ran", seen)
		}
	}
	scheduler.Shutdown()
	worker.Shutdown()
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
