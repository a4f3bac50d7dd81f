package declare

import (
	"context"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/monitor"
)

// State is what there is of a project.
type State struct {
	Project checks.Project
	// Channels are the project's channels, oldest first.
	Channels []channels.Channel
	// SettingsHidden says that the settings of the channels cannot be seen, and are not in Channels.
	SettingsHidden bool
	// Checks are the project's checks, oldest first.
	Checks []checks.Check
}

// Target is a place where checks can be kept: a database, or a server.
type Target interface {
	// Read returns what there is of the project with a name. The error is [checks.ErrNotFound] when it does not exist.
	Read(ctx context.Context, project string) (State, error)
	// CreateCheck makes a check; the slug of the spec is set.
	CreateCheck(ctx context.Context, projectID uuid.UUID, spec checks.Spec) error
	// UpdateCheck changes the settings of a check that the spec has.
	UpdateCheck(ctx context.Context, id uuid.UUID, spec checks.Spec) error
	// DeleteCheck removes a check. It is no error when it does not exist any more.
	DeleteCheck(ctx context.Context, id uuid.UUID) error
}

// Administrator is a Target where projects and channels can be made and changed as well. The interface of API-V3.md
// cannot do that.
type Administrator interface {
	Target
	// CreateProject makes a project, and returns it with its keys.
	CreateProject(ctx context.Context, spec monitor.ProjectSpec) (checks.Project, monitor.Keys, error)
	// CreateChannel makes a channel.
	CreateChannel(ctx context.Context, projectID uuid.UUID, kind channels.Kind, name string, settings map[string]string) error
	// UpdateChannel gives a channel new settings.
	UpdateChannel(ctx context.Context, projectID, id uuid.UUID, settings map[string]string) error
	// DeleteChannel removes a channel. It is no error when it does not exist any more.
	DeleteChannel(ctx context.Context, projectID, id uuid.UUID) error
}
