package store

import (
	"context"
	"crypto/sha256"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
)

// Lookup reads what people set up. In a transaction, it sees what the transaction has written.
type Lookup interface {
	// Projects returns projects by name. The MaxChecks of a project is that of its account; see [AdminTx].SaveProject.
	Projects(ctx context.Context, f ProjectFilter) ([]checks.Project, error)
	// Keys returns API keys, oldest first.
	Keys(ctx context.Context, f KeyFilter) ([]checks.Key, error)
	// Channels returns channels, oldest first, with the marks that RecordResults has set.
	Channels(ctx context.Context, f ChannelFilter) ([]channels.Channel, error)
	// StatusPages returns status pages, oldest first.
	StatusPages(ctx context.Context, f StatusPageFilter) ([]checks.StatusPage, error)
	// FindChecks returns the IDs of the checks of a project that m selects, the first added first.
	FindChecks(ctx context.Context, projectID uuid.UUID, m Match) ([]uuid.UUID, error)
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
