package monitor

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/internal/selection"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
)

// CreateChannel adds a channel with the identifier, project, kind, name, settings and sources of c.
func (a *admin) CreateChannel(ctx context.Context, c channels.Channel) (channels.Channel, error) {
	return a.saveChannel(ctx, c.ProjectID, func(list []channels.Channel) (channels.Channel, bool, error) {
		fresh, err := a.newChannel(list, c)
		return fresh, true, err
	})
}

// UpsertChannel makes sure that the project has a channel with this name, kind and settings.
func (a *admin) UpsertChannel(ctx context.Context, wanted channels.Channel) (c channels.Channel, created bool, err error) {
	name, kind := wanted.Name, wanted.Kind
	if err := checks.ValidateName("name", name); err != nil {
		return channels.Channel{}, false, err
	}
	wanted.ID = uuid.Nil
	c, err = a.saveChannel(ctx, wanted.ProjectID, func(list []channels.Channel) (channels.Channel, bool, error) {
		created = false
		named := slices.DeleteFunc(slices.Clone(list), func(c channels.Channel) bool { return c.Name != name })
		if len(named) == 0 {
			created = true
			fresh, err := a.newChannel(list, wanted)
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
		valid, err := a.ValidSettings(list, c, wanted.Settings)
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

// UpdateChannel changes the name, the settings and the sources of a channel to those that edit returns.
func (a *admin) UpdateChannel(ctx context.Context, projectID, id uuid.UUID, edit func(channels.Channel) (channels.Channel, error)) (channels.Channel, error) {
	return a.saveChannel(ctx, projectID, func(list []channels.Channel) (channels.Channel, bool, error) {
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
		valid, err := a.ValidSettings(list, c, wanted.Settings)
		c.Name, c.Settings, c.Sources = wanted.Name, valid, wanted.Sources
		return c, true, err
	})
}

// errMoved means that the channels of a project are others than those that a new channel was checked with.
var errMoved = errors.New("the channels have changed")

// saveChannel saves the channel that fn returns for the channels of the project, if fn says so. All checks come before the
// transaction, because pings wait for that, and are repeated if the channels have changed meanwhile.
func (a *admin) saveChannel(
	ctx context.Context, projectID uuid.UUID, fn func(list []channels.Channel) (c channels.Channel, save bool, err error),
) (channels.Channel, error) {
	var asked map[string]string
	for {
		list, err := a.Channels(ctx, projectID)
		if err != nil {
			return channels.Channel{}, err
		}
		c, save, err := fn(list)
		if err != nil {
			return channels.Channel{}, err
		}
		if !save {
			return c, nil
		}
		stored, found := channelByID(list, c.ID)
		if c.Sources, err = a.fits(list, stored, c, found); err != nil {
			return channels.Channel{}, err
		}
		if same := found && maps.Equal(c.Settings, stored.Settings); !same && (asked == nil || !maps.Equal(c.Settings, asked)) {
			if err := a.ready(ctx, c); err != nil {
				return channels.Channel{}, err
			}
			asked = c.Settings
		}
		if err := a.storeChannel(ctx, list, c); !errors.Is(err, errMoved) {
			return c, err
		}
	}
}

// fits checks the bounds of a channel and those of its project, apart from the settings one by one, and returns the sources of
// those that the channel has. What stays as it is passes.
func (a *admin) fits(list []channels.Channel, stored, c channels.Channel, found bool) (sources map[string]string, err error) {
	if c.Name != "" && (!found || c.Name != stored.Name) {
		if err := checks.ValidateName("name", c.Name); err != nil {
			return nil, err
		}
	}
	if !found {
		if err := checks.ValidateCount(len(list), checks.MaxChannels, "channels"); err != nil {
			return nil, err
		}
	}
	sources = maps.Clone(c.Sources)
	maps.DeleteFunc(sources, func(name, _ string) bool { return c.Settings[name] == "" })
	for _, name := range slices.Sorted(maps.Keys(sources)) {
		if sources[name] == stored.Sources[name] {
			continue
		}
		if err := checks.ValidateSource(name, sources[name]); err != nil {
			return nil, err
		}
	}
	c.Sources = sources
	total := sizeOf(c)
	if total <= sizeOf(stored) {
		return sources, nil
	}
	for _, other := range list {
		if other.ID != c.ID {
			total += sizeOf(other)
		}
	}
	if total > checks.MaxSettings {
		return nil, &checks.FieldError{Field: "settings",
			Reason: fmt.Sprintf("are too long: those of all channels of the project would have %d bytes, the maximum is %d", total, checks.MaxSettings)}
	}
	return sources, nil
}

// sizeOf returns the length of a channel's settings and sources in bytes.
func sizeOf(c channels.Channel) (n int) {
	for _, texts := range []map[string]string{c.Settings, c.Sources} {
		for name, text := range texts {
			n += len(name) + len(text)
		}
	}
	return n
}

// storeChannel stores a channel, unless the channels of the project are others than those in the list: errMoved.
func (a *admin) storeChannel(ctx context.Context, list []channels.Channel, c channels.Channel) error {
	return a.Store.Update(ctx, func(ctx context.Context, tx store.Tx) error {
		if _, err := tx.LockAccount(ctx, c.ProjectID); err != nil {
			return err
		}
		now, err := tx.Channels(ctx, store.ChannelFilter{ProjectID: &c.ProjectID})
		if err != nil {
			return err
		}
		if !slices.EqualFunc(now, list, sameChannel) {
			return errMoved
		}
		if err := tx.SaveChannel(ctx, c); err != nil {
			return err
		}
		stored, found := channelByID(list, c.ID)
		if !found {
			return a.note(ctx, tx, aboutChannel(c, "channel.create", a.channelChanges(stored, c)...))
		}
		return a.noteChanged(ctx, tx, aboutChannel(c, "channel.update", a.channelChanges(stored, c)...))
	})
}

// sameChannel reports whether two channels are alike in what users set.
func sameChannel(x, y channels.Channel) bool {
	return x.ID == y.ID && x.Kind == y.Kind && x.Name == y.Name && maps.Equal(x.Settings, y.Settings) && maps.Equal(x.Sources, y.Sources)
}

// ready returns why nobody can deliver to a channel with new settings.
func (a *admin) ready(ctx context.Context, c channels.Channel) error {
	if t := a.typeOf(c.Kind); t.Ready != nil {
		err := t.Ready(ctx, c.Settings)
		if e, ok := errors.AsType[*channels.SettingError](err); ok {
			return &channels.SettingError{Kind: c.Kind, Setting: e.Setting, Reason: e.Reason}
		}
		if _, lacks := errors.AsType[*channels.NotConfiguredError](err); !lacks || !a.Elsewhere {
			return err
		}
	}
	return nil
}

// typeOf returns the type of a kind that Validate knows.
func (a *admin) typeOf(kind channels.Kind) (t channels.Type) {
	for _, known := range a.Types {
		if known.Kind == kind {
			t = known
		}
	}
	return t
}

// newChannel returns a new channel with the identifier, project, kind, name, settings and sources of c.
func (a *admin) newChannel(list []channels.Channel, c channels.Channel) (channels.Channel, error) {
	if _, exists := channelByID(list, c.ID); exists {
		return c, checks.Taken("id", c.ID)
	}
	if c.ID == uuid.Nil {
		c.ID = uuid.New()
	}
	c = channels.Channel{
		ID: c.ID, ProjectID: c.ProjectID, Kind: c.Kind, Name: c.Name, Settings: c.Settings, Sources: c.Sources, CreatedAt: a.Now(),
	}
	var err error
	c.Settings, err = a.ValidSettings(list, c, c.Settings)
	return c, err
}

// ValidSettings returns the settings of a channel as they are stored. What the channel in the list has already passes.
// So does a change that reaches nobody new, such as an address that unsubscribes: all required settings stay.
func (a *admin) ValidSettings(list []channels.Channel, c channels.Channel, settings map[string]string) (map[string]string, error) {
	if c.Kind == "" {
		return nil, &checks.FieldError{Field: "kind", Reason: "is missing"}
	}
	stored, _ := channelByID(list, c.ID)
	valid, err := channels.Validate(a.Types, c.Kind, settings, stored.Settings)
	if e, ok := errors.AsType[*channels.KindError](err); ok {
		return nil, &checks.FieldError{Field: "kind", Reason: strings.TrimPrefix(e.Error(), "kind "), Err: e}
	}
	if err != nil || stored.Settings != nil && maps.Equal(valid, stored.Settings) {
		return valid, err
	}
	sameReceiver := stored.Settings != nil && !slices.ContainsFunc(a.typeOf(c.Kind).Settings, func(s channels.Setting) bool {
		return s.Required && valid[s.Name] != stored.Settings[s.Name]
	})
	if err := a.Configured(c.Kind); err != nil && !a.Elsewhere && !sameReceiver {
		return nil, err
	}
	if c.Kind == channels.Group {
		return selection.Group(list, c.ID, valid)
	}
	return valid, nil
}

// Channels returns the channels of a project, oldest first.
func (a *admin) Channels(ctx context.Context, projectID uuid.UUID) ([]channels.Channel, error) {
	found, err := a.Store.Channels(ctx, store.ChannelFilter{ProjectID: &projectID})
	return found, a.Exists(ctx, projectID, len(found), err)
}

// Channel returns a channel of any project.
func (a *admin) Channel(ctx context.Context, id uuid.UUID) (channels.Channel, error) {
	return one(a.Store.Channels(ctx, store.ChannelFilter{IDs: []uuid.UUID{id}}))
}

// DeleteChannel removes a channel of a project.
func (a *admin) DeleteChannel(ctx context.Context, projectID, id uuid.UUID) error {
	return a.Store.Update(ctx, func(ctx context.Context, tx store.Tx) error {
		if _, err := tx.LockAccount(ctx, projectID); err != nil {
			return err
		}
		all, err := tx.Channels(ctx, store.ChannelFilter{ProjectID: &projectID})
		if err != nil {
			return err
		}
		c, found := channelByID(all, id)
		if !found {
			return checks.ErrNotFound
		}
		if err := a.note(ctx, tx, aboutChannel(c, "channel.delete")); err != nil {
			return err
		}
		return tx.DeleteChannel(ctx, projectID, id)
	})
}

func channelByID(list []channels.Channel, id uuid.UUID) (channels.Channel, bool) {
	return where(list, func(c channels.Channel) bool { return c.ID == id })
}
