package monitor

import (
	"context"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks/internal/admin"
)

// CreateChannel adds a channel to a project. Spec.Channels can use its name only if that is non-empty, unique and free of
// commas. A program that creates its channels at each start calls [Monitor.UpsertChannel] instead. Errors:
// *[checks.FieldError] for the name, those of [channels.Validate] for kind and settings, *[channels.NotConfiguredError] if nobody would deliver
// its alerts (see [Config].Channels), *[channels.SettingError] for a receiver that is out of reach and for a group, [checks.ErrNotFound] for the project.
func (m *Monitor) CreateChannel(ctx context.Context, projectID uuid.UUID, kind channels.Kind, name string, settings map[string]string) (channels.Channel, error) {
	return m.AddChannel(ctx, channels.Channel{ProjectID: projectID, Kind: kind, Name: name, Settings: settings})
}

// AddChannel does what [Monitor.CreateChannel] does, with the project, kind, name, settings and sources of c, and its
// identifier if that is not zero, so that a call that is repeated adds no other. It ignores the other fields of c and sets
// them in the channel that it returns. Error: [checks.ErrExists] if the project has a channel with the identifier.
func (m *Monitor) AddChannel(ctx context.Context, c channels.Channel) (channels.Channel, error) {
	return m.admin.AddChannel(ctx, c)
}

// ChannelChange says what [Monitor.UpsertChannel] did.
type ChannelChange = admin.ChannelChange

// The changes of a channel.
const (
	ChannelCreated   = admin.ChannelCreated
	ChannelUpdated   = admin.ChannelUpdated   // the settings were replaced
	ChannelUnchanged = admin.ChannelUnchanged // the settings were the same
)

// UpsertChannel makes sure that the project has a channel with this name, kind and settings: it creates the channel,
// replaces its settings or leaves it as it is, and says which. The checks that use the channel stay the same. Of
// concurrent calls with the same name, one creates the channel. Errors: those of [Monitor.CreateChannel], and
// *[checks.FieldError] for an empty name, a name that several channels have, and a channel of another kind.
func (m *Monitor) UpsertChannel(ctx context.Context, projectID uuid.UUID, kind channels.Kind, name string, settings map[string]string) (c channels.Channel, change ChannelChange, err error) {
	return m.admin.UpsertChannel(ctx, projectID, kind, name, settings)
}

// UpdateChannel replaces all settings of a channel and their sources; see [channels.Channel]. The checks that use it
// stay the same. What stays as it is passes; see [channels.Validate]. Errors: those of [Monitor.CreateChannel] for new
// settings, [checks.ErrNotFound].
func (m *Monitor) UpdateChannel(ctx context.Context, projectID, id uuid.UUID, settings, sources map[string]string) (channels.Channel, error) {
	return m.admin.UpdateChannel(ctx, projectID, id, settings, sources)
}

// UpdateChannelFunc changes the name, the settings and their sources of a channel to those that edit returns. Edit gets the
// stored channel, in a transaction, so that nothing changes between; it may be called again. The monitor ignores other
// changes. The checks that use the channel stay the same. Errors: those of edit, *[checks.FieldError] for the name, those
// of [Monitor.UpdateChannel].
func (m *Monitor) UpdateChannelFunc(ctx context.Context, projectID, id uuid.UUID, edit func(channels.Channel) (channels.Channel, error)) (channels.Channel, error) {
	return m.admin.UpdateChannelFunc(ctx, projectID, id, edit)
}

// Channels returns the channels of a project, oldest first. Error: [checks.ErrNotFound].
func (m *Monitor) Channels(ctx context.Context, projectID uuid.UUID) ([]channels.Channel, error) {
	return m.admin.Channels(ctx, projectID)
}

// ChannelKinds returns the kinds of channels that [Monitor.CreateChannel] accepts, with their settings.
func (m *Monitor) ChannelKinds() []channels.Type { return m.admin.Types }

// DeleteChannel removes a channel of a project, takes it from all checks and deletes its deliveries. Error:
// [checks.ErrNotFound].
func (m *Monitor) DeleteChannel(ctx context.Context, projectID, id uuid.UUID) error {
	return m.admin.DeleteChannel(ctx, projectID, id)
}
