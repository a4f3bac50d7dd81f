// Package croncheck reports the jobs of github.com/robfig/cron/v3.
//
// Give each job a name, and synchronize the checks with the scheduler's entries before it starts:
//
//	c := cron.New(cron.WithLocation(riga))
//	c.AddJob("0 3 * * *", croncheck.Job("nightly backup", backup)) // func(context.Context) error
//	err := croncheck.Sync(ctx, c, registry, nil) // a *client.Client, or mon.Registry(projectID)
//	c.Start()
//
// Each run then reports its start, and its success, failure or panic with its duration. [Sync] upserts a check for each
// named job, with the schedule and zone of its entry, and pauses the checks of jobs that are gone. It may be called again
// whenever entries change.
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
	"errors"
	"fmt"
	"log/slog"
	"math/bits"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/robfig/cron/v3"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/job"
)

// DefaultTag is the tag of the checks that [Sync] keeps unless [Config] has another.
const DefaultTag = "cron"

// Config configures [Sync]. The zero value of a field selects its default.
type Config struct {
	// Tag marks the checks of this scheduler. Sync pauses those whose job is gone, so schedulers in one project need
	// different tags. Default: [DefaultTag].
	Tag string
	// Logger logs errors of jobs, which the scheduler has no place for. The group "rollcall" of each line has the
	// component job. Default: slog.Default().
	Logger *slog.Logger
}

// NamedJob is a [cron.Job] with a name, which makes its check.
type NamedJob struct {
	name  string
	run   func(ctx context.Context) error
	state atomic.Pointer[state]
}

// state is what Sync gives a job.
type state struct {
	reporter job.Reporter
	log      *slog.Logger
}

// Job returns a job with a name. Names of the jobs of a scheduler must differ in more than case and punctuation; see
// [job.Slug].
func Job(name string, run func(ctx context.Context) error) *NamedJob {
	return &NamedJob{name: name, run: run}
}

// Run implements [cron.Job]. Before [Sync] it runs the job and reports nothing.
func (j *NamedJob) Run() {
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

// Sync makes the checks of a registry those of a scheduler's entries. It upserts a check for each [NamedJob] by the slug
// of its name, with the tag, the schedule and the zone, and pauses the checks with the tag whose job is gone. Other
// entries are left alone. A check keeps all other settings, such as a grace time that somebody has changed.
//
// The error joins those of the entries; the other entries are synchronized all the same, and all jobs run. If there is an
// error, Sync pauses nothing.
func Sync(ctx context.Context, c *cron.Cron, registry job.Registry, config *Config) error {
	if config == nil {
		config = &Config{}
	}
	tag, log := cmp.Or(config.Tag, DefaultTag), cmp.Or(config.Logger, slog.Default())
	var entries []job.Entry
	for _, entry := range c.Entries() {
		if named, ok := entry.Job.(*NamedJob); ok {
			entries = append(entries, job.Entry{
				Name: named.name,
				Spec: func() (checks.Spec, error) { return Spec(entry.Schedule, c.Location()) },
				Use:  func(r job.Reporter) { named.state.Store(&state{r, log}) },
			})
		}
	}
	return job.Sync(ctx, registry, tag, entries)
}

// Spec returns the settings of a check for a schedule of the scheduler: Schedule and TZ for an expression, or Timeout
// for a constant delay ("@every 1h"). The location is that of the scheduler, [cron.Cron.Location]; the zone of an
// expression (CRON_TZ=) has precedence.
//
// Seconds are left out: a run is due within its minute. A delay below a minute counts as one minute. Spec supports any
// schedule of constant delay, and else only what the scheduler's parsers make. The error says what is not supported.
func Spec(s cron.Schedule, location *time.Location) (checks.Spec, error) {
	spec, ok := s.(*cron.SpecSchedule)
	if !ok {
		delay, ok := constantDelay(s)
		if !ok {
			return checks.Spec{}, fmt.Errorf("a schedule of the type %T cannot be expressed by a check", s)
		}
		return checks.Spec{Timeout: new(max(delay, checks.MinPeriod))}, nil
	}
	if spec.Location != time.Local { // the parser's value for no zone
		location = spec.Location
	}
	zone, err := Zone(location)
	if err != nil {
		return checks.Spec{}, err
	}
	expression := strings.Join([]string{
		field(spec.Minute, 0, 59), field(spec.Hour, 0, 23), field(spec.Dom, 1, 31), field(spec.Month, 1, 12), field(spec.Dow, 0, 6),
	}, " ")
	return checks.Spec{Schedule: &expression, TZ: &zone}, nil
}

// constantDelay returns the delay between the runs of a schedule, if it is always the same.
func constantDelay(s cron.Schedule) (delay time.Duration, ok bool) {
	if s, ok := s.(cron.ConstantDelaySchedule); ok {
		return s.Delay, true
	}
	t := s.Next(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	for range 400 { // more than the days of a year
		next := s.Next(t)
		if next.IsZero() || !next.After(t) || delay != 0 && next.Sub(t) != delay {
			return 0, false
		}
		delay, t = next.Sub(t), next
	}
	return delay, true
}

// star is the bit of a field that was given as * or ?. It decides how the days of month and week combine, in the
// scheduler as in a check.
const star = 1 << 63

// field returns a set of numbers as a field of an expression.
func field(set uint64, low, high int) string {
	if set&star != 0 {
		return "*"
	}
	var parts []string
	for n := low; n <= high; n++ {
		length := bits.TrailingZeros64(^(set >> n)) // of the range that begins here
		switch {
		case length == 1:
			parts = append(parts, strconv.Itoa(n))
		case length > 1:
			parts = append(parts, fmt.Sprintf("%d-%d", n, n+length-1))
		}
		n += length
	}
	return strings.Join(parts, ",")
}

// Zone returns the IANA name of a location. For [time.Local] it is that of $TZ or of /etc/localtime. The error asks for a
// location with a name.
func Zone(location *time.Location) (string, error) {
	if location == nil {
		return "UTC", nil
	}
	if location != time.Local {
		return location.String(), nil
	}
	name, ok := os.LookupEnv("TZ")
	if !ok {
		target, err := filepath.EvalSymlinks("/etc/localtime")
		if errors.Is(err, os.ErrNotExist) {
			return "UTC", nil // as package time does
		}
		_, name, ok = strings.Cut(target, "/zoneinfo/")
		if err != nil || !ok {
			return "", errors.New("the name of the local time zone is unknown: give the scheduler a location, or set TZ")
		}
	}
	name = strings.TrimPrefix(name, ":")
	if name == "" {
		return "UTC", nil
	}
	if _, err := time.LoadLocation(name); err != nil || filepath.IsAbs(name) {
		return "", fmt.Errorf("TZ is not the name of a time zone: %q", name)
	}
	return name, nil
}
