package channels

import (
	"errors"
	"fmt"
	"maps"
	"strings"

	"github.com/google/uuid"
)

// Group is the kind that stands for other channels of the project: each member gets the alert once.
const Group Kind = "group"

// GroupSetting is the setting of a group that lists the members.
const GroupSetting = "channels"

// GroupType returns the type of the kind [Group]. Monitors and package standard list it: a monitor delivers to the members.
func GroupType() Type {
	return Type{
		Kind: Group, Title: "Group of integrations", Category: CategoryGroups,
		Doc: "Stands for several other integrations of the project. Each gets the alerts to the group, " +
			"and none gets the same alert twice.",
		Settings: []Setting{{
			Name: GroupSetting,
			Doc: "The names or IDs of the integrations, separated by commas, or * for all that exist now. " +
				"None of them can be a group.",
			Required: true, KeepsSecrets: true,
		}},
	}
}

// ResolveGroup returns the settings of a group to store: it resolves the selection with [Select] and replaces it with
// the identifiers of the members. The group's own identifier is id; available are the channels of the project, with or
// without the group. [All] selects every channel that is not a group.
//
// The error is a [*SettingError] if Select refuses the selection, or if the selection contains the group itself, another
// group or no channel.
func ResolveGroup(available []Channel, id uuid.UUID, settings map[string]string) (map[string]string, error) {
	refuse := func(reason string) error {
		return &SettingError{Kind: Group, Setting: GroupSetting, Reason: reason}
	}
	selection := settings[GroupSetting]
	ids, err := Select(available, selection)
	if problem, bad := errors.AsType[*SelectError](err); bad {
		return nil, refuse("cannot be used: " + problem.Reason)
	}
	selected := make(map[uuid.UUID]bool, len(ids))
	for _, member := range ids {
		selected[member] = true
	}
	var members []string
	for _, c := range available {
		switch {
		case !selected[c.ID]:
		case c.Kind != Group:
			members = append(members, c.ID.String())
		case selection == All:
		case c.ID == id:
			return nil, refuse("contains the group itself")
		default:
			return nil, refuse(fmt.Sprintf("contains the group %q, a group cannot be in a group", cut(c.Name)))
		}
	}
	if len(members) == 0 {
		return nil, refuse("selects no integration")
	}
	text := strings.Join(members, ",")
	if len(text) > MaxSetting {
		return nil, refuse(fmt.Sprintf("selects too many integrations: %d, the maximum is %d", len(members), (MaxSetting+1)/37))
	}
	resolved := maps.Clone(settings)
	resolved[GroupSetting] = text
	return resolved, nil
}

// GroupMembers returns the members of a group whose settings [ResolveGroup] made. The result is not nil. Members may
// have been deleted since.
func GroupMembers(c Channel) []uuid.UUID {
	ids := []uuid.UUID{}
	for item := range strings.SplitSeq(c.Settings[GroupSetting], ",") {
		if id, ok := parseUUID(item); ok {
			ids = append(ids, id)
		}
	}
	return ids
}
