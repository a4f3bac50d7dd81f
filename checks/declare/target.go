package declare

import (
	"context"
	"errors"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/monitor"
)

// State is the current state of a project.
type State struct {
	Project checks.Project
	// Channels are the project's channels, oldest first.
	Channels []channels.Channel
	// Types are the kinds of channels that the target knows. A setting of another kind counts as secret, and cannot change.
	Types []channels.Type
	// SettingsHidden reports that the target does not show the settings of channels.
	SettingsHidden bool
	// Checks are the project's checks, oldest first.
	Checks []checks.Check
}

// Target stores checks: a database or a server.
type Target interface {
	// Read returns the state of the named project. The error is [checks.ErrNotFound] if there is none;
	// the state then has only the Types.
	Read(ctx context.Context, project string) (State, error)
	// CreateCheck creates a check. The spec has a slug.
	CreateCheck(ctx context.Context, projectID uuid.UUID, spec checks.Spec) error
	// UpdateCheck changes the settings of a check that are not nil in spec.
	UpdateCheck(ctx context.Context, id uuid.UUID, spec checks.Spec) error
	// DeleteCheck deletes a check. It succeeds if the check is already gone.
	DeleteCheck(ctx context.Context, id uuid.UUID) error
}

// Administrator is a [Target] that can also create projects and manage channels. The API cannot.
type Administrator interface {
	Target
	// CreateProject creates a project and returns it with its keys.
	CreateProject(ctx context.Context, spec monitor.ProjectSpec) (checks.Project, monitor.Keys, error)
	// CreateChannel creates a channel with the ProjectID, Kind, Name, Settings and Sources of c.
	CreateChannel(ctx context.Context, c channels.Channel) error
	// UpdateChannel replaces the Settings and Sources of the channel that the ID and ProjectID of c identify.
	UpdateChannel(ctx context.Context, c channels.Channel) error
	// DeleteChannel deletes a channel. It succeeds if the channel is already gone.
	DeleteChannel(ctx context.Context, projectID, id uuid.UUID) error
}

// OnMonitor returns a monitor in this process as a target.
func OnMonitor(mon *monitor.Monitor) Administrator { return local{mon} }

type local struct{ mon *monitor.Monitor }

func (l local) Read(ctx context.Context, project string) (State, error) {
	s := State{Types: l.mon.ChannelKinds()}
	var err error
	if s.Project, err = l.mon.ProjectByName(ctx, project); err != nil {
		return s, err
	}
	if s.Channels, err = l.mon.Channels(ctx, s.Project.ID); err != nil {
		return State{}, err
	}
	if s.Checks, err = l.mon.Checks(ctx, s.Project.ID, monitor.CheckQuery{}); err != nil {
		return State{}, err
	}
	return s, nil
}

// CreateCheck upserts, so that two programs that apply the same file at once create only one check.
func (l local) CreateCheck(ctx context.Context, projectID uuid.UUID, spec checks.Spec) error {
	_, _, err := l.mon.Upsert(ctx, projectID, spec, checks.UniqueSlug)
	return err
}

func (l local) UpdateCheck(ctx context.Context, id uuid.UUID, spec checks.Spec) error {
	_, err := l.mon.Update(ctx, id, spec)
	return err
}

func (l local) DeleteCheck(ctx context.Context, id uuid.UUID) error {
	_, err := l.mon.Delete(ctx, id)
	return unlessGone(err)
}

func (l local) CreateProject(ctx context.Context, spec monitor.ProjectSpec) (checks.Project, monitor.Keys, error) {
	return l.mon.CreateProject(ctx, spec)
}

func (l local) CreateChannel(ctx context.Context, c channels.Channel) error {
	_, err := l.mon.AddChannel(ctx, c)
	return err
}

func (l local) UpdateChannel(ctx context.Context, c channels.Channel) error {
	_, err := l.mon.UpdateChannel(ctx, c.ProjectID, c.ID, c.Settings, c.Sources)
	return err
}

func (l local) DeleteChannel(ctx context.Context, projectID, id uuid.UUID) error {
	return unlessGone(l.mon.DeleteChannel(ctx, projectID, id))
}

// unlessGone returns the error of a deletion, or nil if there was nothing left to delete.
func unlessGone(err error) error {
	if errors.Is(err, checks.ErrNotFound) {
		return nil
	}
	return err
}
