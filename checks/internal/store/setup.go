package store

import (
	"crypto/sha256"

	"github.com/google/uuid"

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

// Filter selects things of one kind: that of the field that is not nil.
type Filter struct {
	Project    *ProjectFilter
	Key        *KeyFilter
	Channel    *ChannelFilter
	StatusPage *StatusPageFilter
}

// Found is what [Admin].Find returns: one list, of the kind of the filter.
type Found struct {
	Projects    []checks.Project
	Keys        []checks.Key
	Channels    []channels.Channel
	StatusPages []checks.StatusPage
}

// ProjectFilter selects projects. A nil field matches all.
type ProjectFilter struct {
	ID       *uuid.UUID
	Name     *string
	PingKey  *string
	BadgeKey *string
}

// StatusPageFilter selects status pages. A nil field matches all.
type StatusPageFilter struct {
	ID        *uuid.UUID
	ProjectID *uuid.UUID
	Slug      *string
}

// KeyFilter selects API keys. A nil field matches all.
type KeyFilter struct {
	ProjectID *uuid.UUID
	Hash      *[sha256.Size]byte
}

// ChannelFilter selects channels. A nil field matches all.
type ChannelFilter struct {
	ProjectID *uuid.UUID
	IDs       []uuid.UUID
	// NotKinds selects the channels that have none of these kinds.
	NotKinds []channels.Kind
	// Limit, unless 0, bounds the number of channels.
	Limit int
}
