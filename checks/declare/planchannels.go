package declare

import (
	"slices"
	"strconv"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
)

// channels plans the channels of a project and returns those that there will be. New ones have identifiers that are
// made up.
func (p *planner) channels(project Project, state State) []channels.Channel {
	available := slices.Clone(state.Channels)
	if project.Channels == nil {
		return available
	}
	wanted := make(map[string]bool)
	for _, want := range groupsLast(project.Channels) {
		wanted[want.Name] = true
		var found []channels.Channel
		for _, have := range state.Channels {
			if have.Name == want.Name {
				found = append(found, have)
			}
		}
		switch len(found) {
		case 0:
			p.createChannel(project, want, available)
			available = append(available, channels.Channel{ID: uuid.New(), Name: want.Name, Kind: want.Kind})
		case 1:
			p.compareChannel(project, want, found[0], available, state.SettingsHidden)
		default:
			p.add(want.places.of("name"), "%d channels of the project %q have the name %q", len(found), project.Name, want.Name)
		}
	}
	if !p.options.Prune {
		return available
	}
	return slices.DeleteFunc(available, func(c channels.Channel) bool {
		if wanted[c.Name] || c.Name == "" || countNamed(state.Channels, c.Name) > 1 {
			return false
		}
		p.deleteChannel(project, c)
		return true
	})
}

func countNamed(list []channels.Channel, name string) int {
	n := 0
	for _, c := range list {
		if c.Name == name {
			n++
		}
	}
	return n
}

// compareChannel plans the change of a channel's settings.
func (p *planner) compareChannel(project Project, want Channel, have channels.Channel, available []channels.Channel, hidden bool) {
	if want.Kind != have.Kind {
		p.add(want.places.of("kind"), "the channel %q is of the kind %s, which cannot be changed; delete it first", want.Name, have.Kind)
		return
	}
	if hidden {
		if len(want.Settings) > 0 {
			p.note("the settings of the channel %q cannot be seen through the interface of a server, and were not compared", want.Name)
		}
		return
	}
	values := want.values()
	secret := p.secrets(want)
	for name, value := range have.Settings {
		if _, given := values[name]; !given && secret[name] {
			values[name] = value
		}
	}
	valid, err := channels.Validate(p.options.Kinds, want.Kind, values)
	if err != nil {
		p.add(want.places.of("settings"), "%v", err)
		return
	}
	fields := p.compareSettings(want, have.Settings, valid)
	if want.Kind == channels.Group {
		fields = p.compareGroup(want, have, valid, available)
	}
	if len(fields) > 0 {
		p.updateChannel(project, want, have.ID, valid, fields)
	}
}

// secrets returns the settings of a channel that are not to be shown.
func (p *planner) secrets(c Channel) map[string]bool {
	secret := make(map[string]bool)
	for _, kind := range p.options.Kinds {
		for _, s := range kind.Settings {
			if kind.Kind == c.Kind && s.Secret {
				secret[s.Name] = true
			}
		}
	}
	return secret
}

// compareSettings returns the settings that differ, without values that are secret or come from outside the file. An
// old value may have come from outside as well.
func (p *planner) compareSettings(want Channel, old, now map[string]string) []Field {
	secret := p.secrets(want)
	names := make([]string, 0, len(now))
	for name := range now {
		names = append(names, name)
	}
	for name := range old {
		if _, both := now[name]; !both {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	var fields []Field
	for _, name := range names {
		if old[name] == now[name] {
			continue
		}
		f := Field{Name: name, Old: masked(old[name], "(hidden)"), New: quoted(now[name])}
		switch source := want.Settings[name].Source; {
		case source != "":
			f.New = "(" + source + ")"
		case secret[name]:
			f.New = masked(now[name], "(secret)")
		}
		fields = append(fields, f)
	}
	return fields
}

func quoted(value string) string {
	if value == "" {
		return ""
	}
	return strconv.Quote(value)
}

// masked returns a word in place of a value, unless there is none.
func masked(value, word string) string {
	if value == "" {
		return ""
	}
	return word
}
