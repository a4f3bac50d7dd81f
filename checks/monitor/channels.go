package monitor

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/gate"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
)

// Channels returns the channels of the project, oldest first.
func (p *Project) Channels(ctx context.Context) ([]channels.Channel, error) {
	list, err := p.channels(ctx)
	return list, p.about(err)
}

// ChannelsWithSettings is [Project.Channels], for a [checks.Administrator].
func (p *Project) ChannelsWithSettings(ctx context.Context) ([]channels.Channel, error) {
	return p.Channels(ctx)
}

func (p *Project) channels(ctx context.Context) ([]channels.Channel, error) {
	found, err := p.store.Channels(ctx, store.ChannelFilter{ProjectID: &p.id})
	return found, p.exists(ctx, len(found), err)
}

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
	c, err := p.saveChannel(ctx, func(list []channels.Channel) (channels.Channel, bool, error) {
		fresh, err := p.newChannel(list, c)
		return fresh, true, err
	})
	return c, p.about(err)
}

// UpsertChannel makes sure that the project has a channel with the name, kind and settings of wanted: it creates the channel,
// replaces its settings and sources or leaves it as it is, with its sources if that has nil. Created says whether it created the
// channel. It ignores the identifier of wanted. The checks that use the channel stay the same. Of concurrent calls with the same
// name, one creates the channel. Errors: those of [Project.CreateChannel], and
// *[checks.FieldError] for an empty name, a name that several channels have, and a channel of another kind.
func (p *Project) UpsertChannel(ctx context.Context, wanted channels.Channel) (c channels.Channel, created bool, err error) {
	defer describe(&err, "project", p.id)
	name, kind := wanted.Name, wanted.Kind
	if err := checks.ValidateName("name", name); err != nil {
		return channels.Channel{}, false, err
	}
	wanted.ID, wanted.ProjectID = uuid.Nil, p.id
	c, err = p.saveChannel(ctx, func(list []channels.Channel) (channels.Channel, bool, error) {
		created = false
		named := slices.DeleteFunc(slices.Clone(list), func(c channels.Channel) bool { return c.Name != name })
		if len(named) == 0 {
			created = true
			fresh, err := p.newChannel(list, wanted)
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
		valid, err := p.validSettings(list, c, wanted.Settings)
		if err != nil || maps.Equal(valid, c.Settings) && (wanted.Sources == nil || maps.Equal(wanted.Sources, c.Sources)) {
			return c, false, err
		}
		c.Settings, c.Sources = valid, wanted.Sources
		return c, true, nil
	})
	if err != nil {
		return channels.Channel{}, false, err
	}
	return c, created, nil
}

// UpdateChannel changes the name, the settings and their sources of a channel to those that edit returns. Edit gets the stored
// channel. If a channel of the project changes before the result is stored, edit is called again. The monitor ignores other
// changes. The checks that use the channel stay the same. Errors: those of edit, as they are; *[checks.FieldError] for the name and
// for what [Project.CreateChannel] refuses with one; those of that for new settings; [checks.ErrNotFound]. What stays as it is
// passes; see [channels.Validate].
func (p *Project) UpdateChannel(ctx context.Context, id uuid.UUID, edit func(channels.Channel) (channels.Channel, error)) (channels.Channel, error) {
	var refused error
	c, err := p.saveChannel(ctx, func(list []channels.Channel) (channels.Channel, bool, error) {
		c, found := channelByID(list, id)
		if !found {
			return c, false, checks.ErrNotFound
		}
		wanted := c
		wanted.Settings, wanted.Sources = maps.Clone(c.Settings), maps.Clone(c.Sources)
		if wanted, refused = edit(wanted); refused != nil {
			return c, false, refused
		}
		valid, err := p.validSettings(list, c, wanted.Settings)
		c.Name, c.Settings, c.Sources = wanted.Name, valid, wanted.Sources
		return c, true, err
	})
	if refused != nil && err != nil {
		return channels.Channel{}, refused
	}
	return c, about("channel", id, err)
}

// DeleteChannel removes a channel, takes it from all checks and from the escalation policy and deletes its deliveries. A step that
// only had this channel goes, too. Error: [checks.ErrNotFound].
func (p *Project) DeleteChannel(ctx context.Context, id uuid.UUID) error {
	err := p.store.Update(ctx, func(ctx context.Context, tx store.Tx) error {
		if _, err := tx.LockAccount(ctx, p.id); err != nil {
			return err
		}
		all, err := tx.Channels(ctx, store.ChannelFilter{ProjectID: &p.id})
		if err != nil {
			return err
		}
		c, found := channelByID(all, id)
		if !found {
			return checks.ErrNotFound
		}
		change, err := p.note(ctx, tx, aboutChannel(c, "channel.delete"))
		if err != nil {
			return err
		}
		if _, err := p.noteEscalation(ctx, tx, all, func(steps []gate.Step) []gate.Step { return withoutChannel(steps, id) }); err != nil {
			return err
		}
		return change.DeleteChannel(ctx, p.id, id)
	})
	return about("channel", id, err)
}

// TestChannel sends a test alert to a channel, or to each member of a group. It neither records nor retries the attempt,
// and closes the incident that the test has opened at an [channels.IncidentNotifier]. The error is that of the notifier,
// with the text that [checks.Delivery].Error would have; a *[channels.NotConfiguredError] if the kind has no notifier; or
// [checks.ErrNotFound].
func (p *Project) TestChannel(ctx context.Context, id uuid.UUID) error {
	project, err := p.project(ctx, store.ProjectFilter{ID: &p.id})
	if err != nil {
		return p.about(err)
	}
	available, err := p.channels(ctx)
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
	project, err := p.project(ctx, store.ProjectFilter{ID: &p.id})
	if err != nil {
		return p.about(err)
	}
	available, err := p.channels(ctx)
	if err != nil {
		return p.about(err)
	}
	if c.ID == uuid.Nil {
		c.ID = uuid.New()
	}
	c.ProjectID = p.id
	if c.Settings, err = p.validSettings(available, c, c.Settings); err != nil {
		return err // for users, as that of the notifier
	}
	available = slices.DeleteFunc(available, func(old channels.Channel) bool { return old.ID == c.ID })
	return p.courier.Try(ctx, project, append(available, c), c.ID)
}

// Kinds returns the kinds of channels that [Project.CreateChannel] accepts, each once, with their settings.
func (m *Monitor) Kinds() []channels.Type { return m.kinds() }

func (s *service) kinds() (list []channels.Type) {
	for _, t := range s.config.Channels {
		if i := slices.IndexFunc(list, func(known channels.Type) bool { return known.Kind == t.Kind }); i >= 0 {
			list[i] = t
		} else {
			list = append(list, t)
		}
	}
	return list
}

// Kind returns a kind of channels, and whether it is one of [Monitor.Kinds].
func (m *Monitor) Kind(kind channels.Kind) (t channels.Type, known bool) {
	list := m.Kinds()
	i := slices.IndexFunc(list, func(t channels.Type) bool { return t.Kind == kind })
	if i < 0 {
		return channels.Type{}, false
	}
	return list[i], true
}

// Configured returns nil if this monitor can send alerts to channels of a kind. Otherwise the error says why not, for
// users: a *[channels.NotConfiguredError]. Another monitor on the database may be able to send them. For [channels.Function] it
// says whether there is Config.OnAlert.
func (m *Monitor) Configured(kind channels.Kind) error { return m.courier.Configured(kind) }

// Undeliverable returns a *[channels.NotConfiguredError] if nobody sends alerts to channels of a kind: this monitor cannot,
// and [Config].DeliveredElsewhere, which says nothing about [channels.Function], is not set.
func (m *Monitor) Undeliverable(kind channels.Kind) error { return m.undeliverable(kind) }

func (s *service) undeliverable(kind channels.Kind) error {
	if s.config.DeliveredElsewhere && kind != channels.Function {
		return nil
	}
	return s.courier.Configured(kind)
}
