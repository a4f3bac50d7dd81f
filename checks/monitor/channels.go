package monitor

import (
	"context"
	"slices"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/store"
)

// CreateChannel adds a channel to a project. Spec.Channels can use its name only if that is non-empty, unique and free of
// commas (API-V3.md section 2.4). Errors: *[checks.FieldError] for the name, those of [channels.Validate] for kind and
// settings, those of [channels.ResolveGroup] for a group, [checks.ErrNotFound] for the project.
func (m *Monitor) CreateChannel(ctx context.Context, projectID uuid.UUID, kind channels.Kind, name string, settings map[string]string) (channels.Channel, error) {
	return m.AddChannel(ctx, channels.Channel{ProjectID: projectID, Kind: kind, Name: name, Settings: settings})
}

// AddChannel does what [Monitor.CreateChannel] does, with the project, kind, name, settings and sources of c. It
// ignores the other fields of c and sets them in the channel that it returns.
func (m *Monitor) AddChannel(ctx context.Context, c channels.Channel) (channels.Channel, error) {
	if err := validName("name", c.Name, 0); err != nil {
		return channels.Channel{}, err
	}
	settings, err := channels.Validate(m.kinds, c.Kind, c.Settings)
	if err != nil {
		return channels.Channel{}, err
	}
	c = channels.Channel{
		ID: uuid.New(), ProjectID: c.ProjectID, Kind: c.Kind, Name: c.Name, Settings: settings, Sources: c.Sources, CreatedAt: m.Now(),
	}
	err = m.store.Update(ctx, func(ctx context.Context, tx store.Tx) error {
		if _, err := tx.LockAccount(ctx, c.ProjectID); err != nil {
			return err
		}
		if c.Kind == channels.Group {
			list, err := tx.Channels(ctx, c.ProjectID)
			if err != nil {
				return err
			}
			if c.Settings, err = channels.ResolveGroup(list, c.ID, settings); err != nil {
				return err
			}
		}
		return tx.SaveChannel(ctx, c)
	})
	if err != nil {
		return channels.Channel{}, err
	}
	return c, nil
}

// UpdateChannel replaces all settings of a channel and their sources; see [channels.Channel]. The checks that use it
// stay the same. Errors: those of [channels.Validate] and [channels.ResolveGroup] for the settings,
// [checks.ErrNotFound].
func (m *Monitor) UpdateChannel(ctx context.Context, projectID, id uuid.UUID, settings, sources map[string]string) (c channels.Channel, err error) {
	err = m.store.Update(ctx, func(ctx context.Context, tx store.Tx) error {
		if _, err := tx.LockAccount(ctx, projectID); err != nil {
			return err
		}
		list, err := tx.Channels(ctx, projectID)
		if err != nil {
			return err
		}
		i := slices.IndexFunc(list, func(c channels.Channel) bool { return c.ID == id })
		if i < 0 {
			return checks.ErrNotFound
		}
		c = list[i]
		c.Sources = sources
		if c.Settings, err = channels.Validate(m.kinds, c.Kind, settings); err != nil {
			return err
		}
		if c.Kind == channels.Group {
			if c.Settings, err = channels.ResolveGroup(list, id, c.Settings); err != nil {
				return err
			}
		}
		return tx.SaveChannel(ctx, c)
	})
	if err != nil {
		return channels.Channel{}, err
	}
	return c, nil
}

// Channels returns the channels of a project, oldest first (API-V3.md section 4.11).
func (m *Monitor) Channels(ctx context.Context, projectID uuid.UUID) ([]channels.Channel, error) {
	return m.store.Channels(ctx, projectID)
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
