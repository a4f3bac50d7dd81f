package checks

import (
	"context"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks/gate"
)

// Administrator is a [Manager] that also manages the channels, the escalation policy and the status pages of its project. A
// *client.Client and a *monitor.Project are one; the key of the client needs the scope admin for these methods, but not for Escalation.
// Errors are also a *[channels.SettingError], a *[channels.NotConfiguredError], and a *[FieldError] for "kind" that wraps a
// *[channels.KindError].
type Administrator interface {
	Manager
	// ChannelsWithSettings returns the channels of the project with their settings, oldest first. A client gets neither secrets nor
	// values with a source: these settings are in Hidden.
	ChannelsWithSettings(ctx context.Context) ([]channels.Channel, error)
	// CreateChannel adds a channel with the kind, name, settings and sources of c.
	CreateChannel(ctx context.Context, c channels.Channel) (channels.Channel, error)
	// UpsertChannel creates a channel as CreateChannel does, or replaces the settings and sources of the one with the name of c, and
	// says which.
	UpsertChannel(ctx context.Context, c channels.Channel) (_ channels.Channel, created bool, err error)
	// UpdateChannel replaces the name, settings and sources of a channel by those that edit returns. A setting in Hidden that Settings
	// lacks keeps its value and source; "" removes it.
	UpdateChannel(ctx context.Context, id uuid.UUID, edit func(channels.Channel) (channels.Channel, error)) (channels.Channel, error)
	// DeleteChannel deletes a channel and takes it from all checks.
	DeleteChannel(ctx context.Context, id uuid.UUID) error
	// Escalation returns the steps of the escalation policy, or none.
	Escalation(ctx context.Context) ([]gate.Step, error)
	// SetEscalation replaces the escalation policy. No steps remove it.
	SetEscalation(ctx context.Context, steps []gate.Step) error
	// StatusPages returns the status pages of the project, oldest first.
	StatusPages(ctx context.Context) ([]StatusPage, error)
	// CreateStatusPage adds a status page as page says. It ignores its ID, ProjectID and CreatedAt.
	CreateStatusPage(ctx context.Context, page StatusPage) (StatusPage, error)
	// UpdateStatusPage replaces what the page with the ID of page says.
	UpdateStatusPage(ctx context.Context, page StatusPage) (StatusPage, error)
	// DeleteStatusPage deletes a status page.
	DeleteStatusPage(ctx context.Context, id uuid.UUID) error
}

// Projects administers the projects of an installation. A *monitor.Projects and a *client.Projects are one. With an admin key of one
// project, a client administers that project alone. Errors: [ErrNotFound], [ErrExists] for a name in use, and *[FieldError].
type Projects interface {
	// List returns the projects.
	List(ctx context.Context) ([]Project, error)
	// ByID returns the project with an identifier.
	ByID(ctx context.Context, id uuid.UUID) (Project, error)
	// ByName returns the project with a name. No name stands for the project of a client whose key is one of a project.
	ByName(ctx context.Context, name string) (Project, error)
	// Create creates a project and returns it with its keys, which cannot be read again.
	Create(ctx context.Context, spec ProjectSpec) (Project, ProjectKeys, error)
	// Update changes a project and returns it.
	Update(ctx context.Context, id uuid.UUID, change ProjectUpdate) (Project, error)
	// RotatePingKey gives a project another ping key and returns the project.
	RotatePingKey(ctx context.Context, id uuid.UUID) (Project, error)
	// Delete deletes a project with all that it has.
	Delete(ctx context.Context, id uuid.UUID) error
	// Project returns the project with an identifier, and reads nothing.
	Project(id uuid.UUID) Administrator
	// Kinds returns the kinds of channels that the projects can have. Those of a server have no rules but those of their Settings, no
	// Notifier and no texts.
	Kinds(ctx context.Context) ([]channels.Type, error)
}
