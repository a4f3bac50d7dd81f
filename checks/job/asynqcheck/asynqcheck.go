// Package asynqcheck reports the periodic tasks of github.com/hibiken/asynq.
//
// Give the worker's mux the middleware, and synchronize the checks with the periodic tasks when it starts:
//
//	tasks := []*asynq.PeriodicTaskConfig{{Cronspec: "0 3 * * *", Task: asynq.NewTask("backup:nightly", nil)}}
//	m := asynqcheck.New(registry, "billing", nil) // a *client.Client or a *monitor.Project
//	err := m.Sync(ctx, tasks)
//	mux := asynq.NewServeMux()
//	mux.Use(m.Middleware)
//
// The scheduler, in the same process or another, registers the same list:
//
//	err := asynqcheck.Register(scheduler, tasks)
//
// Each run then reports its start, and its success, failure or panic with its duration. The check of a task has the slug
// of its type, "backup-nightly" here, so the types of periodic tasks must differ. Tasks of other types run without a
// report.
//
// Every attempt that fails is a failure, whether asynq retries it or not, and a retry that succeeds takes the check up
// again. To be alerted later, set alert_after on the check.
package asynqcheck

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/hibiken/asynq"
	"github.com/robfig/cron/v3"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/job"
	"github.com/rollcall-dev/rollcall/checks/job/internal/cronspec"
)

// Config configures a [Reporter]. The zero value of a field selects its default.
type Config struct {
	// PauseGone makes Sync pause the checks with the tag whose task is gone, unless there is no task at all, which is an error.
	// Without it such a check goes down when its next ping is overdue, and alerts.
	PauseGone bool
	// Location is the location of the scheduler, asynq.SchedulerOpts.Location. Default: UTC, as there.
	Location *time.Location
	// Spec, unless nil, changes the settings of the check of a task, whenever Sync is called. The schedule, the zone, the
	// name, the slug and the tag are set already. What it leaves nil stays as it is.
	Spec func(t *asynq.PeriodicTaskConfig, s *checks.Spec)
}

// Reporter reports the runs of periodic tasks. It is safe for concurrent use.
type Reporter struct {
	registry job.Registry
	tag      string
	config   Config

	mu        sync.RWMutex
	reporters map[string]job.Reporter // by the type of the task
}

// New returns a reporter whose checks are in a registry. The tag marks the checks of these tasks: other programs and
// schedulers of the project need other tags. Sync returns a *[checks.FieldError] for an empty tag or one with a blank. A nil
// config selects the defaults.
func New(registry job.Registry, tag string, config *Config) *Reporter {
	m := &Reporter{registry: registry, tag: tag}
	if config != nil {
		m.config = *config
	}
	m.config.Location = cmp.Or(m.config.Location, time.UTC)
	return m
}

// Register registers tasks with a scheduler. The error joins those of the tasks.
func Register(s *asynq.Scheduler, tasks []*asynq.PeriodicTaskConfig) error {
	var problems []error
	for _, t := range tasks {
		if _, err := s.Register(t.Cronspec, t.Task, t.Opts...); err != nil {
			problems = append(problems, fmt.Errorf("asynqcheck: task %q: %w", t.Task.Type(), err))
		}
	}
	return errors.Join(problems...)
}

// Sync makes the checks of the registry those of periodic tasks. It upserts a check for each task by the slug of its type,
// with the tag, the schedule and the zone. A check keeps all other settings, such as a grace time set by a person.
// Call Sync again after tasks were added or removed. With [Config].PauseGone it pauses the checks of tasks that are gone.
//
// The error joins those of the tasks; the others are synchronized all the same. If there is an error, Sync pauses nothing.
func (m *Reporter) Sync(ctx context.Context, tasks []*asynq.PeriodicTaskConfig) error {
	reporters := make(map[string]job.Reporter)
	var entries []job.Entry
	for _, t := range tasks {
		entries = append(entries, job.Entry{
			Name: t.Task.Type(),
			Spec: func() (checks.Spec, error) {
				schedule, err := cron.ParseStandard(t.Cronspec)
				if err != nil {
					return checks.Spec{}, err
				}
				return cronspec.Of[cron.SpecSchedule](schedule, m.config.Location)
			},
			Adjust: func(s *checks.Spec) {
				if m.config.Spec != nil {
					m.config.Spec(t, s)
				}
			},
			Use: func(r job.Reporter) {
				if reporters[t.Task.Type()] == nil {
					reporters[t.Task.Type()] = r
				}
			},
		})
	}
	err := job.Sync(ctx, m.registry, m.tag, entries, &job.SyncConfig{PauseGone: m.config.PauseGone})
	m.mu.Lock()
	defer m.mu.Unlock()
	m.reporters = reporters
	return err
}

// Middleware is an [asynq.MiddlewareFunc] that reports the runs of the tasks that Sync knows.
func (m *Reporter) Middleware(next asynq.Handler) asynq.Handler {
	return asynq.HandlerFunc(func(ctx context.Context, task *asynq.Task) error {
		m.mu.RLock()
		r := m.reporters[task.Type()]
		m.mu.RUnlock()
		if r == nil {
			return next.ProcessTask(ctx, task)
		}
		return r.Run(ctx, func(ctx context.Context) error { return next.ProcessTask(ctx, task) })
	})
}
