// Package croncheck reports the jobs of github.com/robfig/cron/v3.
//
// Give each job a name, and synchronize the checks with the scheduler's entries before it starts:
//
//	c := cron.New(cron.WithLocation(riga))
//	c.AddJob("0 3 * * *", croncheck.Job("nightly backup", backup)) // func(context.Context) error
//	err := croncheck.Sync(ctx, c, registry, "billing", nil) // a *client.Client or a *monitor.Project; the program's tag
//	c.Start()
//
// Each run then reports its start, and its success, failure or panic with its duration. [Sync] upserts a check for each
// named job, with the schedule and zone of its entry, and the tag, which marks the checks of the program. It may be called
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

// Config configures [Sync]. The zero value of a field selects its default.
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

// namedJob is a [cron.Job] with a name, which makes its check.
type namedJob struct {
	name  string
	run   func(ctx context.Context) error
	state atomic.Pointer[state]
}

// state is what Sync gives a job.
type state struct {
	reporter job.Reporter
	log      *slog.Logger
}

// Job returns a job with a name, which makes its check. Before [Sync] it runs and reports nothing. The check has the name
// as its slug, in lower case and with hyphens in place of other characters, so names of the jobs of a scheduler must differ
// in more than that.
func Job(name string, run func(ctx context.Context) error) cron.Job {
	return &namedJob{name: name, run: run}
}

// Run implements [cron.Job].
func (j *namedJob) Run() {
	s := j.state.Load()
	if s == nil {
		s = &state{(*job.Job)(nil), slog.Default()}
	}
	report(s.reporter, s.log, j.name, j.run)
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

// Sync makes the checks of a registry those of a scheduler's entries. It upserts a check for each [Job] by the slug
// of its name, with the tag, the schedule and the zone. Other entries are left alone. A check keeps all other settings, such
// as a grace time set by a person. The tag marks the checks of this scheduler: other programs and schedulers of the
// project need other tags. A nil config selects the defaults.
//
// The error joins those of the entries; the other entries are synchronized all the same, and all jobs run. If there is an
// error, Sync pauses nothing. For an empty tag or one with a blank it is a *[checks.FieldError], and no job has a check.
func Sync(ctx context.Context, c *cron.Cron, registry job.Registry, tag string, config *Config) error {
	if config == nil {
		config = &Config{}
	}
	log := cmp.Or(config.Logger, slog.Default())
	var entries []job.Entry
	for _, entry := range c.Entries() {
		if named, ok := entry.Job.(*namedJob); ok {
			entries = append(entries, job.Entry{
				Name: named.name,
				Spec: func() (checks.Spec, error) { return cronspec.Of[cron.SpecSchedule](entry.Schedule, c.Location()) },
				Adjust: func(s *checks.Spec) {
					if config.Spec != nil {
						config.Spec(entry, s)
					}
				},
				Use: func(r job.Reporter) { named.state.Store(&state{r, log}) },
			})
		}
	}
	return job.Sync(ctx, registry, tag, entries, &job.SyncConfig{PauseGone: config.PauseGone})
}
