package store

import (
	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
)

// Setup is one thing that people set up: the field that is not nil.
type Setup struct {
	Project    *checks.Project
	First      bool // Save adds the Project only if there is none yet
	Key        *checks.Key
	Channel    *channels.Channel
	StatusPage *checks.StatusPage
	// Check is a locked check. Only Delete takes it: SaveChecks writes checks.
	Check *Locked
}
