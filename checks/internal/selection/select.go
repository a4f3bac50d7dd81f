// Package selection resolves the texts that select channels: those of checks and those of groups.
package selection

import (
	"errors"
	"fmt"
	"maps"
	"strings"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/channels/prose"
)

// groupSetting is the setting of a group that lists the members, and maxSetting its maximum length.
const groupSetting, maxSetting = "channels", 10_000

// Select resolves the parameter channels of server/API.md sections 4.3 (rule 3) and 4.4 to the identifiers of channels.
// The selection is one of:
//
//   - "*": every channel in available;
//   - the empty text: none;
//   - a comma-separated list of UUIDs, with four hyphens and in any case, or of names, which match exactly. White space
//     counts: "Ops, Dev" selects the names "Ops" and " Dev".
//
// If an item is the UUID of one channel and the name of another, the UUID counts. A list may name a channel twice.
//
// Select returns every selected identifier once, in the order of available, and never nil. It returns a [*channels.SelectError]
// about the first item that is empty, matches no channel, or is the name of several.
func Select(available []channels.Channel, selection string) ([]uuid.UUID, error) {
	ids := make([]uuid.UUID, 0, len(available))
	chosen := make([]bool, len(available))
	if selection != "" && selection != "*" {
		if err := choose(chosen, available, selection); err != nil {
			return nil, err
		}
	}
	for i, c := range available {
		if selection == "*" || chosen[i] {
			ids = append(ids, c.ID)
		}
	}
	return ids, nil
}

// choose marks in chosen the channels in the list.
func choose(chosen []bool, available []channels.Channel, list string) error {
	byID := make(map[uuid.UUID]int, len(available))
	byName := make(map[string][]int, len(available))
	for i, c := range available {
		byID[c.ID] = i
		byName[c.Name] = append(byName[c.Name], i)
	}
	for item := range strings.SplitSeq(list, ",") {
		if item == "" {
			return &channels.SelectError{Item: item, Reason: "empty identifier"}
		}
		if id, ok := parseUUID(item); ok {
			if i, found := byID[id]; found {
				chosen[i] = true
				continue
			}
		}
		switch named := byName[item]; len(named) {
		case 0:
			return &channels.SelectError{Item: item, Reason: fmt.Sprintf("no integration has the id or name %q", cut(item))}
		case 1:
			chosen[named[0]] = true
		default:
			return &channels.SelectError{
				Item:   item,
				Reason: fmt.Sprintf("%d integrations have the name %q, use the id", len(named), cut(item)),
			}
		}
	}
	return nil
}

// parseUUID accepts the form with four hyphens only; [uuid.Parse] accepts others.
func parseUUID(text string) (uuid.UUID, bool) {
	if len(text) != len(uuid.UUID{}.String()) {
		return uuid.UUID{}, false
	}
	id, err := uuid.Parse(text)
	return id, err == nil
}

// Group returns the settings of a group to store: it resolves the selection with [Select] and replaces it with
// the identifiers of the members. The group's own identifier is id; available are the channels of the project, with or
// without the group. "*" selects every channel that is not a group.
//
// The error is a [*channels.SettingError] if Select refuses the selection, or if the selection contains the group itself, another
// group or no channel.
func Group(available []channels.Channel, id uuid.UUID, settings map[string]string) (map[string]string, error) {
	refuse := func(reason string) error {
		return &channels.SettingError{Kind: channels.Group, Setting: groupSetting, Reason: reason}
	}
	selection := settings[groupSetting]
	ids, err := Select(available, selection)
	if problem, bad := errors.AsType[*channels.SelectError](err); bad {
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
		case c.Kind != channels.Group:
			members = append(members, c.ID.String())
		case selection == "*":
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
	if len(text) > maxSetting {
		return nil, refuse(fmt.Sprintf("selects too many integrations: %d, the maximum is %d", len(members), (maxSetting+1)/37))
	}
	resolved := maps.Clone(settings)
	resolved[groupSetting] = text
	return resolved, nil
}

// Members returns the members of a group whose settings [Group] made. The result is not nil. Members may
// have been deleted since.
func Members(c channels.Channel) []uuid.UUID {
	ids := []uuid.UUID{}
	for item := range strings.SplitSeq(c.Settings[groupSetting], ",") {
		if id, ok := parseUUID(item); ok {
			ids = append(ids, id)
		}
	}
	return ids
}

// cut shortens user input for an error.
func cut(text string) string { return prose.Brief(text, 200) }
