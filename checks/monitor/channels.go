package monitor

import (
	"context"
	"slices"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
)

// CreateChannel adds a channel with the kind, name, settings and sources of c, and its identifier if that is not zero, so
// that a call that is repeated adds no other. It drops the sources of settings that c does not have. It ignores the other
// fields of c and sets them in the channel that it returns. Spec.Channels can use its name only if that is non-empty, unique
// and free of commas. A program that creates its channels at each start calls [Project.UpsertChannel] instead.
//
// Errors: *[checks.FieldError] for the name, for a source of more than 1,000 characters, for "settings" if those of the project
// would be longer than [checks.MaxSettings], and for "project" if that has [checks.MaxChannels]; those of [channels.Validate]
// for settings; a *[checks.FieldError] for "kind" that wraps a *[channels.KindError]; *[channels.NotConfiguredError] if nobody would deliver its alerts, see [Config].Channels;
// *[channels.SettingError] for a receiver that is out of reach and for a group. If the project has a channel with the
// identifier, it is a *[checks.FieldError] for "id" that wraps [checks.ErrExists].
func (p *Project) CreateChannel(ctx context.Context, c channels.Channel) (channels.Channel, error) {
	c.ProjectID = p.id
	c, err := p.admin.CreateChannel(ctx, c)
	return c, p.about(err)
}

// UpsertChannel makes sure that the project has a channel with the name, kind and settings of c: it creates the channel,
// replaces its settings and sources or leaves it as it is, with its sources if c has nil. Created says whether it created the
// channel. It ignores the identifier of c. The checks that use the channel stay the same. Of concurrent calls with the same
// name, one creates the channel. Errors: those of [Project.CreateChannel], and
// *[checks.FieldError] for an empty name, a name that several channels have, and a channel of another kind.
func (p *Project) UpsertChannel(ctx context.Context, c channels.Channel) (_ channels.Channel, created bool, err error) {
	c.ProjectID = p.id
	c, created, err = p.admin.UpsertChannel(ctx, c)
	return c, created, p.about(err)
}

// UpdateChannel changes the name, the settings and their sources of a channel to those that edit returns. Edit gets the stored
// channel. If a channel of the project changes before the result is stored, edit is called again. The monitor ignores other
// changes. The checks that use the channel stay the same. Errors: those of edit, as they are; *[checks.FieldError] for the name and
// for what [Project.CreateChannel] refuses with one; those of that for new settings; [checks.ErrNotFound]. What stays as it is
// passes; see [channels.Validate].
func (p *Project) UpdateChannel(ctx context.Context, id uuid.UUID, edit func(channels.Channel) (channels.Channel, error)) (channels.Channel, error) {
	var refused error
	c, err := p.admin.UpdateChannel(ctx, p.id, id, func(c channels.Channel) (channels.Channel, error) {
		c, refused = edit(c)
		return c, refused
	})
	if refused != nil && err != nil {
		return channels.Channel{}, refused
	}
	return c, about("channel", id, err)
}

// DeleteChannel removes a channel, takes it from all checks and deletes its deliveries. Error: [checks.ErrNotFound].
func (p *Project) DeleteChannel(ctx context.Context, id uuid.UUID) error {
	return about("channel", id, p.admin.DeleteChannel(ctx, p.id, id))
}

// TestChannel sends a test alert to a channel, or to each member of a group. It neither records nor retries the attempt,
// and closes the incident that the test has opened at an [channels.IncidentNotifier]. The error is that of the notifier,
// with the text that [Delivery].Error would have; a *[channels.NotConfiguredError] if the kind has no notifier; or
// [checks.ErrNotFound].
func (p *Project) TestChannel(ctx context.Context, id uuid.UUID) error {
	project, err := p.admin.Project(ctx, p.id)
	if err != nil {
		return p.about(err)
	}
	available, err := p.admin.Channels(ctx, p.id)
	if err != nil {
		return p.about(err)
	}
	if !slices.ContainsFunc(available, func(c channels.Channel) bool { return c.ID == id }) {
		return about("channel", id, checks.ErrNotFound)
	}
	return p.courier.Try(ctx, project, available, id)
}

// TryChannel does what [Project.TestChannel] does for a channel that need not be stored: with the kind, name and settings of
// c. For a stored channel that is to change, c has its identifier. Errors: also those of [channels.Validate];
// nothing is sent then.
func (p *Project) TryChannel(ctx context.Context, c channels.Channel) error {
	project, err := p.admin.Project(ctx, p.id)
	if err != nil {
		return p.about(err)
	}
	available, err := p.admin.Channels(ctx, p.id)
	if err != nil {
		return p.about(err)
	}
	if c.ID == uuid.Nil {
		c.ID = uuid.New()
	}
	c.ProjectID = p.id
	if c.Settings, err = p.admin.ValidSettings(available, c, c.Settings); err != nil {
		return err // for users, as that of the notifier
	}
	available = slices.DeleteFunc(available, func(old channels.Channel) bool { return old.ID == c.ID })
	return p.courier.Try(ctx, project, append(available, c), c.ID)
}
