// Package rivercheck reports the periodic jobs of github.com/riverqueue/river.
//
// Make the periodic jobs with a [Reporter], give the client its middleware, and synchronize the checks before it starts:
//
//	m := rivercheck.New(registry, "billing", nil) // a *client.Client or a *monitor.Project
//	client, err := river.NewClient(driver, &river.Config{
//		Middleware:   []rivertype.Middleware{m},
//		PeriodicJobs: []*river.PeriodicJob{m.PeriodicJob(river.PeriodicInterval(time.Hour), newReport, nil)},
//		…
//	})
//	err = m.Sync(ctx)
//	err = client.Start(ctx)
//
// A monitor can use the pool of River:
//
//	store, err := sqlstore.Open(ctx, bun.NewDB(stdlib.OpenDBFromPool(pool), pgdialect.New())) // stdlib of pgx
//
// Each run then reports its start, and its success, failure or panic with its duration. The check of a job has the slug
// of its PeriodicJobOpts.ID, or of its kind without one. Jobs of other kinds run without a report; a job of the kind that
// was inserted by hand counts as a run.
//
// Every attempt that fails is a failure, whether River retries it or not, and a retry that succeeds takes the check up
// again. To be alerted later, set alert_after on the check. A job that snoozes is still running: if it does not end
// within its grace time (or max_runtime), the check goes down.
package rivercheck

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"
	"github.com/robfig/cron/v3"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/job"
	"github.com/rollcall-dev/rollcall/checks/job/internal/cronspec"
)

// Config configures a [Reporter]. The zero value of a field selects its default.
type Config struct {
	// PauseGone makes Sync pause the checks with the tag whose job is gone, unless there is no job at all, which is an error.
	// Without it such a check goes down when its next ping is overdue, and alerts.
	PauseGone bool
	// Location is the zone of schedules of robfig/cron that name none. Default: time.Local, in which River evaluates them.
	Location *time.Location
	// Spec, unless nil, changes the settings of the check of a job, whenever Sync is called. The schedule, the zone, the
	// name, the slug and the tag are set already. What it leaves nil stays as it is. The arguments are those
	// that the constructor of the job has returned to PeriodicJob, perhaps nil.
	Spec func(args river.JobArgs, s *checks.Spec)
}

// Reporter reports the runs of periodic jobs. It is a River middleware, and safe for concurrent use.
type Reporter struct {
	river.MiddlewareDefaults
	registry job.Registry
	tag      string
	config   Config

	mu        sync.RWMutex
	jobs      []periodic
	reporters map[string]job.Reporter // by name
}

var _ rivertype.WorkerMiddleware = (*Reporter)(nil)

type periodic struct {
	name     string
	args     river.JobArgs // nil if the constructor returned none
	schedule river.PeriodicSchedule
}

// New returns a reporter whose checks are in a registry. The tag marks the checks of these jobs: other programs and
// schedulers of the project need other tags. Sync returns a *[checks.FieldError] for an empty tag or one with a blank. A nil
// config selects the defaults.
func New(registry job.Registry, tag string, config *Config) *Reporter {
	m := &Reporter{registry: registry, tag: tag}
	if config != nil {
		m.config = *config
	}
	m.config.Location = cmp.Or(m.config.Location, time.Local)
	return m
}

// PeriodicJob is [river.NewPeriodicJob] for a job that the Reporter reports. It calls the constructor once, to learn the
// kind of the job. A job whose constructor returns no arguments at that time has a check only if opts has an ID.
func (m *Reporter) PeriodicJob(schedule river.PeriodicSchedule, constructor river.PeriodicJobConstructor, opts *river.PeriodicJobOpts) *river.PeriodicJob {
	name := ""
	args, _ := constructor()
	if args != nil {
		name = args.Kind()
	}
	if opts != nil && opts.ID != "" {
		name = opts.ID
	}
	if name != "" {
		m.mu.Lock()
		m.jobs = append(m.jobs, periodic{name, args, schedule})
		m.mu.Unlock()
	}
	return river.NewPeriodicJob(schedule, constructor, opts)
}

// Sync makes the checks of the registry those of the jobs that PeriodicJob has made. It upserts a check for each by its
// slug, with the tag, the schedule and the zone. A check keeps all other settings, such as a grace time set by a
// person.
//
// A schedule must have a constant interval or come from the parsers of robfig/cron. Seconds are left out, and a shorter
// interval counts as a minute. The error joins those of the jobs; the others are synchronized all the same, and all run. If there is an error, Sync pauses nothing.
func (m *Reporter) Sync(ctx context.Context) error {
	m.mu.RLock()
	jobs := m.jobs
	m.mu.RUnlock()
	reporters := make(map[string]job.Reporter)
	var entries []job.Entry
	for _, p := range jobs {
		entries = append(entries, job.Entry{
			Name: p.name,
			Spec: func() (checks.Spec, error) { return cronspec.Of[cron.SpecSchedule](p.schedule, m.config.Location) },
			Adjust: func(s *checks.Spec) {
				if m.config.Spec != nil {
					m.config.Spec(p.args, s)
				}
			},
			Use: func(r job.Reporter) {
				if reporters[p.name] == nil {
					reporters[p.name] = r
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

// reporter returns the reporter of a job, or nil.
func (m *Reporter) reporter(row *rivertype.JobRow) job.Reporter {
	var metadata struct {
		ID string `json:"river:periodic_job_id"`
	}
	_ = json.Unmarshal(row.Metadata, &metadata) // without an ID, the kind decides
	m.mu.RLock()
	defer m.mu.RUnlock()
	if r := m.reporters[metadata.ID]; r != nil {
		return r
	}
	return m.reporters[row.Kind]
}

// Work implements [rivertype.WorkerMiddleware].
func (m *Reporter) Work(ctx context.Context, row *rivertype.JobRow, work func(context.Context) error) error {
	r := m.reporter(row)
	if r == nil {
		return work(ctx)
	}
	report := context.WithoutCancel(ctx) // a job whose time is over must be reported, too
	run, _ := r.Start(report)            // End reports the error
	ended := false
	defer func() {
		if !ended {
			run.End(report, fmt.Errorf("panic\n\n%s", debug.Stack()))
		}
	}()
	err := work(ctx)
	ended = true
	if errors.Is(err, &river.JobSnoozeError{}) {
		_ = run.Log(report, []byte(err.Error())) // still running
		return err
	}
	run.End(ctx, err)
	return err
}
