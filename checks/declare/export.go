package declare

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/gate"
	"github.com/rollcall-dev/rollcall/checks/internal/selection"
)

// Export returns a project as a file describes it. It leaves out defaults and secret settings, and replaces values from
// a source by the source. It also leaves out checks without a unique slug and channels without a unique name;
// [Document.Write] lists them in comments. A setting counts as secret unless the state has the type of its kind. Applying
// the file keeps what it leaves out.
func Export(state State) Project {
	p := Project{Name: state.Project.Name, Plan: state.Project.Plan}
	if state.Project.Account != "default" {
		p.Account = state.Project.Account
	}
	if state.Project.MaxChecks > 0 {
		p.MaxChecks = new(state.Project.MaxChecks)
	}
	if storm := state.Project.Storm; storm != gate.DefaultStorm() && !state.SettingsHidden {
		p.StormChecks, p.StormWindow = &storm.Checks, &storm.Window
	}
	if state.SettingsHidden {
		p.remark("Left out: the channels and the status pages, which the API shows only to admin keys.")
	}
	for _, l := range projectLists {
		l.export(&p, state)
	}
	return p
}

func (p *Project) exportChecks(state State) {
	p.Checks = []Check{}
	slugs := make(map[string]int)
	for _, c := range state.Checks {
		slugs[c.Slug]++
	}
	for _, c := range state.Checks {
		if c.Slug == "" || slugs[c.Slug] > 1 {
			p.remark("Left out, because it has no unique slug: the check %q (%s).", c.Name, c.ID)
			continue
		}
		p.Checks = append(p.Checks, exportCheck(c, state.Channels))
	}
}

// Remarks returns sentences about what [Export] left out.
func (p Project) Remarks() []string { return p.remarks }

func (p *Project) remark(format string, args ...any) {
	p.remarks = append(p.remarks, fmt.Sprintf(format, args...))
}

func (p *Project) exportChannels(state State) {
	if state.SettingsHidden {
		return
	}
	p.Channels = []Channel{}
	for _, c := range state.Channels {
		if c.Name == "" || len(named(state.Channels, c.Name)) > 1 {
			p.remark("Left out, because it has no unique name: the %s channel %q (%s).", c.Kind, c.Name, c.ID)
			continue
		}
		p.Channels = append(p.Channels, exportChannel(c, state.Types, state.Channels))
	}
}

func exportChannel(c channels.Channel, types []channels.Type, available []channels.Channel) Channel {
	out := Channel{Name: c.Name, Kind: c.Kind, Settings: make(map[string]Setting)}
	left := unhidden(c).Settings
	if c.Kind == channels.Group {
		members := strings.Join(references(available, selection.Members(c)), ",")
		left["channels"] = members
	}
	for _, s := range typeOf(types, c.Kind).AllSettings() {
		value, source := left[s.Name], c.Sources[s.Name]
		delete(left, s.Name)
		switch {
		case value == "":
		case s.Secret:
			out.remarks = append(out.remarks, fmt.Sprintf("%s is secret and left out. A channel that exists keeps its value; for a new one, or to change it, add %s: {env: NAME}", s.Name, s.Name))
		case source != "":
			out.Settings[s.Name] = Setting{Source: source}
		case value != s.Default:
			out.Settings[s.Name] = Setting{Value: value}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(left)) {
		out.remarks = append(out.remarks, fmt.Sprintf("%s is left out, because it may be secret: the kind %s is unknown here. A channel that exists keeps its value", name, c.Kind))
	}
	return out
}

func exportCheck(c checks.Check, available []channels.Channel) Check {
	out := Check{}
	_, out.Spec = Compare(checks.Check{Settings: checks.Defaults()}, c)
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
