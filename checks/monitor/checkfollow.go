package monitor

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/gate"
	"github.com/rollcall-dev/rollcall/checks/internal/courier"
	"github.com/rollcall-dev/rollcall/checks/internal/selection"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
	"github.com/rollcall-dev/rollcall/checks/verdict"
)

// checkAfter returns a *[checks.FieldError] if a check would follow itself over others. With names, each item of its After must also
// name one other check. The account is locked, so that no other transaction closes a circle. A name that means nothing today may
// mean a check that gets its slug later, so a check that has an After is asked about again when its slug changes.
func checkAfter(ctx context.Context, tx store.AdminTx, c checks.Check, names bool) error {
	if c.After == "" {
		return nil
	}
	var g selection.Graph
	node := selection.NodeOf(c)
	g.Add(node)
	err := g.Load(func(names []string) ([]selection.Node, error) { return tx.Related(ctx, c.ProjectID, names) })
	if err != nil {
		return err
	}
	return g.Check(node, names)
}

// Related are the checks that a check follows, and those that follow it.
type Related struct {
	Parents, Children []checks.Snapshot
	// Lost are the items of the check's After that count for nothing: no check of the project has that slug or ID, or several have
	// the slug. An ID is shown as its [checks.UniqueKey].
	Lost []string
}

// Related returns the checks that a check of the project follows, in the order of its settings, and those that follow it, oldest
// first. It takes at most five short queries.
func (p *Project) Related(ctx context.Context, c checks.Check) (r Related, err error) {
	defer describe(&err, "check", c.ID)
	parents, lost, err := p.parents(ctx, c)
	if err != nil {
		return r, err
	}
	r.Lost = lost
	now := p.now()
	for _, parent := range parents {
		r.Parents = append(r.Parents, parent.Snapshot(now))
	}
	followers, err := p.Followers(ctx, []checks.Check{c})
	if err != nil || len(followers) == 0 {
		return r, err
	}
	children, err := p.store.Checks(ctx, store.CheckFilter{ProjectID: &p.id, IDs: followers[c.ID]})
	for _, child := range children {
		r.Children = append(r.Children, child.Snapshot(now))
	}
	return r, err
}

// Followers returns the IDs of the checks that follow some checks of the project, by the ID of the one that they follow, oldest first. A
// check that nothing follows is missing. It takes one short query, whatever the number of checks.
func (p *Project) Followers(ctx context.Context, of []checks.Check) (map[uuid.UUID][]uuid.UUID, error) {
	nodes, err := p.store.Related(ctx, p.id, nil)
	if err != nil {
		return nil, err
	}
	var g selection.Graph
	for _, c := range of {
		g.Add(selection.NodeOf(c))
	}
	followers := make(map[uuid.UUID][]uuid.UUID)
	for _, n := range nodes {
		for _, name := range n.After {
			for _, parent := range g.Find(name) {
				if list := followers[parent.ID]; n.ID != parent.ID && !slices.Contains(list, n.ID) {
					followers[parent.ID] = append(list, n.ID)
				}
			}
		}
	}
	return followers, nil
}

// parents returns the checks that a check follows, and the items of its After that count for nothing.
func (p *Project) parents(ctx context.Context, c checks.Check) (list []courier.Parent, lost []string, err error) {
	parents, err := courier.Parents(ctx, p.store, p.id, p.now(), c)
	if err != nil {
		return nil, nil, err
	}
	var g selection.Graph
	for _, parent := range parents[c.ID] {
		g.Add(selection.NodeOf(parent.Check))
	}
	for _, name := range c.Parents() {
		if len(g.Find(name)) == 0 {
			lost = append(lost, checks.Settings{After: name}.PublicAfter())
		}
	}
	return parents[c.ID], lost, nil
}

// FollowWarnings returns what is likely not meant where a check of the project follows others, such as one of whose outage nobody is
// notified; see [verdict.Following]. Without After, and of a check that never alerts, it returns none and reads nothing.
func (p *Project) FollowWarnings(ctx context.Context, c checks.Check) ([]string, error) {
	if c.After == "" || c.RecordOnly {
		return nil, nil
	}
	parents, _, err := p.parents(ctx, c)
	if err != nil {
		return nil, err
	}
	available, reach, err := p.Receivers(ctx, false)
	return following(parents, available, reach), err
}

// following is verdict.Following of all parents.
func following(parents []courier.Parent, available []channels.Channel, reach map[uuid.UUID]verdict.Reach) (list []string) {
	for _, parent := range parents {
		list = append(list, verdict.Following(parent.Check, verdict.Receivers(parent.Check, available, reach))...)
	}
	return list
}

// parentsOf returns checks as the gate sees them when another one follows them.
func parentsOf(list []courier.Parent, windows []gate.Window, now time.Time) (parents []gate.Parent) {
	for _, p := range list {
		parents = append(parents, p.Gate(windows, now))
	}
	return parents
}
