package pings

import (
	"time"

	"github.com/google/uuid"
)

const (
	// MaxRunTime is the longest run whose start is paired with its end.
	MaxRunTime = 72 * time.Hour
	// MaxOpenRuns is how many starts without an end are remembered for one check; the oldest are forgotten first.
	MaxOpenRuns = 100
	// durationStep is what durations are rounded to.
	durationStep = 10 * time.Millisecond
)

// Run is a run that has started and not ended.
type Run struct {
	// ID is the run identifier of the start signal; not valid when it had none.
	ID uuid.NullUUID
	// StartedAt is when the start signal was received.
	StartedAt time.Time
}

// Runs are the open runs of one check, oldest first. The methods return a changed copy and leave the receiver as
// it is. A start and an end belong together when both have the same run identifier, or both have none.
type Runs []Run

// Start returns the runs with one that started at the given time. A second start with the same identifier takes
// the place of the first. Runs older than [MaxRunTime] are dropped, and the oldest beyond [MaxOpenRuns].
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

// End returns the runs without the one that has this identifier, and how long that run took, rounded to 10 ms.
// ok is false, and the runs are as they were, when no such run is open. A run longer than [MaxRunTime] is
// removed without a duration (ok is false), and so is one that seems to end before it started.
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
