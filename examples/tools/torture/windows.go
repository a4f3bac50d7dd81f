package main

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/gate"
	"github.com/rollcall-dev/rollcall/checks/monitor"
)

// windows are the maintenance windows of a site that have certainly begun. The zero value has none.
type windows struct {
	mu   sync.Mutex
	list []*window
}

// window covers checks from an instant at which everyone knows it until its end, or until somebody tries to end it.
type window struct {
	checks     []uuid.UUID
	known, end time.Time
}

// forbid reports whether no alert may arrive now that a check is down since an instant.
func (w *windows) forbid(check uuid.UUID, since time.Time) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.ContainsFunc(w.list, func(w *window) bool {
		return slices.Contains(w.checks, check) && !since.Before(w.known) && time.Now().Before(w.end)
	})
}

// maintain opens and ends maintenance windows over a third of the subjects until ctx ends. A window ends early or by itself.
func (r *round) maintain(ctx context.Context) {
	var covered []uuid.UUID
	for i, s := range r.subjects {
		if i%3 == 0 {
			covered = append(covered, s.id)
		}
	}
	project, err := r.project(ctx, covered[0])
	if err != nil {
		r.problem("%v", err)
		return
	}
	rng := r.random(clients + 1)
	upTo := func(d time.Duration) time.Duration { return time.Duration(rng.Int64N(int64(d) + 1)) }
	for sleep(ctx, upTo(time.Second)) {
		after := []time.Duration{time.Hour, time.Second + upTo(2*time.Second)}[rng.IntN(2)]
		w, err := project.AddWindow(ctx, gate.Window{Kind: gate.Maintenance, Checks: covered, End: time.Now().Add(after), Note: "torture"})
		if err == nil {
			known := &window{checks: covered, known: time.Now(), end: w.End}
			r.windows.mu.Lock()
			r.windows.list = append(r.windows.list, known)
			r.windows.mu.Unlock()
			sleep(ctx, upTo(3*time.Second))
			r.windows.mu.Lock()
			if now := time.Now(); now.Before(known.end) {
				known.end = now
			}
			r.windows.mu.Unlock()
		} // else PostgreSQL is away, and there may be one nevertheless
		if !r.endWindows(project) {
			return
		}
	}
}

// endWindows ends all maintenance windows, when the database is there.
func (r *round) endWindows(project *monitor.Project) bool {
	ctx := context.Background()
	ended, err := await(ctx, patience, func() (bool, error) {
		list, err := project.Windows(ctx, checks.WindowQuery{})
		for _, w := range list {
			if err == nil {
				_, err = project.EndWindow(ctx, w.ID)
			}
		}
		return err == nil, nil
	})
	if !ended {
		r.problem("maintenance windows cannot be ended: %v", err)
	}
	return ended
}

// outboxRow is a delivery about a flip of a check.
type outboxRow struct {
	UUID      uuid.UUID
	Name      string
	Up        bool
	At        int64
	CreatedAt int64
	State     string
	Held      string
	Attempts  int

	FinishedAt int64
}
