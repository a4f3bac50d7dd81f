package store

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/flips"
)

// Lists is what lists of checks need. Its methods read no whole checks but those that they return.
type Lists interface {
	// CountChecks counts the checks of a project that a query selects. Now is set. It ignores the order and the bounds.
	CountChecks(ctx context.Context, project uuid.UUID, q checks.ListQuery) (checks.Counts, error)
	// ListChecks returns the checks that a query selects, with their channels, in its order. Now is set.
	ListChecks(ctx context.Context, project uuid.UUID, q checks.ListQuery) ([]checks.Check, error)
	// CountReached counts the checks of a project that have one of the channels, all of them and those that are paused.
	CountReached(ctx context.Context, project uuid.UUID, channels []uuid.UUID) (all, paused int, err error)
	// CountFailed counts the checks of a project that are not paused and went down since an instant, by the reason of the last
	// time.
	CountFailed(ctx context.Context, project uuid.UUID, since time.Time) (map[flips.Reason]int, error)
	// LastDown returns which check of a project went down last, and when; uuid.Nil if none has.
	LastDown(ctx context.Context, project uuid.UUID) (check uuid.UUID, at time.Time, err error)
	// Tags returns the tags of the checks of a project, each once, sorted.
	Tags(ctx context.Context, project uuid.UUID) ([]string, error)
}
