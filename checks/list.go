package checks

import (
	"time"

	"github.com/google/uuid"
)

// ListQuery selects checks of a project for a list. The zero value selects all, in the order [ListUrgent].
type ListQuery struct {
	// Status selects the checks that have one of these at Now; nil is any. Now is the time of the call if it is zero.
	Status []Status
	Now    time.Time
	// Words selects the checks with all of these in their [Check.SearchText]. They are in lower case and have no white space.
	Words []string
	// Tag selects the checks with a tag, Slug those with a slug, and Key that with a [Check.UniqueKey]; "" is any.
	Tag, Slug, Key string
	// IDs, unless nil, selects the checks with these.
	IDs []uuid.UUID
	// Without, unless nil, selects the checks that have none of these channels.
	Without []uuid.UUID
	// FlippedSince selects the checks that went up or down at or after an instant, and SlowSince those with a slow run that
	// ended then; see [History.Slow].
	FlippedSince, SlowSince time.Time
	// Pinged selects the checks that have received a ping.
	Pinged bool

	// Order is the order of the list, and Reverse turns it round. Checks that are alike in it are in the order of their names.
	Order   ListOrder
	Reverse bool
	// Limit bounds the checks, and Offset skips as many. Limit 0 is no bound.
	Limit, Offset int
}

// ListOrder is the order of a list of checks.
type ListOrder int

// The orders of lists.
const (
	// ListUrgent is by status: down, grace, up, new, paused. Those that are down or in grace begin with the newest.
	ListUrgent ListOrder = iota
	// ListByName is by [Check.SortName].
	ListByName
	// ListByLast is by [State.LastPing], the newest first, those without one last.
	ListByLast
	// ListByNext is by [Check.NextPing], the earliest first, those without one last.
	ListByNext
	// ListByAge is in the order in which the checks were created.
	ListByAge
	// ListBySince is by State.StoredSince, the newest first.
	ListBySince
	// ListBySlow is by the end of the slow run, the newest first.
	ListBySlow
)
