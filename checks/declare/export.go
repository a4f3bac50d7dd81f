package declare

import (
	"fmt"
	"strings"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
)

// Export returns what there is of a project in the form of a file. Settings that have their default are left out, and
// so are secret ones. Checks without a slug of their own and channels without a name of their own cannot be in a file;
// comments of [Document.Write] tell of them. The kinds are those of the channels; nil stands for [channels.Kinds].
func Export(state State, kinds []channels.KindInfo) Project {
	if kinds == nil {
		kinds = channels.Kinds()
	}
	p := Project{Name: state.Project.Name, Plan: state.Project.Plan, Checks: []Check{}}
	if state.Project.Account != checks.DefaultAccount {
		p.Account = state.Project.Account
	}
	if state.Project.MaxChecks > 0 {
		p.MaxChecks = new(state.Project.MaxChecks)
	}
	if state.SettingsHidden {
		if len(state.Channels) > 0 {
			p.remarks = append(p.remarks, "Left out: the channels, whose settings cannot be seen through the interface of a server.")
		}
	} else {
		p.Channels = []Channel{}
		for _, c := range state.Channels {
			if c.Name == "" || countNamed(state.Channels, c.Name) > 1 {
				p.remarks = append(p.remarks, fmt.Sprintf("Left out, without a name of its own: the %s channel %q (%s).", c.Kind, c.Name, c.ID))
				continue
			}
			p.Channels = append(p.Channels, exportChannel(c, kinds, state.Channels))
		}
	}
	slugs := make(map[string]int)
	for _, c := range state.Checks {
		slugs[c.Slug]++
	}
	for _, c := range state.Checks {
		if c.Slug == "" || slugs[c.Slug] > 1 {
			p.remarks = append(p.remarks, fmt.Sprintf("Left out, without a slug of its own: the check %q (%s).", c.Name, c.ID))
			continue
		}
		p.Checks = append(p.Checks, exportCheck(c, state.Channels))
	}
	return p
}

// Remarks are sentences about what [Export] had to leave out.
func (p Project) Remarks() []string { return p.remarks }

func exportChannel(c channels.Channel, kinds []channels.KindInfo, available []channels.Channel) Channel {
	out := Channel{Name: c.Name, Kind: c.Kind, Settings: make(map[string]Setting)}
	if c.Kind == channels.Group {
		c.Settings = namedMembers(available, c)
	}
	left := make(map[string]string, len(c.Settings))
	for name, value := range c.Settings {
		left[name] = value
	}
	for _, kind := range kinds {
		if kind.Kind != c.Kind {
			continue
		}
		for _, s := range kind.Settings {
			value := left[s.Name]
			delete(left, s.Name)
			switch {
			case value == "" || value == s.Default:
			case s.Secret:
				out.remarks = append(out.remarks, fmt.Sprintf("%s is secret and left out; it stays as it is until it is given, as %s: {env: NAME}", s.Name, s.Name))
			default:
				out.Settings[s.Name] = Setting{Value: value}
			}
		}
	}
	for name := range left { // of a kind that is not known here; anything of it may be secret
		out.remarks = append(out.remarks, fmt.Sprintf("%s is left out, because the kind is not known", name))
	}
	return out
}

func exportCheck(c checks.Check, available []channels.Channel) Check {
	out := Check{}
	defaults := checks.Check{Timeout: checks.DefaultTimeout, Grace: checks.DefaultGrace, TZ: checks.DefaultTZ}
	_, out.Spec = Compare(defaults, c)
	if !c.IsCron() {
		out.Timeout = &c.Timeout
	} else {
		out.TZ = &c.TZ
	}
	out.Slug, out.Grace = &c.Slug, &c.Grace
	if len(c.Channels) > 0 {
		out.Channels = new(strings.Join(references(available, c.Channels), ","))
	}
	return out
}

// references returns how a check names its channels.
func references(available []channels.Channel, ids []uuid.UUID) []string {
	var list []string
	for _, c := range available {
		for _, id := range ids {
			if id == c.ID {
				list = append(list, reference(available, c))
			}
		}
	}
	return list
}
