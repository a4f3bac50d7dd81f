package checks

import (
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/pings"
)

const (
	// maxRuns bounds the runs of one check. The oldest that are not open are dropped first. If all are open, a start replaces
	// the newest: the oldest is the first to be overdue.
	maxRuns = 100
	// maxEnded bounds the ended runs of one check that are remembered. The oldest are dropped first.
	maxEnded = 20
	// maxLate is how far a ping may lie behind the newest recorded ping of its check. Several servers may record pings out of
	// order; a larger difference means that a clock was set back.
	maxLate = 2 * time.Minute
	// repeatsFor is how long after the end of a run its start may be repeated, by a proxy or a job that does not wait for its
	// start signal.
	repeatsFor = time.Minute
	// durationStep is the unit to which durations are rounded.
	durationStep = 10 * time.Millisecond
)

// late reports whether at is before newer, by at most maxLate.
func late(at, newer time.Time) bool { return at.Before(newer) && newer.Sub(at) <= maxLate }

// OpenRun is a run whose end was not received.
type OpenRun struct {
	// ID is the run identifier of the start signal. It is not valid if the signal had none.
	ID uuid.NullUUID `json:"id,omitzero"`
	// StartedAt is when the start signal was received.
	StartedAt time.Time `json:"started_at"`
	// Open is set while the run is in progress. A run that was given up, because it took too long or a newer one took its place,
	// keeps its start: an end that comes after all gets its duration.
	Open bool `json:"open,omitzero"`
}

// OpenRuns are the runs of one check whose ends were not received, oldest first. The methods return a changed copy.
//
// A start and an end belong together if both have the same run identifier, or both have none.
type OpenRuns []OpenRun

// start adds a run that started at the given time. Of two starts with the same identifier it keeps the newer, and of one that
// is not to be open and an open run, the open run. It drops runs that are not open and older than [pings.MaxRunTime], and
// one beyond [maxRuns].
func (r OpenRuns) start(id uuid.NullUUID, at time.Time, open bool) OpenRuns {
	kept := make(OpenRuns, 0, min(len(r)+1, maxRuns+1))
	place := 0 // index of the new run
	for _, run := range r {
		switch {
		case run.ID == id && (late(at, run.StartedAt) || run.Open && !open):
			return r
		case run.ID == id || !run.Open && at.Sub(run.StartedAt) > pings.MaxRunTime:
			continue
		}
		kept = append(kept, run)
		if !late(at, run.StartedAt) {
			place = len(kept)
		}
	}
	kept = slices.Insert(kept, place, OpenRun{ID: id, StartedAt: at, Open: open})
	if len(kept) > maxRuns {
		drop := slices.IndexFunc(kept, func(run OpenRun) bool { return !run.Open })
		if drop < 0 {
			drop = len(kept) - 2
		}
		kept = slices.Delete(kept, drop, drop+1)
	}
	return kept
}

// end removes the run with this identifier, and returns how long it took, rounded to 10 ms.
//
// If there is no such run, ok is false and the runs are unchanged. The same holds if the run started after at, because
// the end then belongs to an earlier run. A run longer than [pings.MaxRunTime] is removed, and ok is false.
func (r OpenRuns) end(id uuid.NullUUID, at time.Time) (rest OpenRuns, took time.Duration, ok bool) {
	i := slices.IndexFunc(r, func(run OpenRun) bool { return run.ID == id })
	if i < 0 || late(at, r[i].StartedAt) {
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

// Span returns the open runs that started first and last, or zero values if none is open.
func (r OpenRuns) Span() (oldest, newest OpenRun) {
	for _, run := range r {
		switch {
		case !run.Open:
			continue
		case !oldest.Open || run.StartedAt.Before(oldest.StartedAt):
			oldest = run
		}
		if !run.StartedAt.Before(newest.StartedAt) {
			newest = run
		}
	}
	return oldest, newest
}

// Open returns the open runs.
func (r OpenRuns) Open() (open OpenRuns) {
	for _, run := range r {
		if run.Open {
			open = append(open, run)
		}
	}
	return open
}

// keep gives up the open runs for which keep returns false.
func (r OpenRuns) keep(keep func(OpenRun) bool) OpenRuns {
	return r.change(func(run OpenRun) OpenRun {
		run.Open = run.Open && keep(run)
		return run
	})
}

// Only returns the runs with those of another list open, and no others. It adds those that are missing.
func (r OpenRuns) Only(open ...OpenRun) OpenRuns {
	r = r.keep(func(OpenRun) bool { return false })
	for _, run := range open {
		r = r.start(run.ID, run.StartedAt, true)
	}
	return r
}

// rewind moves the starts of open runs, but for the one with an identifier, back to an instant that they lie after.
func (r OpenRuns) rewind(at time.Time, but uuid.NullUUID) OpenRuns {
	return r.change(func(run OpenRun) OpenRun {
		if run.Open && run.ID != but && at.Before(run.StartedAt) {
			run.StartedAt = at
		}
		return run
	})
}

func (r OpenRuns) change(change func(OpenRun) OpenRun) OpenRuns {
	changed := slices.Clone(r)
	for i, run := range changed {
		changed[i] = change(run)
	}
	return changed
}

// EndedRuns are the runs with an identifier that ended last, oldest first. The methods return a changed copy.
type EndedRuns []EndedRun

// EndedRun is the end of a run.
type EndedRun struct {
	// ID is the run identifier.
	ID uuid.UUID `json:"id"`
	// At is when the end was received.
	At time.Time `json:"at"`
}

// add adds the end of a run, and drops those that no longer matter.
func (e EndedRuns) add(id uuid.UUID, at time.Time) EndedRuns {
	kept := make(EndedRuns, 0, min(len(e)+1, maxEnded+1))
	for _, end := range e {
		if end.ID != id && at.Sub(end.At) <= maxLate {
			kept = append(kept, end)
		}
	}
	kept = append(kept, EndedRun{id, at})
	return kept[max(0, len(kept)-maxEnded):]
}

// repeats reports whether a start at an instant belongs to a run that has ended: it was received before the end, or at most a
// minute after it. A start without an identifier never does.
func (e EndedRuns) repeats(id uuid.NullUUID, at time.Time) bool {
	return id.Valid && slices.ContainsFunc(e, func(end EndedRun) bool {
		return end.ID == id.UUID && at.Sub(end.At) <= repeatsFor && end.At.Sub(at) <= maxLate
	})
}
