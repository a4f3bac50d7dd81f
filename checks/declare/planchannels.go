package declare

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/channels/prose"
	"github.com/rollcall-dev/rollcall/checks/internal/selection"
)

// channels plans the channels of the project.
func (p *projectPlanner) channels() {
	p.available = slices.Clone(p.have.Channels)
	if p.want.Channels == nil {
		return
	}
	wanted := make(map[string]bool)
	for _, want := range groupsLast(p.want.Channels) {
		wanted[want.Name] = true
		switch found := named(p.have.Channels, want.Name); len(found) {
		case 0:
			p.createChannel(want)
			p.available = append(p.available, channels.Channel{ID: uuid.New(), Name: want.Name, Kind: want.Kind})
		case 1:
			p.compareChannel(want, found[0])
		default:
			p.add(want.places.of("name"), "%d channels of the project %q have the name %q; only one may have it", len(found), p.want.Name, want.Name)
		}
	}
	if !p.options.Prune || p.options.Tag != "" {
		return
	}
	p.available = slices.DeleteFunc(p.available, func(c channels.Channel) bool {
		if wanted[c.Name] || c.Name == "" || len(named(p.have.Channels, c.Name)) > 1 {
			return false
		}
		p.deleteChannel(c)
		return true
	})
}

// groupsLast moves groups behind the other channels, because the members of a group must exist first.
func groupsLast(list []Channel) []Channel {
	var groups, others []Channel
	for _, c := range list {
		if c.Kind == channels.Group {
			groups = append(groups, c)
		} else {
			others = append(others, c)
		}
	}
	return append(others, groups...)
}

func named(list []channels.Channel, name string) []channels.Channel {
	var found []channels.Channel
	for _, c := range list {
		if c.Name == name {
			found = append(found, c)
		}
	}
	return found
}

func (p *projectPlanner) createChannel(want Channel) {
	if !p.admin {
		p.change(want.places.of("name"), Change{Action: Create, Type: "channel", Name: want.Name}) // reports an error
		return
	}
	valid, ok := p.validate(want, want.values(), nil)
	if !ok {
		return
	}
	if want.Kind == channels.Group {
		p.compareGroup(want, channels.Channel{}, valid) // reports unknown members
	}
	fields := append([]Field{{Name: "kind", New: string(want.Kind)}}, p.compareSettings(want, channels.Channel{}, valid)...)
	p.change(want.places.of("name"), Change{
		Action: Create, Type: "channel", Name: want.Name, Fields: fields,
		run: func(ctx context.Context, a *applying, projectID uuid.UUID) error {
			c := channels.Channel{Kind: want.Kind, Name: want.Name, Settings: valid, Sources: want.sources()}
			_, _, err := a.admin(projectID).UpsertChannel(ctx, c) // so that two programs that apply the same file at once create only one
			return err
		},
	})
}

func (p *projectPlanner) compareChannel(want Channel, have channels.Channel) {
	if want.Kind != have.Kind {
		p.add(want.places.of("kind"), "the channel %q has the kind %s, which cannot be changed; delete the channel first", want.Name, have.Kind)
		return
	}
	if p.have.SettingsHidden {
		if len(want.Settings) > 0 {
			p.note("the API does not show the settings of the channel %q, so the plan does not compare them", want.Name)
		}
		return
	}
	have = unhidden(have)
	values := want.values()
	for name, value := range have.Settings {
		if _, given := values[name]; !given && p.secret(want.Kind, name) {
			values[name] = value
		}
	}
	valid, ok := p.validate(want, values, have.Settings)
	if !ok {
		return
	}
	fields := p.compareSettings(want, have, valid)
	if want.Kind == channels.Group {
		fields = p.compareGroup(want, have, valid)
	}
	if len(fields) == 0 {
		return
	}
	if !p.keepHidden(want, have, valid) {
		return
	}
	p.change(want.places.of("settings"), Change{
		Action: Update, Type: "channel", Name: want.Name, Fields: fields,
		run: func(ctx context.Context, a *applying, projectID uuid.UUID) error {
			_, err := a.admin(projectID).UpdateChannel(ctx, have.ID, func(saved channels.Channel) (channels.Channel, error) {
				saved.Settings, saved.Sources = valid, want.sources()
				return saved, nil
			})
			return err
		},
	})
}

// keepHidden takes out of the new settings of a channel what keeps a value that the target does not show, and sets what
// loses such a value to "". It reports an error if the change could send a kept secret elsewhere, as far as the plan can
// tell.
func (p *projectPlanner) keepHidden(want Channel, have channels.Channel, settings map[string]string) (ok bool) {
	if len(have.Hidden) == 0 {
		return true
	}
	known := maps.Clone(settings)
	for _, name := range have.Hidden {
		switch settings[name] {
		case hiddenValue:
			delete(settings, name)
			delete(known, name)
		case "":
			settings[name] = ""
		default:
			known[name] = hiddenValue // which counts as equal
		}
	}
	given := func(name string) bool { _, given := settings[name]; return given }
	_, err := typeOf(p.have.Types, have.Kind).Merge(have, known, given)
	if err != nil {
		p.add(want.places.of("settings"), "%v", err)
	}
	return err == nil
}

func (p *projectPlanner) deleteChannel(have channels.Channel) {
	p.change(p.want.places.of("channels"), Change{
		Action: Delete, Type: "channel", Name: have.Name,
		run: func(ctx context.Context, a *applying, projectID uuid.UUID) error {
			return a.admin(projectID).DeleteChannel(ctx, have.ID)
		},
	})
}

// validate returns the settings of a channel as they are stored. It reports an error.
func (p *projectPlanner) validate(want Channel, values, stored map[string]string) (valid map[string]string, ok bool) {
	valid, err := channels.Validate(p.have.Types, want.Kind, values, stored)
	kind, unknown := errors.AsType[*channels.KindError](err)
	switch {
	case unknown && stored != nil:
		p.add(want.places.of("settings"), "the settings of the channel %q cannot change: the kind %s is unknown here", want.Name, want.Kind)
	case unknown:
		known := make([]string, len(kind.Known))
		for i, k := range kind.Known {
			known[i] = string(k)
		}
		if similar := prose.Similar(string(want.Kind), slices.Values(known)); similar != "" {
			p.add(want.places.of("kind"), "kind is unknown: %q; did you mean %q?", want.Kind, similar)
			break
		}
		p.add(want.places.of("kind"), "%v", err)
	case err != nil:
		p.add(want.places.of("settings"), "%v", err)
	}
	return valid, err == nil
}

// secret reports whether a setting is secret. It is unless its kind says otherwise.
func (p *projectPlanner) secret(kind channels.Kind, name string) bool {
	settings := typeOf(p.have.Types, kind).AllSettings()
	i := slices.IndexFunc(settings, func(s channels.Setting) bool { return s.Name == name })
	return i < 0 || settings[i].Secret
}

// typeOf returns the type of a kind. That of an unknown kind has only the settings of every kind.
func typeOf(types []channels.Type, kind channels.Kind) channels.Type {
	found := channels.Type{Kind: kind}
	for _, t := range types {
		if t.Kind == kind {
			found = t
		}
	}
	return found
}

// hiddenValue stands for the value of a setting that the target does not show. No valid value has a NUL.
const hiddenValue = "\x00"

// unhidden returns a channel whose settings have hiddenValue where the target does not show the value.
func unhidden(c channels.Channel) channels.Channel {
	settings := make(map[string]string)
	maps.Copy(settings, c.Settings)
	for _, name := range c.Hidden {
		settings[name] = hiddenValue
	}
	c.Settings = settings
	return c
}

// compareSettings returns the settings that differ. It hides values that are secret or have a source. It hides all old
// values, because they may have been either. A value that the target does not show counts as equal, with a note.
func (p *projectPlanner) compareSettings(want Channel, have channels.Channel, now map[string]string) []Field {
	either := maps.Clone(now)
	maps.Copy(either, have.Settings)
	var fields []Field
	var unknown []string
	for _, name := range slices.Sorted(maps.Keys(either)) {
		source := want.Settings[name].Source
		sameSource := p.secret(want.Kind, name) || have.Sources[name] == source // an export hides a secret with or without its source
		before, after := have.Settings[name], now[name]
		isUnknown := sameSource && before == hiddenValue && after != "" && after != hiddenValue && !p.options.ResendSecrets
		if isUnknown {
			unknown = append(unknown, name)
		}
		if isUnknown || before == after && sameSource {
			continue
		}
		f := Field{Name: name, New: quoted(now[name])}
		if have.Settings[name] != "" {
			f.Old = "(hidden)"
		}
		if source != "" {
			f.New = "(" + source + ")"
		} else if p.secret(want.Kind, name) && f.New != "" {
			f.New = "(secret)"
		}
		fields = append(fields, f)
	}
	if len(unknown) > 0 {
		p.note("the API shows no secrets, so the plan does not compare %s of the channel %q", strings.Join(unknown, " and "), want.Name)
	}
	return fields
}

// compareGroup returns the difference between the members that a file names and those of a group. It ignores deleted
// members.
func (p *projectPlanner) compareGroup(want Channel, have channels.Channel, settings map[string]string) []Field {
	resolved, err := selection.Group(p.available, have.ID, settings)
	if err != nil {
		p.add(want.places.of("settings"), "%v", err)
		return nil
	}
	before := p.members(have)
	after := p.members(channels.Channel{Settings: resolved})
	if slices.Equal(before, after) {
		return nil
	}
	f := Field{Name: "channels", New: p.names(after)}
	if len(before) > 0 {
		f.Old = p.names(before)
	}
	return []Field{f}
}

// members returns the existing members of a group, in the order of the channels.
func (p *projectPlanner) members(group channels.Channel) []uuid.UUID {
	list := setOf(selection.Members(group))
	var ids []uuid.UUID
	for _, c := range p.available {
		if list[c.ID] {
			ids = append(ids, c.ID)
		}
	}
	return ids
}
