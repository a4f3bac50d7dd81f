package monitor

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/audit"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
)

// Transfer moves a check to another project. It keeps its identifier, so that its ping address and its badge stay, its
// settings and state, and its log and flips. It loses its channels with their deliveries, also those that wait to be sent,
// and what it follows, and gets all channels of the other project. A slug that a check there has becomes ambiguous. If that is this project,
// nothing changes. Errors: [checks.ErrNotFound] for the check and for the other project, [checks.ErrCheckLimit].
func (p *Project) Transfer(ctx context.Context, id, to uuid.UUID) (checks.Snapshot, error) {
	if p.id == to {
		return p.Check(ctx, id)
	}
	from, err := p.project(ctx, store.ProjectFilter{ID: &p.id})
	if err != nil {
		return checks.Snapshot{}, about("check", id, err)
	}
	into, err := p.project(ctx, store.ProjectFilter{ID: &to})
	if err != nil {
		return checks.Snapshot{}, about("check", id, err)
	}
	var c checks.Check
	err = p.store.Update(ctx, func(ctx context.Context, tx store.Tx) error {
		for _, of := range inOrder(from, into) {
			if _, err := tx.LockAccount(ctx, of.ID); err != nil {
				return err
			}
		}
		l, err := p.lockCheck(ctx, tx, id)
		if err != nil {
			return err
		}
		if err := roomFor(ctx, tx, from, into); err != nil {
			return err
		}
		l.ProjectID, l.MovedFrom, l.MovedAt, l.SettingsChanged = to, p.id, p.now(), true
		l.After = ""
		if l.Awaits, err = selectChannels(ctx, tx, &l.Check, "*"); err != nil {
			return err
		}
		c = l.Check
		move := audit.Change{Field: "project", From: from.Name, To: into.Name}
		left := audit.Entry{ProjectID: p.id, Action: "check.move", Object: c.DisplayName(), Changes: []audit.Change{move}}
		if _, err := p.note(ctx, tx, left, aboutCheck(c, "check.move", move)); err != nil {
			return err
		}
		return tx.SaveChecks(ctx, []*store.Locked{l})
	})
	c.Tags = slices.Clone(c.Tags) // the store may keep the others
	return p.snapshot(id, c, err)
}

// inOrder returns projects in the order in which a transaction that needs several accounts locks them.
func inOrder(projects ...checks.Project) []checks.Project {
	slices.SortStableFunc(projects, func(a, b checks.Project) int {
		return cmp.Or(strings.Compare(a.Account, b.Account), strings.Compare(string(a.Plan), string(b.Plan)))
	})
	return projects
}

// roomFor returns ErrCheckLimit if the account of a project has no room for a check of another project. Both accounts are
// locked.
func roomFor(ctx context.Context, tx store.AdminTx, from, to checks.Project) error {
	limit := to.CheckLimit()
	if limit == 0 || from.Account == to.Account && from.Plan == to.Plan {
		return nil
	}
	used, err := tx.CountChecks(ctx, to.ID)
	if err == nil && used >= limit {
		return fmt.Errorf("%w: %d checks", checks.ErrCheckLimit, limit)
	}
	return err
}
