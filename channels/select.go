package channels

import (
	"strconv"
	"strings"
)

// A SelectError says which item of a selection is wrong, and why. Its text may be shown to the user who sent it.
type SelectError struct {
	// Item is the text between two commas, as given.
	Item string
	// Reason says what is wrong and names the item.
	Reason string
}

// Error returns the reason after the name of the parameter, such as `channels: no integration has the id or name "x"`.
func (e *SelectError) Error() string { return "channels: " + e.Reason }

// cut shortens user input for an error.
func cut(text string) string {
	const most = 200
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "… (" + strconv.Itoa(len(text)) + " bytes)"
}
