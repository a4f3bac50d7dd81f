package monitor

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/store"
)

// CreateChannel adds a channel to a project. Spec.Channels can use its name only if that is non-empty, unique and free of
// commas. A program that creates its channels at each start calls [Monitor.UpsertChannel] instead. Errors:
// *[checks.FieldError] for the name, those of [channels.Validate] for kind and settings, those of
// [channels.ResolveGroup] for a group, [checks.ErrNotFound] for the project.
func (m *Monitor) CreateChannel(ctx context.Context, projectID uuid.UUID, kind channels.Kind, name string, settings map[string]string) (channels.Channel, error) {
	return m.AddChannel(ctx, channels.Channel{ProjectID: projectID, Kind: kind, Name: name, Settings: settings})
}

// AddChannel does what [Monitor.CreateChannel] does, with the project, kind, name, settings and sources of c. It
// ignores the other fields of c and sets them in the channel that it returns.
func (m *Monitor) AddChannel(ctx context.Context, c channels.Channel) (channels.Channel, error) {
	if err := validName("name", c.Name, 0); err != nil {
		return channels.Channel{}, err
	}
	return m.saveChannel(ctx, c.ProjectID, func(list []channels.Channel) (channels.Channel, bool, error) {
		fresh, err := m.newChannel(list, c)
		return fresh, true, err
	})
}

// ChannelChange says what [Monitor.UpsertChannel] did.
type ChannelChange string

// The changes of a channel.
const (
	ChannelCreated   ChannelChange = "created"
	ChannelUpdated   ChannelChange = "updated"   // the settings were replaced
	ChannelUnchanged ChannelChange = "unchanged" // the settings were the same
)

// UpsertChannel makes sure that the project has a channel with this name, kind and settings: it creates the channel,
// replaces its settings or leaves it as it is, and says which. The checks that use the channel stay the same. Of
// concurrent calls with the same name, one creates the channel. Errors: those of [Monitor.CreateChannel], and
// *[checks.FieldError] for an empty name, a name that several channels have, and a channel of another kind.
func (m *Monitor) UpsertChannel(ctx context.Context, projectID uuid.UUID, kind channels.Kind, name string, settings map[string]string) (c channels.Channel, change ChannelChange, err error) {
	if err := validName("name", name, 1); err != nil {
		return channels.Channel{}, "", err
	}
	c, err = m.saveChannel(ctx, projectID, func(list []channels.Channel) (channels.Channel, bool, error) {
		named := slices.DeleteFunc(slices.Clone(list), func(c channels.Channel) bool { return c.Name != name })
		if len(named) == 0 {
			change = ChannelCreated
			fresh, err := m.newChannel(list, channels.Channel{ProjectID: projectID, Kind: kind, Name: name, Settings: settings})
			return fresh, true, err
		}
		c := named[0]
		if len(named) > 1 {
			return c, false, &checks.FieldError{Field: "name", Reason: fmt.Sprintf("is that of %d channels: %q", len(named), name)}
		}
		if c.Kind != kind {
			return c, false, &checks.FieldError{Field: "kind",
				Reason: fmt.Sprintf("cannot change: the channel %q has the kind %q, not %q", name, c.Kind, kind)}
		}
		valid, err := m.validSettings(list, c, settings)
		if err != nil || maps.Equal(valid, c.Settings) {
			change = ChannelUnchanged
			return c, false, err
		}
		change = ChannelUpdated
		c.Settings, c.Sources = valid, nil
		return c, true, nil
	})
	if err != nil {
		return channels.Channel{}, "", err
	}
	return c, change, nil
}

// UpdateChannel replaces all settings of a channel and their sources; see [channels.Channel]. The checks that use it
// stay the same. Errors: those of [channels.Validate] and [channels.ResolveGroup] for the settings,
// [checks.ErrNotFound].
func (m *Monitor) UpdateChannel(ctx context.Context, projectID, id uuid.UUID, settings, sources map[string]string) (channels.Channel, error) {
	return m.saveChannel(ctx, projectID, func(list []channels.Channel) (channels.Channel, bool, error) {
		c, found := channelByID(list, id)
		if !found {
			return c, false, checks.ErrNotFound
		}
		valid, err := m.validSettings(list, c, settings)
		c.Settings, c.Sources = valid, sources
		return c, true, err
	})
}

// UpdateChannelFunc changes the name, the settings and their sources of a channel to those that edit returns. Edit gets the
// stored channel, in a transaction, so that nothing changes between; it may be called again. The monitor ignores other
// changes. The checks that use the channel stay the same. Errors: those of edit, *[checks.FieldError] for the name, those
// of [Monitor.UpdateChannel].
func (m *Monitor) UpdateChannelFunc(ctx context.Context, projectID, id uuid.UUID, edit func(channels.Channel) (channels.Channel, error)) (channels.Channel, error) {
	return m.saveChannel(ctx, projectID, func(list []channels.Channel) (channels.Channel, bool, error) {
		c, found := channelByID(list, id)
		if !found {
			return c, false, checks.ErrNotFound
		}
		wanted := c
		wanted.Settings, wanted.Sources = maps.Clone(c.Settings), maps.Clone(c.Sources)
		wanted, err := edit(wanted)
		if err != nil {
			return c, false, err
		}
		if err := validName("name", wanted.Name, 0); err != nil {
			return c, false, err
		}
		valid, err := m.validSettings(list, c, wanted.Settings)
		c.Name, c.Settings, c.Sources = wanted.Name, valid, wanted.Sources
		return c, true, err
	})
}

// saveChannel saves the channel that fn returns, if fn says so. The list that fn gets has the channels of the project.
// The account's lock keeps them from changing.
func (m *Monitor) saveChannel(
	ctx context.Context, projectID uuid.UUID, fn func(list []channels.Channel) (c channels.Channel, save bool, err error),
) (c channels.Channel, err error) {
	err = m.store.Update(ctx, func(ctx context.Context, tx store.Tx) error {
		if _, err := tx.LockAccount(ctx, projectID); err != nil {
			return err
		}
		list, err := tx.Channels(ctx, projectID)
		if err != nil {
			return err
		}
		var save bool
		if c, save, err = fn(list); err != nil || !save {
			return err
		}
		return tx.SaveChannel(ctx, c)
	})
	if err != nil {
		return channels.Channel{}, err
	}
	return c, nil
}

// newChannel returns a new channel with the project, kind, name, settings and sources of c.
func (m *Monitor) newChannel(list []channels.Channel, c channels.Channel) (channels.Channel, error) {
	c = channels.Channel{
		ID: uuid.New(), ProjectID: c.ProjectID, Kind: c.Kind, Name: c.Name, Settings: c.Settings, Sources: c.Sources, CreatedAt: m.Now(),
	}
	var err error
	c.Settings, err = m.validSettings(list, c, c.Settings)
	return c, err
}

// validSettings returns the settings of a channel as they are stored.
func (m *Monitor) validSettings(list []channels.Channel, c channels.Channel, settings map[string]string) (map[string]string, error) {
	settings, err := channels.Validate(m.kinds, c.Kind, settings)
	if err == nil && c.Kind == channels.Group {
		return channels.ResolveGroup(list, c.ID, settings)
	}
	return settings, err
}

// Channels returns the channels of a project, oldest first. Error: [checks.ErrNotFound].
func (m *Monitor) Channels(ctx context.Context, projectID uuid.UUID) ([]channels.Channel, error) {
	list, err := m.store.Channels(ctx, projectID)
	return list, m.exists(ctx, projectID, len(list), err)
}

// ChannelKinds returns the kinds of channels that [Monitor.CreateChannel] accepts, with their settings.
func (m *Monitor) ChannelKinds() []channels.KindInfo { return m.kinds }

// DeleteChannel removes a channel of a project, takes it from all checks and deletes its deliveries. Error:
// [checks.ErrNotFound].
func (m *Monitor) DeleteChannel(ctx context.Context, projectID, id uuid.UUID) error {
	return m.store.Update(ctx, func(ctx context.Context, tx store.Tx) error {
		if _, err := tx.LockAccount(ctx, projectID); err != nil {
			return err
		}
		return tx.DeleteChannel(ctx, projectID, id)
	})
}
