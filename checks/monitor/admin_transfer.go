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

// Transfer moves a check between projects; package monitor says what it keeps.
func (a *admin) Transfer(ctx context.Context, fromID, id, toID uuid.UUID) (c checks.Check, err error) {
	if fromID == toID {
		return a.CheckOf(ctx, fromID, id)
	}
	from, err := a.Project(ctx, fromID)
	if err != nil {
		return checks.Check{}, err
	}
	to, err := a.Project(ctx, toID)
	if err != nil {
		return checks.Check{}, err
	}
	err = a.Store.Update(ctx, func(ctx context.Context, tx store.Tx) error {
		for _, p := range inOrder(from, to) {
			if _, err := tx.LockAccount(ctx, p.ID); err != nil {
				return err
			}
		}
		l, err := tx.LockCheck(ctx, id)
		if err == nil && l.ProjectID != fromID {
			err = checks.ErrNotFound
		}
		if err != nil {
			return err
		}
		if err := roomFor(ctx, tx, from, to); err != nil {
			return err
		}
		l.ProjectID, l.MovedFrom, l.SettingsChanged = toID, fromID, true
		if err := selectChannels(ctx, tx, &l.Check, new("*")); err != nil {
			return err
		}
		c = l.Check
		move := audit.Change{Field: "project", From: from.Name, To: to.Name}
		left := audit.Entry{ProjectID: fromID, Action: "check.move", Object: c.DisplayName(), Changes: []audit.Change{move}}
		for _, e := range []audit.Entry{left, aboutCheck(c, "check.move", move)} {
			if err := a.note(ctx, tx, e); err != nil {
				return err
			}
		}
		return tx.SaveChecks(ctx, []*store.Locked{l})
	})
	if err != nil {
		return checks.Check{}, err
	}
	c.Tags = slices.Clone(c.Tags) // the store may keep the others
	return c, nil
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
