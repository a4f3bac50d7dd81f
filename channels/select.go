package channels

import (
	"fmt"
	"strings"

	"github.com/google/uuid"
)

// All is the selection of every channel of the project.
const All = "*"

// A SelectError says which item of a selection is wrong, and why. Its text may be shown to the user who sent it.
type SelectError struct {
	// Item is the text between two commas, as given.
	Item string
	// Reason says what is wrong and names the item.
	Reason string
}

// Error returns the reason after the name of the parameter, such as `channels: no integration has the id or name "x"`.
func (e *SelectError) Error() string { return "channels: " + e.Reason }

// Select resolves the parameter channels of server/API.md sections 4.3 (rule 3) and 4.4 to the identifiers of channels.
// The selection is one of:
//
//   - [All], "*": every channel in available;
//   - the empty text: none;
//   - a comma-separated list of UUIDs, with four hyphens and in any case, or of names, which match exactly. White space
//     counts: "Ops, Dev" selects the names "Ops" and " Dev".
//
// If an item is the UUID of one channel and the name of another, the UUID counts. A list may name a channel twice.
//
// Select returns every selected identifier once, in the order of available, and never nil. It returns a [*SelectError]
// about the first item that is empty, matches no channel, or is the name of several.
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

// choose marks in chosen the channels in the list.
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

// parseUUID accepts the form with four hyphens only; [uuid.Parse] accepts others.
func parseUUID(text string) (uuid.UUID, bool) {
	if len(text) != len(uuid.UUID{}.String()) {
		return uuid.UUID{}, false
	}
	id, err := uuid.Parse(text)
	return id, err == nil
}

// cut shortens user input for an error.
func cut(text string) string {
	const most = 200
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}
