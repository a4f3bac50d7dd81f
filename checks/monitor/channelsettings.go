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

// errMoved means that the channels of a project are others than those that a new channel was checked with.
var errMoved = errors.New("the channels have changed")

// saveChannel saves the channel that fn returns for the channels of the project, if fn says so. All checks come before the
// transaction, because pings wait for that, and are repeated if the channels have changed meanwhile.
func (p *Project) saveChannel(
	ctx context.Context, fn func(list []channels.Channel) (c channels.Channel, save bool, err error),
) (channels.Channel, error) {
	var asked map[string]string
	for {
		list, err := p.channels(ctx)
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
		if c.Sources, err = p.fits(list, stored, c, found); err != nil {
			return channels.Channel{}, err
		}
		if same := found && maps.Equal(c.Settings, stored.Settings); !same && (asked == nil || !maps.Equal(c.Settings, asked)) {
			if err := p.ready(ctx, c); err != nil {
				return channels.Channel{}, err
			}
			asked = c.Settings
		}
		if err := p.storeChannel(ctx, list, c); !errors.Is(err, errMoved) {
			return c, err
		}
	}
}

// fits checks the bounds of a channel and those of its project, apart from the settings one by one, and returns the sources of
// those that the channel has. What stays as it is passes.
func (s *service) fits(list []channels.Channel, stored, c channels.Channel, found bool) (sources map[string]string, err error) {
	if c.Name != "" && (!found || c.Name != stored.Name) {
		if err := checks.ValidateName("name", c.Name); err != nil {
			return nil, err
		}
	}
	if !found {
		if err := roomForOne(len(list), checks.MaxChannels, "channels"); err != nil {
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
func (s *service) storeChannel(ctx context.Context, list []channels.Channel, c channels.Channel) error {
	return s.store.Update(ctx, func(ctx context.Context, tx store.Tx) error {
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
		stored, found := channelByID(list, c.ID)
		action := "channel.create"
		if found {
			action = "channel.update"
		}
		change, err := s.note(ctx, tx, aboutChannel(c, action, s.channelChanges(stored, c)...))
		if err != nil {
			return err
		}
		return change.SaveChannel(ctx, c)
	})
}

// sameChannel reports whether two channels are alike in what users set.
func sameChannel(x, y channels.Channel) bool {
	return x.ID == y.ID && x.Kind == y.Kind && x.Name == y.Name && maps.Equal(x.Settings, y.Settings) && maps.Equal(x.Sources, y.Sources)
}

// ready returns why nobody can deliver to a channel with new settings.
func (s *service) ready(ctx context.Context, c channels.Channel) error {
	if t := s.typeOf(c.Kind); t.Ready != nil {
		err := t.Ready(ctx, c.Settings)
		if e, ok := errors.AsType[*channels.SettingError](err); ok {
			return &channels.SettingError{Kind: c.Kind, Setting: e.Setting, Reason: e.Reason}
		}
		if _, lacks := errors.AsType[*channels.NotConfiguredError](err); !lacks || !s.config.DeliveredElsewhere {
			return err
		}
	}
	return nil
}

// typeOf returns the type of a kind that Validate knows.
func (s *service) typeOf(kind channels.Kind) (t channels.Type) {
	for _, known := range s.config.Channels {
		if known.Kind == kind {
			t = known
		}
	}
	return t
}

// newChannel returns a new channel with the identifier, project, kind, name, settings and sources of c.
func (s *service) newChannel(list []channels.Channel, c channels.Channel) (channels.Channel, error) {
	if _, exists := channelByID(list, c.ID); exists {
		return c, taken("id", c.ID)
	}
	if c.ID == uuid.Nil {
		c.ID = uuid.New()
	}
	c = channels.Channel{
		ID: c.ID, ProjectID: c.ProjectID, Kind: c.Kind, Name: c.Name, Settings: c.Settings, Sources: c.Sources, CreatedAt: s.now(),
	}
	var err error
	c.Settings, err = s.validSettings(list, c, c.Settings)
	return c, err
}

// validSettings returns the settings of a channel as they are stored. What the channel in the list has already passes.
// So does a change that reaches nobody new, such as an address that unsubscribes: all required settings stay.
func (s *service) validSettings(list []channels.Channel, c channels.Channel, settings map[string]string) (map[string]string, error) {
	if c.Kind == "" {
		return nil, &checks.FieldError{Field: "kind", Reason: "is missing"}
	}
	stored, _ := channelByID(list, c.ID)
	valid, err := channels.Validate(s.config.Channels, c.Kind, settings, stored.Settings)
	if e, ok := errors.AsType[*channels.KindError](err); ok {
		return nil, &checks.FieldError{Field: "kind", Reason: strings.TrimPrefix(e.Error(), "kind "), Err: e}
	}
	if err != nil || stored.Settings != nil && maps.Equal(valid, stored.Settings) {
		return valid, err
	}
	sameReceiver := stored.Settings != nil && !slices.ContainsFunc(s.typeOf(c.Kind).Settings, func(s channels.Setting) bool {
		return s.Required && valid[s.Name] != stored.Settings[s.Name]
	})
	if err := s.courier.Configured(c.Kind); err != nil && !s.config.DeliveredElsewhere && !sameReceiver {
		return nil, err
	}
	if c.Kind == channels.Group {
		return selection.Group(list, c.ID, valid)
	}
	return valid, nil
}

func channelByID(list []channels.Channel, id uuid.UUID) (channels.Channel, bool) {
	return where(list, func(c channels.Channel) bool { return c.ID == id })
}
