package monitor

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/job"
	"github.com/rollcall-dev/rollcall/pings"
)

const (
	// pingTimeout bounds the one try of a ping that its job waits for. It is longer than an ingest waits before it spools.
	pingTimeout = 3 * time.Second
	// registerTimeout bounds one try to register a check.
	registerTimeout = 5 * time.Second
)

// jobsConfig configures [jobs]. All fields are required.
type jobsConfig struct {
	Admin *admin
	// Submit queues a signal of a check. One that was received before has the time of that; otherwise at is the zero time.
	Submit func(id uuid.UUID, signal pings.Signal, at time.Time) (submission, error)
	// About says which check an error is about.
	About   func(id uuid.UUID, err error) error
	Now     func() time.Time
	MaxBody int
	Job     job.Config // without BodyLimit
}

// jobs makes reporters of jobs. A job does not wait for its monitoring: a ping that the database does not take at once waits
// in memory.
type jobs struct {
	jobsConfig
	keeper *keeper
}

// newJobs returns a jobs. It starts nothing.
func newJobs(config jobsConfig) *jobs {
	config.Job.BodyLimit = func() int { return config.MaxBody }
	j := &jobs{jobsConfig: config}
	j.keeper = &keeper{jobs: j, pending: make(map[registration]*target), hurry: make(chan struct{}, 1)}
	return j
}

// Job returns the reporter of a check's job.
func (j *jobs) Job(id uuid.UUID) *job.Job { return j.reporter(&target{id: id}) }

func (j *jobs) reporter(to *target) *job.Job { return job.New(sender{j.keeper, to}, &j.jobsConfig.Job) }

// Oldest returns the earlier of an instant and the time of the oldest ping that waits in memory for the database.
func (j *jobs) Oldest(upTo time.Time) time.Time { return j.keeper.oldest(upTo) }

// Open lets pings wait in memory again after Drain. They do from the beginning.
func (j *jobs) Open() { j.keeper.open() }

// Drain records the pings that wait in memory until ctx ends, and returns how many are left. From then on none waits: each is
// tried once.
func (j *jobs) Drain(ctx context.Context) (left int) { return j.keeper.drain(ctx) }

// Report passes on an error that no caller waits for.
func (j *jobs) Report(err error) {
	ctx := context.Background()
	if report := j.jobsConfig.Job.OnPingError; report != nil {
		report(ctx, err)
		return
	}
	slog.With(slog.Group("rollcall", "component", "job")).WarnContext(ctx, "cannot report a run", "error", err)
}

// sender records the pings of one check.
type sender struct {
	keeper *keeper
	to     *target
}

func (s sender) Ping(ctx context.Context, signal pings.Signal) error {
	ctx, cancel := context.WithTimeout(ctx, pingTimeout)
	defer cancel()
	signal.Body = bytes.Clone(signal.Body) // it may be needed after Ping
	err := ctx.Err()
	if err == nil {
		err = s.keeper.ping(ctx, s.to, signal)
	}
	if err != nil {
		return fmt.Errorf("%s ping: %w", signal.Kind, err)
	}
	return nil
}

// Registry returns the registry of a project.
func (j *jobs) Registry(projectID uuid.UUID) job.Registry { return registry{j, projectID} }

type registry struct {
	*jobs
	project uuid.UUID
}

func (r registry) Register(ctx context.Context, spec checks.Spec) (job.Reporter, error) {
	if spec.Slug == nil || *spec.Slug == "" {
		return (*job.Job)(nil), &checks.FieldError{Field: "slug", Reason: "is empty"}
	}
	name := registration{r.project, *spec.Slug}
	register := func(ctx context.Context) (uuid.UUID, error) { return r.register(ctx, spec) }
	within, cancel := context.WithTimeout(ctx, registerTimeout)
	defer cancel()
	id, err := register(within)
	switch {
	case err == nil:
		r.keeper.registered(name, id)
		return r.Job(id), nil
	case errors.Is(ctx.Err(), context.Canceled) || !isOutage(within, err):
		return (*job.Job)(nil), err
	}
	return r.reporter(r.keeper.later(name, register)), fmt.Errorf("%w; %w", err, job.ErrPending)
}

// isOutage reports whether an error of a call with ctx means that the database is unavailable.
func isOutage(ctx context.Context, err error) bool {
	return err != nil && (errors.Is(err, checks.ErrUnavailable) || ctx.Err() != nil)
}

// register creates or updates the check with the slug of spec.
func (r registry) register(ctx context.Context, spec checks.Spec) (uuid.UUID, error) {
	list, err := r.Admin.Checks(ctx, r.project, checks.Query{Slug: *spec.Slug})
	if err != nil {
		return uuid.Nil, err
	}
	if len(list) == 0 {
		spec = job.Defaults(spec, r.Admin.Now())
	}
	c, _, err := r.Admin.Upsert(ctx, r.project, spec, checks.UniqueSlug)
	return c.ID, err
}

func (r registry) PauseExcept(ctx context.Context, tag string, slugs []string) error {
	if err := job.ValidatePause(tag, slugs); err != nil {
		return err
	}
	list, err := r.Admin.Checks(ctx, r.project, checks.Query{Tags: []string{tag}})
	if err != nil {
		return err
	}
	for _, c := range list {
		if c.Slug == "" || c.Stored == checks.StatusPaused || slices.Contains(slugs, c.Slug) {
			continue
		}
		if _, err := r.Admin.Pause(ctx, r.project, c.ID); err != nil && !errors.Is(err, checks.ErrNotFound) {
			return err
		}
	}
	return nil
}
