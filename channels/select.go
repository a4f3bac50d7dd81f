package channels

import (
	"fmt"
	"strings"

	"github.com/google/uuid"
)

// All is the selection that stands for every channel of the project.
const All = "*"

// A SelectError tells which item of a selection is wrong, and why. Its text is
// fit to be shown to the sender of the selection.
type SelectError struct {
	// Item is the item as it was given: the text between two commas.
	Item string
	// Reason says what is wrong and names the item.
	Reason string
}

// Error returns the reason after "channels: ", the name of the parameter, such
// as `channels: no integration has the id or name "x"`.
func (e *SelectError) Error() string { return "channels: " + e.Reason }

// Select resolves the parameter channels of API-V3.md sections 4.3 (rule 3) and
// 4.4 to the identifiers of channels. The selection is one of:
//
//   - [All], that is "*": every channel in available;
//   - the empty text: none;
//   - a comma-separated list whose items are UUIDs, in the form with four
//     hyphens and in any case, or names of channels, which match exactly. White
//     space counts: "Ops, Dev" asks for the names "Ops" and " Dev".
//
// An item that is the identifier of a channel means that channel even if
// another one has it for a name. A list may name a channel twice.
//
// Select returns every selected identifier once, in the order of available,
// and a slice that is not nil. An item that is empty, that matches no channel,
// or whose name several channels have is a [*SelectError]; it tells of the first
// such item.
func Select(available []Channel, selection string) ([]uuid.UUID, error) {
	ids := make([]uuid.UUID, 0, len(available))
	chosen := make([]bool, len(available))
	if selection != "" && selection != All {
		if err := choose(chosen, available, selection); err != nil {
			return nil, err
		}
	}
	for i, c := range available {
		if selection == All || chosen[i] {
			ids = append(ids, c.ID)
		}
	}
	return ids, nil
}

// choose sets the elements of chosen whose channel is in the list.
func choose(chosen []bool, available []Channel, list string) error {
	byID := make(map[uuid.UUID]int, len(available))
	byName := make(map[string][]int, len(available))
	for i, c := range available {
		byID[c.ID] = i
		byName[c.Name] = append(byName[c.Name], i)
	}
	for item := range strings.SplitSeq(list, ",") {
		if item == "" {
			return &SelectError{Item: item, Reason: "empty identifier"}
		}
		if id, ok := parseUUID(item); ok {
			if i, found := byID[id]; found {
				chosen[i] = true
				continue
			}
		}
		switch named := byName[item]; len(named) {
		case 0:
			return &SelectError{Item: item, Reason: fmt.Sprintf("no integration has the id or name %q", cut(item))}
		case 1:
			chosen[named[0]] = true
		default:
			return &SelectError{
				Item:   item,
				Reason: fmt.Sprintf("%d integrations have the name %q, use the id", len(named), cut(item)),
			}
		}
	}
	return nil
}

// parseUUID parses the form with four hyphens only; [uuid.Parse] knows others.
func parseUUID(text string) (uuid.UUID, bool) {
	if len(text) != len(uuid.UUID{}.String()) {
		return uuid.UUID{}, false
	}
	id, err := uuid.Parse(text)
	return id, err == nil
}

// cut shortens a text of a user for an error.
func cut(text string) string {
	const most = 200
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}
