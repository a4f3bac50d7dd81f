package declare

import (
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
)

// groupsLast returns channels in an order in which they can be made: groups after those that may be their members.
func groupsLast(list []Channel) []Channel {
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b Channel) int { return rank(a) - rank(b) })
	return list
}

func rank(c Channel) int {
	if c.Kind == channels.Group {
		return 1
	}
	return 0
}

// compareGroup returns the field in which the members of a group differ, which a file names and a group has as
// identifiers. The channels that there will be are in available. Members that are gone make no difference.
func (p *planner) compareGroup(want Channel, have channels.Channel, settings map[string]string, available []channels.Channel) []Field {
	resolved, err := channels.ResolveGroup(available, have.ID, settings)
	if err != nil {
		p.add(want.places.of("settings"), "%v", err)
		return nil
	}
	before := members(available, have)
	after := members(available, channels.Channel{Settings: resolved})
	if slices.Equal(before, after) {
		return nil
	}
	f := Field{Name: "channels", New: names(available, after)}
	if len(before) > 0 {
		f.Old = names(available, before)
	}
	return []Field{f}
}

// members returns the members of a group that exist, in the order of the channels.
func members(available []channels.Channel, group channels.Channel) []uuid.UUID {
	list := channels.GroupMembers(group)
	ids := []uuid.UUID{}
	for _, c := range available {
		if slices.Contains(list, c.ID) {
			ids = append(ids, c.ID)
		}
	}
	return ids
}

// namedMembers returns the settings of a group with names in place of identifiers, where names are unique.
func namedMembers(available []channels.Channel, group channels.Channel) map[string]string {
	settings := make(map[string]string, len(group.Settings))
	for name := range group.Settings {
		settings[name] = strings.Join(references(available, channels.GroupMembers(group)), ",")
	}
	return settings
}
