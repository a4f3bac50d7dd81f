package monitor

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/internal/background"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
	"github.com/rollcall-dev/rollcall/checks/job"
	"github.com/rollcall-dev/rollcall/pings"
)

const (
	// pingTimeout bounds the one try of a ping that its job waits for. It is longer than an ingest waits before it spools.
	pingTimeout = 3 * time.Second
	// registerTimeout bounds one try to register a check.
	registerTimeout = 5 * time.Second
)

// jobs makes reporters of jobs. A job does not wait for its monitoring: a ping that the database does not take at once waits
// in memory.
type jobs struct {
	*service
	keeper *keeper
}

// newJobs returns a jobs. It starts nothing.
func newJobs(s *service) *jobs {
	s.config.Job.BodyLimit = func() int { return MaxBody }
	j := &jobs{service: s}
	j.keeper = &keeper{jobs: j, pending: make(map[registration]*target), hurry: make(chan struct{}, 1)}
	return j
}

// reporter returns the reporter of a check's job.
func (j *jobs) reporter(to *target) *job.Job { return job.New(sender{j.keeper, to}, &j.config.Job) }

// report passes on an error that no caller waits for.
func (j *jobs) report(err error) {
	ctx := context.Background()
	if report := j.config.Job.OnPingError; report != nil {
		_ = background.Call(func() error { report(ctx, err); return nil }) // what it does must not end the keeper
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
	if err := s.keeper.ping(ctx, s.to, signal); err != nil {
		return fmt.Errorf("%s ping: %w", signal.Kind, err)
	}
	return nil
}

// Register creates or updates the check with the slug of spec and returns the reporter of its job, as a [job.Registry]
// does. The reporter is that of [Monitor.Job]. Register tries for at most 5 seconds.
func (p *Project) Register(ctx context.Context, spec checks.Spec) (_ job.Reporter, err error) {
	defer describe(&err, "project", p.id)
	if spec.Slug == nil || *spec.Slug == "" {
		return (*job.Job)(nil), &checks.FieldError{Field: "slug", Reason: "is empty"}
	}
	name := registration{p.id, *spec.Slug}
	register := func(ctx context.Context) (uuid.UUID, error) { return p.register(ctx, spec) }
	within, cancel := context.WithTimeout(ctx, registerTimeout)
	defer cancel()
	id, err := register(within)
	switch {
	case err == nil:
		p.jobs.keeper.registered(name, id)
		return p.jobs.reporter(&target{id: id}), nil
	case errors.Is(ctx.Err(), context.Canceled) || !isOutage(within, err):
		return (*job.Job)(nil), err
	}
	return p.jobs.reporter(p.jobs.keeper.later(name, register)), fmt.Errorf("%w; %w", err, job.ErrPending)
}

// isOutage reports whether an error of a call with ctx is that of the database, so that the call may succeed later.
func isOutage(ctx context.Context, err error) bool {
	return err != nil && (errors.Is(err, store.ErrUnavailable) || errors.Is(err, store.ErrRefused) || ctx.Err() != nil)
}

// register creates or updates the check with the slug of spec.
func (p *Project) register(ctx context.Context, spec checks.Spec) (uuid.UUID, error) {
	list, err := p.checks(ctx, checks.Query{Slug: *spec.Slug})
	if err != nil {
		return uuid.Nil, err
	}
	if len(list) == 0 {
		spec = job.Defaults(spec, p.now())
	}
	c, _, err := p.Upsert(ctx, spec, checks.UniqueSlug)
	return c.ID, err
}

// PauseExcept pauses the checks with the tag whose slug is not in slugs, as a [job.Registry] does.
func (p *Project) PauseExcept(ctx context.Context, tag string, slugs []string) (err error) {
	defer describe(&err, "project", p.id)
	if err := job.ValidatePause(tag, slugs); err != nil {
		return err
	}
	list, err := p.checks(ctx, checks.Query{Tags: []string{tag}})
	if err != nil {
		return err
	}
	keep := make(map[string]bool, len(slugs))
	for _, slug := range slugs {
		keep[slug] = true
	}
	var changes []Change
	for _, c := range list {
		if c.Slug != "" && c.Stored != checks.StatusPaused && !keep[c.Slug] {
			changes = append(changes, Pausing(c.ID))
		}
	}
	return p.ChangeMany(ctx, changes, func(err error) bool { return errors.Is(err, checks.ErrNotFound) }, nil)
}
