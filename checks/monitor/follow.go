package monitor

import (
	"context"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/internal/selection"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
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
