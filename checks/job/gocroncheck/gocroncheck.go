// Package gocroncheck reports the jobs of github.com/go-co-op/gocron/v2.
//
// Give the scheduler the option of a [Reporter], and synchronize the checks with its jobs before it starts:
//
//	m := gocroncheck.New(registry, "billing", &gocroncheck.Config{Location: riga}) // a *client.Client or a *monitor.Project
//	s, err := gocron.NewScheduler(gocron.WithLocation(riga), m.Option())
//	_, err = s.NewJob(gocron.CronJob("0 3 * * *", false), gocron.NewTask(backup), gocron.WithName("nightly backup"))
//	err = m.Sync(ctx, s)
//	s.Start()
//
// Each run then reports its start, and its success or failure with the error and its duration. [Reporter.Sync] upserts a
// check for each job, with the job's schedule and zone, and the tag, which marks the checks of the program. With
// [Config].PauseGone it pauses the checks of jobs that are gone.
//
// The scheduler lets a panic of a job end the program, and the run then ends without a report. With the event listener
// gocron.AfterJobRunsWithPanic it recovers, and the panic is reported as a failure.
package gocroncheck

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-co-op/gocron/v2"
	"github.com/google/uuid"
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
	// Location is the location of the scheduler (gocron.WithLocation), which does not tell it. Default: time.Local, as
	// there.
	Location *time.Location
	// Spec, unless nil, changes the settings of the check of a job, whenever Sync is called. The schedule, the zone, the
	// name, the slug and the tag are set already. What it leaves nil stays as it is.
	Spec func(j gocron.Job, s *checks.Spec)
}

// Reporter reports the runs of the jobs of one scheduler, which gets it by [Reporter.Option]. Jobs that it does not know
// from [Reporter.Sync] run without a report. A ping delays the start or the end of a run by at most the time limit of the
// registry's reporters.
type Reporter struct {
	registry job.Registry
	tag      string
	config   Config

	mu   sync.Mutex
	jobs map[uuid.UUID]*reported
}

// reported is a job of the scheduler with its current runs, oldest first. The scheduler does not tell which of several
// overlapping runs has ended: the oldest is taken for it.
type reported struct {
	reporter job.Reporter
	runs     []*job.Run
}

// New returns a reporter whose checks are in a registry. The tag marks the checks of these jobs: other programs and
// schedulers of the project need other tags. Sync returns a *[checks.FieldError] for an empty tag or one with a blank. A nil
// config selects the defaults.
func New(registry job.Registry, tag string, config *Config) *Reporter {
	m := &Reporter{registry: registry, tag: tag, jobs: make(map[uuid.UUID]*reported)}
	if config != nil {
		m.config = *config
	}
	m.config.Location = cmp.Or(m.config.Location, time.Local)
	return m
}

// Sync makes the checks of the registry those of the scheduler's jobs. It upserts a check for each job by the slug of its
// name, with the tag, the schedule and the zone. One-time jobs have no check. A check keeps all other settings, such as a grace time set by a person. Call Sync again after jobs
// were added or removed.
//
// The error joins those of the jobs; the others are synchronized all the same, and all run. If there is an error, Sync
// pauses nothing.
func (m *Reporter) Sync(ctx context.Context, s gocron.Scheduler) error {
	jobs := s.Jobs()
	var entries []job.Entry
	for _, j := range jobs {
		if _, once := j.Schedule().(gocron.OneTimeJobSchedule); !once {
			entries = append(entries, job.Entry{
				Name: j.Name(),
				Spec: func() (checks.Spec, error) { return specOf(j.Schedule(), m.config.Location) },
				Adjust: func(s *checks.Spec) {
					if m.config.Spec != nil {
						m.config.Spec(j, s)
					}
				},
				Use: func(r job.Reporter) { m.use(j.ID(), r) },
			})
		}
	}
	m.forget(jobs)
	return job.Sync(ctx, m.registry, m.tag, entries, &job.SyncConfig{PauseGone: m.config.PauseGone})
}

// use sets the reporter of a job.
func (m *Reporter) use(id uuid.UUID, r job.Reporter) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.jobs[id] == nil {
		m.jobs[id] = new(reported)
	}
	m.jobs[id].reporter = r
}

// forget drops jobs that the scheduler no longer has, except while they run.
func (m *Reporter) forget(current []gocron.Job) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for id, known := range m.jobs {
		gone := !slices.ContainsFunc(current, func(j gocron.Job) bool { return j.ID() == id })
		if gone && len(known.runs) == 0 {
			delete(m.jobs, id)
		}
	}
}

// specOf returns the settings of a check for the schedule of a job: Schedule and TZ for jobs at fixed times, and Timeout for
// those at intervals. The location is that of the scheduler. Jobs at random intervals get the longest as the timeout, and
// those on every second or later day, week or month the longest time between two runs. A timeout below a minute becomes
// a minute, and seconds of a crontab are left out. A one-time job has no schedule, which is an error.
func specOf(s gocron.JobSchedule, location *time.Location) (checks.Spec, error) {
	const day = 24 * time.Hour
	switch s := s.(type) {
	case gocron.CronJobSchedule:
		parsed, err := cronParser.Parse(s.Crontab)
		if err != nil {
			return checks.Spec{}, err
		}
		return cronspec.Of[cron.SpecSchedule](parsed, location)
	case gocron.DurationJobSchedule:
		return every(s.Duration), nil
	case gocron.DurationRandomJobSchedule:
		return every(s.Max), nil
	case gocron.DailyJobSchedule:
		if s.Interval > 1 {
			return every(time.Duration(s.Interval) * day), nil
		}
		return calendar([]string{"*-*-*"}, s.AtTimes, location)
	case gocron.WeeklyJobSchedule:
		if s.Interval > 1 {
			return every(time.Duration(s.Interval) * 7 * day), nil
		}
		var days []string
		for _, d := range s.DaysOfWeek {
			days = append(days, d.String()[:3])
		}
		return calendar([]string{strings.Join(days, ",") + " *-*-*"}, s.AtTimes, location)
	case gocron.MonthlyJobSchedule:
		if s.Interval > 1 {
			return every(time.Duration(s.Interval) * 31 * day), nil
		}
		var days []string
		for _, d := range s.Days {
			days = append(days, fmt.Sprintf("*-*-%02d", d))
		}
		for _, d := range s.DaysFromEnd {
			days = append(days, fmt.Sprintf("*-*~%02d", -d))
		}
		return calendar(days, s.AtTimes, location)
	default:
		return checks.Spec{}, fmt.Errorf("a schedule of the type %T cannot be expressed by a check", s)
	}
}

// cronParser reads what the scheduler's CronJob reads, with or without seconds.
var cronParser = cron.NewParser(cron.SecondOptional | cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow | cron.Descriptor)

func every(d time.Duration) checks.Spec { return checks.Spec{Timeout: new(cronspec.Period(d))} }

// calendar returns an OnCalendar schedule: each of the days at each of the times.
func calendar(days []string, times []time.Time, location *time.Location) (checks.Spec, error) {
	zone, err := cronspec.Zone(location)
	if err != nil {
		return checks.Spec{}, err
	}
	var lines []string
	for _, day := range days {
		for _, at := range times {
			lines = append(lines, day+" "+at.Format(time.TimeOnly))
		}
	}
	return checks.Spec{Schedule: new(strings.Join(lines, "\n")), TZ: &zone}, nil
}

// Option gives the Reporter to its scheduler.
func (m *Reporter) Option() gocron.SchedulerOption {
	return gocron.WithSchedulerMonitor(watcher{m})
}

// watcher is a Reporter as the scheduler sees it.
type watcher struct{ *Reporter }

// JobStarted implements [gocron.SchedulerMonitor].
func (m watcher) JobStarted(j gocron.Job) {
	m.mu.Lock()
	known := m.jobs[j.ID()]
	m.mu.Unlock()
	if known == nil {
		return
	}
	run, _ := known.reporter.Start(context.Background()) // End reports the error
	m.mu.Lock()
	defer m.mu.Unlock()
	known.runs = append(known.runs, run)
}

// JobCompleted implements [gocron.SchedulerMonitor].
func (m watcher) JobCompleted(j gocron.Job) { m.end(j, nil) }

// JobFailed implements [gocron.SchedulerMonitor].
func (m watcher) JobFailed(j gocron.Job, err error) { m.end(j, err) }

// end reports the end of a run. The scheduler cancels the contexts of jobs when it stops, and tells that only by the error
// of the job.
func (m *Reporter) end(j gocron.Job, err error) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if errors.Is(err, context.Canceled) {
		cancel()
	}
	if run := m.ended(j); run != nil {
		run.End(ctx, err)
	}
}

// ended returns the run of a job that has ended, or nil.
func (m *Reporter) ended(j gocron.Job) *job.Run {
	m.mu.Lock()
	defer m.mu.Unlock()
	known := m.jobs[j.ID()]
	if known == nil || len(known.runs) == 0 {
		return nil
	}
	run := known.runs[0]
	known.runs = known.runs[1:]
	return run
}

// The other methods of [gocron.SchedulerMonitor] do nothing.

func (watcher) SchedulerStarted()                                      {}
func (watcher) SchedulerStopped()                                      {}
func (watcher) SchedulerShutdown()                                     {}
func (watcher) JobRegistered(gocron.Job)                               {}
func (watcher) JobUnregistered(gocron.Job)                             {}
func (watcher) JobRunning(gocron.Job)                                  {}
func (watcher) JobExecutionTime(gocron.Job, time.Duration)             {}
func (watcher) JobSchedulingDelay(gocron.Job, time.Time, time.Time)    {}
func (watcher) ConcurrencyLimitReached(limitType string, _ gocron.Job) {}
