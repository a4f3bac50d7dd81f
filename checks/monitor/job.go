package monitor

import (
	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks/internal/jobs"
	"github.com/rollcall-dev/rollcall/checks/job"
)

// Job returns the reporter of a check's job. It has the methods and the semantics of a *client.Pinger, without a server
// between: start, success, or failure with the error of the job, and a panic with its stack. A ping takes at most 5
// seconds. The errors of a ping are those of [Monitor.Ping]. Of a body larger than [MaxBody], the end is kept.
//
//	err := mon.Job(check.ID).Run(ctx, backup)
//
// Job reads nothing: if no check has the identifier, each ping returns [checks.ErrNotFound].
func (m *Monitor) Job(id uuid.UUID) *job.Job { return m.jobs().Job(id) }

// Registry returns the registry of a project, with which a scheduler keeps a check for each of its jobs. The reporters
// are those of [Monitor.Job].
func (m *Monitor) Registry(projectID uuid.UUID) job.Registry { return m.jobs().Registry(projectID) }

func (m *Monitor) jobs() *jobs.Jobs {
	return &jobs.Jobs{Admin: m.admin, Ping: m.Ping, MaxBody: MaxBody, Config: m.config.Job}
}
