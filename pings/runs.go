package pings

import (
	"time"

	"github.com/google/uuid"
)

const (
	// MaxRunTime is the longest run that gets a duration.
	MaxRunTime = 72 * time.Hour
	// MaxOpenRuns bounds the open runs of one check. The oldest are dropped first.
	MaxOpenRuns = 100
	// durationStep is the unit to which durations are rounded.
	durationStep = 10 * time.Millisecond
)

// Run is a run that started and has not ended.
type Run struct {
	// ID is the run identifier of the start signal. It is not valid if the signal had none.
	ID uuid.NullUUID
	// StartedAt is when the start signal was received.
	StartedAt time.Time
}

// Runs are the open runs of one check, oldest first. The zero value has none. The methods return a changed copy.
//
// A start and an end belong together if both have the same run identifier, or both have none.
type Runs []Run

// Start adds a run that started at the given time. It replaces an open run with the same identifier, and drops runs
// older than [MaxRunTime] and the oldest beyond [MaxOpenRuns].
func (r Runs) Start(id uuid.NullUUID, at time.Time) Runs {
	kept := make(Runs, 0, min(len(r)+1, MaxOpenRuns))
	for _, run := range r {
		if run.ID != id && at.Sub(run.StartedAt) <= MaxRunTime {
			kept = append(kept, run)
		}
	}
	if extra := len(kept) - (MaxOpenRuns - 1); extra > 0 {
		kept = kept[extra:]
	}
	return append(kept, Run{ID: id, StartedAt: at})
}

// End removes the run with this identifier, and returns how long it took, rounded to 10 ms.
//
// If no such run is open, ok is false and the runs are unchanged. A run longer than [MaxRunTime], or one that seems to
// end before its start, is removed, and ok is false.
func (r Runs) End(id uuid.NullUUID, at time.Time) (rest Runs, took time.Duration, ok bool) {
	for i, run := range r {
		if run.ID != id {
			continue
		}
		rest = make(Runs, 0, len(r)-1)
		rest = append(append(rest, r[:i]...), r[i+1:]...)
		if len(rest) == 0 {
			rest = nil
		}
		took = at.Sub(run.StartedAt)
		if took < 0 || took > MaxRunTime {
			return rest, 0, false
		}
		return rest, took.Round(durationStep), true
	}
	return r, 0, false
}
