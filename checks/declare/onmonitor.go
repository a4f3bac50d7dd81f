package declare

import (
	"context"
	"errors"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/monitor"
)

// OnMonitor returns the target that a monitor in this process is.
func OnMonitor(mon *monitor.Monitor) Administrator { return local{mon} }

// local is a monitor as a target.
type local struct{ mon *monitor.Monitor }

func (l local) Read(ctx context.Context, project string) (State, error) {
	var s State
	var err error
	if s.Project, err = l.mon.ProjectByName(ctx, project); err != nil {
		return State{}, err
	}
	if s.Channels, err = l.mon.Channels(ctx, s.Project.ID); err != nil {
		return State{}, err
	}
	if s.Checks, err = l.mon.Checks(ctx, s.Project.ID, monitor.CheckQuery{}); err != nil {
		return State{}, err
	}
	return s, nil
}

// CreateCheck is an upsert, so that of two who do the same at once, none makes a second check with the slug.
func (l local) CreateCheck(ctx context.Context, projectID uuid.UUID, spec checks.Spec) error {
	_, _, err := l.mon.Upsert(ctx, projectID, spec, []monitor.UniqueField{monitor.UniqueSlug})
	return err
}

func (l local) UpdateCheck(ctx context.Context, id uuid.UUID, spec checks.Spec) error {
	_, err := l.mon.Update(ctx, id, spec)
	return err
}

func (l local) DeleteCheck(ctx context.Context, id uuid.UUID) error {
	_, err := l.mon.Delete(ctx, id)
	return gone(err)
}

func (l local) CreateProject(ctx context.Context, spec monitor.ProjectSpec) (checks.Project, monitor.Keys, error) {
	return l.mon.CreateProject(ctx, spec)
}

func (l local) CreateChannel(ctx context.Context, projectID uuid.UUID, kind channels.Kind, name string, settings map[string]string) error {
	_, err := l.mon.CreateChannel(ctx, projectID, kind, name, settings)
	return err
}

func (l local) UpdateChannel(ctx context.Context, projectID, id uuid.UUID, settings map[string]string) error {
	_, err := l.mon.UpdateChannel(ctx, projectID, id, settings, nil)
	return err
}

func (l local) DeleteChannel(ctx context.Context, projectID, id uuid.UUID) error {
	return gone(l.mon.DeleteChannel(ctx, projectID, id))
}

// gone is the error of a deletion: what is gone already need not be deleted.
func gone(err error) error {
	if errors.Is(err, checks.ErrNotFound) {
		return nil
	}
	return err
}
