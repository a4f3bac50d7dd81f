package admin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
)

// errTransferred means that another transfer came first.
var errTransferred = errors.New("monitor: the check was transferred meanwhile")

// transferTries bounds how often a transfer begins again because of others.
const transferTries = 10

// Transfer moves a check to another project; package monitor says what it keeps.
func (a *Admin) Transfer(ctx context.Context, id, projectID uuid.UUID) (checks.Check, error) {
	to, err := a.Project(ctx, projectID)
	if err != nil {
		return checks.Check{}, err
	}
	for try := 1; ; try++ {
		c, err := a.Check(ctx, id)
		if err != nil || c.ProjectID == projectID {
			return c, err
		}
		from, err := a.Project(ctx, c.ProjectID)
		if errors.Is(err, checks.ErrNotFound) && try < transferTries {
			continue // deleted after the check was read: so is the check, unless it was transferred
		}
		if err != nil {
			return checks.Check{}, err
		}
		if c, err = a.transfer(ctx, id, from, to); !errors.Is(err, errTransferred) || try == transferTries {
			return c, err
		}
	}
}

// transfer moves a check between projects. The error is errTransferred if it is not in the first any more.
func (a *Admin) transfer(ctx context.Context, id uuid.UUID, from, to checks.Project) (c checks.Check, err error) {
	err = a.Store.Update(ctx, func(ctx context.Context, tx store.Tx) error {
		for _, p := range inOrder(from, to) {
			if _, err := tx.LockAccount(ctx, p.ID); err != nil {
				return err
			}
		}
		l, err := tx.LockCheck(ctx, id)
		if err != nil {
			return err
		}
		if l.ProjectID != from.ID {
			return errTransferred
		}
		if err := roomFor(ctx, tx, from, to); err != nil {
			return err
		}
		l.ProjectID, l.MovedFrom, l.SettingsChanged = to.ID, from.ID, true
		if err := selectChannels(ctx, tx, &l.Check, new(channels.All)); err != nil {
			return err
		}
		c = l.Check
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
