// Package jobs reports the runs of jobs to a monitor in the same process, and keeps a check for each job of a scheduler.
package jobs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/internal/admin"
	"github.com/rollcall-dev/rollcall/checks/job"
	"github.com/rollcall-dev/rollcall/pings"
)

// pingTimeout bounds one ping of a job, as on the way to a server.
const pingTimeout = 5 * time.Second

// Jobs makes reporters of jobs.
type Jobs struct {
	Admin *admin.Admin
	// Ping records a signal of a check, whose body has at most MaxBody bytes.
	Ping    func(ctx context.Context, id uuid.UUID, signal pings.Signal) (pings.Ping, error)
	MaxBody int
	Config  job.Config // without BodyLimit
}

// Job returns the reporter of a check's job.
func (j *Jobs) Job(id uuid.UUID) *job.Job {
	config := j.Config
	config.BodyLimit = func() int { return j.MaxBody }
	return job.New(sender{j, id}, &config)
}

// sender records the pings of one check.
type sender struct {
	*Jobs
	id uuid.UUID
}

func (s sender) Ping(ctx context.Context, signal pings.Signal) error {
	ctx, cancel := context.WithTimeout(ctx, pingTimeout)
	defer cancel()
	signal.Body = bytes.Clone(signal.Body) // the writer may still hold it when Ping gives up
	err := ctx.Err()
	if err == nil {
		_, err = s.Jobs.Ping(ctx, s.id, signal)
	}
	if err != nil {
		return fmt.Errorf("%s ping: %w", signal.Kind, err)
	}
	return nil
}

// Registry returns the registry of a project.
func (j *Jobs) Registry(projectID uuid.UUID) job.Registry { return registry{j, projectID} }

type registry struct {
	*Jobs
	project uuid.UUID
}

func (r registry) Register(ctx context.Context, spec checks.Spec) (job.Reporter, error) {
	none := (*job.Job)(nil)
	if spec.Slug == nil || *spec.Slug == "" {
		return none, &checks.FieldError{Field: "slug", Reason: "is empty"}
	}
	list, err := r.Admin.Checks(ctx, r.project, checks.Query{Slug: *spec.Slug})
	if err != nil {
		return none, err
	}
	if len(list) == 0 {
		spec = job.Defaults(spec, r.Admin.Now())
	}
	c, _, err := r.Admin.Upsert(ctx, r.project, spec, checks.UniqueSlug)
	if err != nil {
		return none, err
	}
	return r.Job(c.ID), nil
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
