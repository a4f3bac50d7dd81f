package courier

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/gate"
	"github.com/rollcall-dev/rollcall/checks/internal/selection"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
)

// doubt is how long an alert that is on its way counts as one that somebody gets.
const doubt = 5 * time.Minute

// Parent is a check that another one follows. Told reports whether somebody knows that it is down.
type Parent struct {
	checks.Check
	Told bool
}

// Gate returns the parent as the gate sees it. If it is down, silence needs a person who knows: somebody got its alert or gets it soon,
// has acknowledged the outage, or has planned the silence with one of the windows.
func (p Parent) Gate(windows []gate.Window, now time.Time) gate.Parent {
	g := p.Parent(now)
	recorded := p.Stored == checks.StatusDown // or the alert is not raised yet
	g.Down = g.Down && (!recorded || p.Told || p.Ack.Active(now) || slices.ContainsFunc(windows, func(w gate.Window) bool {
		end, in := w.At(now)
		return in && end.After(now) && w.Covers(p.ID, p.TagList())
	}))
	return g
}

// parents returns the checks that those of alerts follow, by the IDs of the followers, with a few queries for each project.
func (l *loop) parents(ctx context.Context, alerts []store.Alert) (map[uuid.UUID][]Parent, error) {
	var parents map[uuid.UUID][]Parent
	followers := make(map[uuid.UUID][]checks.Check)
	for _, a := range alerts {
		if a.Check.After != "" && !a.Flip.Up {
			followers[a.Check.ProjectID] = append(followers[a.Check.ProjectID], a.Check)
		}
	}
	for project, list := range followers {
		found, err := Parents(ctx, l.Store, project, l.Now(), list...)
		if err != nil {
			return nil, fmt.Errorf("cannot read what checks follow: %w", err)
		}
		if parents == nil {
			parents = make(map[uuid.UUID][]Parent)
		}
		maps.Copy(parents, found)
	}
	return parents, nil
}

// follows is what Parents needs of a store.
type follows interface {
	Related(ctx context.Context, projectID uuid.UUID, names []string) ([]selection.Node, error)
	Checks(ctx context.Context, f store.CheckFilter) ([]checks.Check, error)
	Told(ctx context.Context, ids []uuid.UUID, fresh, now time.Time) (map[uuid.UUID]bool, error)
}

// Parents returns the checks that some checks of a project follow, by the IDs of the followers. A name that means no check, or
// several, counts for nothing, and so does a parent that follows the check in turn: better an alert too many than one too few.
func Parents(ctx context.Context, s follows, projectID uuid.UUID, now time.Time, followers ...checks.Check) (map[uuid.UUID][]Parent, error) {
	var g selection.Graph
	for _, c := range followers {
		if c.After != "" {
			g.Add(selection.NodeOf(c))
		}
	}
	err := g.Load(func(names []string) ([]selection.Node, error) { return s.Related(ctx, projectID, names) })
	if err != nil {
		return nil, err
	}
	of, ids := make(map[uuid.UUID][]selection.Node), []uuid.UUID{}
	for _, c := range followers {
		if of[c.ID] != nil { // an alert to each of several channels
			continue
		}
		for _, parent := range g.Parents(selection.NodeOf(c)) {
			of[c.ID], ids = append(of[c.ID], parent), append(ids, parent.ID)
		}
	}
	if len(ids) == 0 {
		return nil, nil
	}
	found, err := s.Checks(ctx, store.CheckFilter{ProjectID: &projectID, IDs: ids})
	if err != nil {
		return nil, err
	}
	var down []uuid.UUID
	for _, c := range found {
		if c.Stored == checks.StatusDown {
			down = append(down, c.ID)
		}
	}
	var told map[uuid.UUID]bool
	if len(down) > 0 {
		if told, err = s.Told(ctx, down, now.Add(-doubt), now); err != nil {
			return nil, err
		}
	}
	byID := make(map[uuid.UUID]Parent, len(found))
	for _, c := range found {
		byID[c.ID] = Parent{c, told[c.ID]}
	}
	parents := make(map[uuid.UUID][]Parent, len(of))
	for follower, nodes := range of {
		for _, n := range nodes {
			if c, known := byID[n.ID]; known {
				parents[follower] = append(parents[follower], c)
			}
		}
	}
	return parents, nil
}
