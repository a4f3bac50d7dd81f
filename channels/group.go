package channels

import (
	"errors"
	"fmt"
	"strings"

	"github.com/google/uuid"
)

// Group stands for several other channels of the project: an alert to a group
// goes to each of its members, and to each of them once.
const Group Kind = "group"

// groupMembers is the setting of a group that names its members.
const groupMembers = "channels"

func groupKind() KindInfo {
	return KindInfo{
		Kind: Group,
		Doc: "Stands for several other channels of the project. Each gets the alerts to the group, " +
			"and none gets the same alert twice.",
		Settings: []Setting{{
			Name: groupMembers,
			Doc: "The names or ids of the channels, separated by commas, or * for all that there are now. " +
				"None of them can be a group.",
			Required: true,
		}},
	}
}

// ResolveGroup returns the settings of a group as they are stored: with the
// identifiers of the members in place of what selects them, which [Select]
// reads. The channels of the project are in available, with or without the group
// itself, and id is that of the group. All stands for every channel that is not
// a group.
//
// The error is a [*SettingError] when the selection is refused by Select, has
// the group itself or another group, or selects nothing.
func ResolveGroup(available []Channel, id uuid.UUID, settings map[string]string) (map[string]string, error) {
	refuse := func(reason string) error {
		return &SettingError{Kind: Group, Setting: groupMembers, Reason: reason}
	}
	selection := settings[groupMembers]
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
			return nil, refuse("has the group itself")
		default:
			return nil, refuse(fmt.Sprintf("has the group %q, a group cannot be in a group", cut(c.Name)))
		}
	}
	if len(members) == 0 {
		return nil, refuse("selects no channel")
	}
	text := strings.Join(members, ",")
	if len(text) > MaxSetting {
		return nil, refuse(fmt.Sprintf("selects too many channels: %d, the maximum is %d", len(members), (MaxSetting+1)/37))
	}
	return map[string]string{groupMembers: text}, nil
}

// GroupMembers returns the identifiers of the members of a group whose settings
// [ResolveGroup] has made. The result is not nil. Members may have been deleted
// since.
func GroupMembers(c Channel) []uuid.UUID {
	ids := []uuid.UUID{}
	for item := range strings.SplitSeq(c.Settings[groupMembers], ",") {
		if id, ok := parseUUID(item); ok {
			ids = append(ids, id)
		}
	}
	return ids
}
