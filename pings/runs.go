package pings

import (
	"slices"
	"time"

	"github.com/google/uuid"
)

const (
	// MaxLate is how far a ping may lie behind the newest recorded ping of its check. Several servers may record pings
	// out of order; a larger difference means that a clock was set back.
	MaxLate = 2 * time.Minute
	// MaxRunTime is the longest run that gets a duration.
	MaxRunTime = 72 * time.Hour
	// MaxOpenRuns bounds the open runs of one check. The oldest are dropped first.
	MaxOpenRuns = 100
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

// Runs are the open runs of one check, oldest first. The zero value has none. The methods return a changed copy.
//
// A start and an end belong together if both have the same run identifier, or both have none.
type Runs []Run

// Start adds a run that started at the given time. Of two starts with the same identifier it keeps the newer, and it
// drops runs older than [MaxRunTime] and the oldest beyond [MaxOpenRuns].
func (r Runs) Start(id uuid.NullUUID, at time.Time) Runs {
	kept := make(Runs, 0, min(len(r)+1, MaxOpenRuns+1))
	place := 0 // index of the new run
	for _, run := range r {
		switch {
		case run.ID == id && Late(at, run.StartedAt):
			return r
		case run.ID == id || at.Sub(run.StartedAt) > MaxRunTime:
			continue
		}
		kept = append(kept, run)
		if !Late(at, run.StartedAt) {
			place = len(kept)
		}
	}
	kept = slices.Insert(kept, place, Run{ID: id, StartedAt: at})
	return kept[max(0, len(kept)-MaxOpenRuns):]
}

// End removes the run with this identifier, and returns how long it took, rounded to 10 ms.
//
// If no such run is open, ok is false and the runs are unchanged. The same holds if the run started after at, because
// the end then belongs to an earlier run. A run longer than [MaxRunTime] is removed, and ok is false.
func (r Runs) End(id uuid.NullUUID, at time.Time) (rest Runs, took time.Duration, ok bool) {
	i := slices.IndexFunc(r, func(run Run) bool { return run.ID == id })
	if i < 0 || Late(at, r[i].StartedAt) {
		return r, 0, false
	}
	took = at.Sub(r[i].StartedAt)
	if rest = slices.Concat(r[:i], r[i+1:]); len(rest) == 0 {
		rest = nil
	}
	if took < 0 || took > MaxRunTime {
		return rest, 0, false
	}
	return rest, took.Round(durationStep), true
}
