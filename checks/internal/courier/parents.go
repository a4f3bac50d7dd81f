package courier

import (
	"context"
	"fmt"
	"maps"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/internal/selection"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
)

// parents returns the checks that those of alerts follow, by the IDs of the followers, with a few queries for each project.
func (l *loop) parents(ctx context.Context, alerts []store.Alert) (map[uuid.UUID][]checks.Check, error) {
	var parents map[uuid.UUID][]checks.Check
	followers := make(map[uuid.UUID][]checks.Check)
	for _, a := range alerts {
		if a.Check.After != "" && !a.Flip.Up {
			followers[a.Check.ProjectID] = append(followers[a.Check.ProjectID], a.Check)
		}
	}
	for project, list := range followers {
		found, err := Parents(ctx, l.Store, project, list...)
		if err != nil {
			return nil, fmt.Errorf("cannot read what checks follow: %w", err)
		}
		if parents == nil {
			parents = make(map[uuid.UUID][]checks.Check)
		}
		maps.Copy(parents, found)
	}
	return parents, nil
}

// follows is what Parents needs of a store.
type follows interface {
	Related(ctx context.Context, projectID uuid.UUID, names []string) ([]selection.Node, error)
	Checks(ctx context.Context, f store.CheckFilter) ([]checks.Check, error)
}

// Parents returns the checks that some checks of a project follow, by the IDs of the followers. A name that means no check, or
// several, counts for nothing, and so does a parent that follows the check in turn: better an alert too many than one too few.
func Parents(ctx context.Context, s follows, projectID uuid.UUID, followers ...checks.Check) (map[uuid.UUID][]checks.Check, error) {
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
	byID := make(map[uuid.UUID]checks.Check, len(found))
	for _, c := range found {
		byID[c.ID] = c
	}
	parents := make(map[uuid.UUID][]checks.Check, len(of))
	for follower, nodes := range of {
		for _, n := range nodes {
			if c, known := byID[n.ID]; known {
				parents[follower] = append(parents[follower], c)
			}
		}
	}
	return parents, err
}
