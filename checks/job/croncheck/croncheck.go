// Package croncheck reports the jobs of github.com/robfig/cron/v3.
//
// Make the jobs with a [Reporter], and synchronize the checks with the scheduler's entries before it starts:
//
//	m := croncheck.New(registry, "billing", nil) // a *client.Client or a *monitor.Project
//	c := cron.New(cron.WithLocation(riga))
//	c.AddJob("0 3 * * *", m.Job("nightly backup", backup)) // func(context.Context) error
//	err := m.Sync(ctx, c)
//	c.Start()
//
// Each run then reports its start, and its success, failure or panic with its duration. [Reporter.Sync] upserts a check for each
// such job, with the schedule and zone of its entry, and the tag, which marks the checks of the program. It may be called
// again whenever entries change. With [Config].PauseGone it pauses the checks of jobs that are gone.
//
// To report to a check of your own, wrap a job by [Wrapper].
//
// # Daylight saving
//
// The scheduler does not run a job whose time falls into the hour that a change to daylight saving time skips. A check
// with the same expression expects it right after that hour (as Debian's cron does). Schedule such jobs outside of the
// hour, or the check alerts once a year.
package croncheck

import (
	"cmp"
	"context"
	"log/slog"
	"sync/atomic"

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
	// Spec, unless nil, changes the settings of the check of a job, whenever Sync is called. The schedule, the zone, the
	// name, the slug and the tag are set already. What it leaves nil stays as it is.
	Spec func(j cron.Entry, s *checks.Spec)
	// Logger logs errors of jobs, which the scheduler has no place for. The group "rollcall" of each line has the
	// component job. Default: slog.Default().
	Logger *slog.Logger
}

// Reporter reports the runs of the jobs that [Reporter.Job] makes. It is safe for concurrent use.
type Reporter struct {
	registry job.Registry
	tag      string
	config   Config
}

// New returns a reporter whose checks are in a registry. The tag marks the checks of these jobs: other programs and
// schedulers of the project need other tags. Sync returns a *[checks.FieldError] for an empty tag or one with a blank. A nil
// config selects the defaults.
func New(registry job.Registry, tag string, config *Config) *Reporter {
	m := &Reporter{registry: registry, tag: tag}
	if config != nil {
		m.config = *config
	}
	m.config.Logger = cmp.Or(m.config.Logger, slog.Default())
	return m
}

// namedJob is a [cron.Job] with a name, which makes its check.
type namedJob struct {
	of    *Reporter
	name  string
	run   func(ctx context.Context) error
	check atomic.Pointer[job.Reporter] // once Sync knows it
}

// Job returns a job with a name, which makes its check. Before [Reporter.Sync] it runs and reports nothing. The check has the name
// as its slug, in lower case and with hyphens in place of other characters, so names of the jobs of a scheduler must differ
// in more than that.
func (m *Reporter) Job(name string, run func(ctx context.Context) error) cron.Job {
	return &namedJob{of: m, name: name, run: run}
}

// Run implements [cron.Job].
func (j *namedJob) Run() {
	var r job.Reporter = (*job.Job)(nil)
	if check := j.check.Load(); check != nil {
		r = *check
	}
	report(r, j.of.config.Logger, j.name, j.run)
}

// Wrapper returns a [cron.JobWrapper] that reports the runs of one job to a check. A job that returns has succeeded; one
// that panics has failed, and the panic continues. Put it after [cron.Recover] in the chain. A nil logger is
// slog.Default().
func Wrapper(r job.Reporter, log *slog.Logger) cron.JobWrapper {
	log = cmp.Or(log, slog.Default())
	return func(wrapped cron.Job) cron.Job {
		return cron.FuncJob(func() {
			report(r, log, "", func(context.Context) error { wrapped.Run(); return nil })
		})
	}
}

// report runs a job and reports it. The scheduler has no context.
func report(r job.Reporter, log *slog.Logger, name string, run func(ctx context.Context) error) {
	ctx := context.Background()
	log = log.With(slog.Group("rollcall", "component", "job"))
	if err := r.Run(ctx, run); err != nil {
		log.ErrorContext(ctx, "job failed", "job", name, "error", err)
	}
}

// Sync makes the checks of the registry those of the scheduler's entries. It upserts a check for each [Reporter.Job] by the slug of its
// name, with the tag, the schedule and the zone. Other entries are left alone. A check keeps all other settings, such as a grace time
// set by a person. Call Sync again after entries were added or removed.
//
// The error joins those of the entries; the others are synchronized all the same, and all jobs run. If there is an error, Sync pauses
// nothing.
func (m *Reporter) Sync(ctx context.Context, c *cron.Cron) error {
	var entries []job.Entry
	for _, entry := range c.Entries() {
		if named, ok := entry.Job.(*namedJob); ok && named.of == m {
			entries = append(entries, job.Entry{
				Name: named.name,
				Spec: func() (checks.Spec, error) { return cronspec.Of[cron.SpecSchedule](entry.Schedule, c.Location()) },
				Adjust: func(s *checks.Spec) {
					if m.config.Spec != nil {
						m.config.Spec(entry, s)
					}
				},
				Use: func(r job.Reporter) { named.check.Store(&r) },
			})
		}
	}
	return job.Sync(ctx, m.registry, m.tag, entries, &job.SyncConfig{PauseGone: m.config.PauseGone})
}
