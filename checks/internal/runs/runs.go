// Package runs pairs the start of a run with its end.
//
//	var open runs.List
//	open = open.Start(run, noon)
//	open, took, ok := open.End(run, noon.Add(90*time.Second))
//	// took == 90*time.Second, ok == true, open is empty again
package runs

import (
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/pings"
)

const (
	// MaxOpen bounds the open runs of one check. The oldest are dropped first.
	MaxOpen = 100
	// MaxLate is how far a ping may lie behind the newest recorded ping of its check. Several servers may record pings out of
	// order; a larger difference means that a clock was set back.
	MaxLate = 2 * time.Minute
	// durationStep is the unit to which durations are rounded.
	durationStep = 10 * time.Millisecond
)

// Late reports whether at is before newer, by at most [MaxLate].
func Late(at, newer time.Time) bool { return at.Before(newer) && newer.Sub(at) <= MaxLate }

// Run is an open run: it has started and not ended.
type Run struct {
	// ID is the run identifier of the start signal. It is not valid if the signal had none.
	ID uuid.NullUUID `json:"id,omitzero"`
	// StartedAt is when the start signal was received.
	StartedAt time.Time `json:"started_at"`
}

// List has the open runs of one check, oldest first. The zero value has none. The methods return a changed copy.
//
// A start and an end belong together if both have the same run identifier, or both have none.
type List []Run

// Start adds a run that started at the given time. Of two starts with the same identifier it keeps the newer, and it
// drops runs older than [pings.MaxRunTime] and the oldest beyond [MaxOpen].
func (r List) Start(id uuid.NullUUID, at time.Time) List {
	kept := make(List, 0, min(len(r)+1, MaxOpen+1))
	place := 0 // index of the new run
	for _, run := range r {
		switch {
		case run.ID == id && Late(at, run.StartedAt):
			return r
		case run.ID == id || at.Sub(run.StartedAt) > pings.MaxRunTime:
			continue
		}
		kept = append(kept, run)
		if !Late(at, run.StartedAt) {
			place = len(kept)
		}
	}
	kept = slices.Insert(kept, place, Run{ID: id, StartedAt: at})
	return kept[max(0, len(kept)-MaxOpen):]
}

// End removes the run with this identifier, and returns how long it took, rounded to 10 ms.
//
// If no such run is open, ok is false and the runs are unchanged. The same holds if the run started after at, because
// the end then belongs to an earlier run. A run longer than [pings.MaxRunTime] is removed, and ok is false.
func (r List) End(id uuid.NullUUID, at time.Time) (rest List, took time.Duration, ok bool) {
	i := slices.IndexFunc(r, func(run Run) bool { return run.ID == id })
	if i < 0 || Late(at, r[i].StartedAt) {
		return r, 0, false
	}
	took = at.Sub(r[i].StartedAt)
	if rest = slices.Concat(r[:i], r[i+1:]); len(rest) == 0 {
		rest = nil
	}
	if took < 0 || took > pings.MaxRunTime {
		return rest, 0, false
	}
	return rest, took.Round(durationStep), true
}
