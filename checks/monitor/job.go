package monitor

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/job"
	"github.com/rollcall-dev/rollcall/pings"
)

// jobPingTimeout bounds one ping of a job, as client.DefaultPingTimeout does on the way to a server.
const jobPingTimeout = 10 * time.Second

// Job returns the reporter of a check's job. It has the methods and the semantics of a *client.Pinger, without a server
// between: start, success, or failure with the error of the job, and a panic with its stack. A ping takes at most 10
// seconds. The errors of a ping are those of [Monitor.Ping]. Of a body larger than [MaxBody], the end is kept.
//
//	jobErr, pingErr := mon.Job(check.ID).Run(ctx, backup)
//
// Job reads nothing: if no check has the identifier, each ping returns [checks.ErrNotFound].
func (m *Monitor) Job(id uuid.UUID) *job.Job {
	return job.New(jobSender{m, id}, &job.Config{BodyLimit: func() int { return MaxBody }, TraceID: m.config.TraceID})
}

// jobSender records the pings of one check.
type jobSender struct {
	mon *Monitor
	id  uuid.UUID
}

func (s jobSender) Ping(ctx context.Context, signal pings.Signal) error {
	ctx, cancel := context.WithTimeout(ctx, jobPingTimeout)
	defer cancel()
	signal.Body = bytes.Clone(signal.Body) // the writer may still hold it when Ping gives up
	err := ctx.Err()
	if err == nil {
		_, err = s.mon.Ping(ctx, s.id, signal)
	}
	if err != nil {
		return fmt.Errorf("monitor: %s ping: %w", signal.Kind, err)
	}
	return nil
}

// Registry returns the registry of a project, with which a scheduler keeps a check for each of its jobs. The reporters
// are those of [Monitor.Job].
func (m *Monitor) Registry(projectID uuid.UUID) job.Registry { return registry{m, projectID} }

type registry struct {
	mon     *Monitor
	project uuid.UUID
}

func (r registry) Register(ctx context.Context, spec checks.Spec) (job.Reporter, error) {
	none := (*job.Job)(nil)
	if spec.Slug == nil || *spec.Slug == "" {
		return none, &checks.FieldError{Field: "slug", Reason: "is empty"}
	}
	if spec.Channels == nil {
		list, err := r.mon.Checks(ctx, r.project, CheckQuery{Slug: spec.Slug})
		if err != nil {
			return none, err
		}
		if len(list) == 0 {
			spec.Channels = new("*")
		}
	}
	c, _, err := r.mon.Upsert(ctx, r.project, spec, checks.UniqueSlug)
	if err != nil {
		return none, err
	}
	return r.mon.Job(c.ID), nil
}

func (r registry) PauseExcept(ctx context.Context, tag string, slugs []string) error {
	if tag == "" {
		return &checks.FieldError{Field: "tag", Reason: "is empty"}
	}
	list, err := r.mon.Checks(ctx, r.project, CheckQuery{Tags: []string{tag}})
	if err != nil {
		return err
	}
	for _, c := range list {
		if c.Slug == "" || c.Stored == checks.StatusPaused || slices.Contains(slugs, c.Slug) {
			continue
		}
		if _, err := r.mon.Pause(ctx, c.ID); err != nil && !errors.Is(err, checks.ErrNotFound) {
			return err
		}
	}
	return nil
}
