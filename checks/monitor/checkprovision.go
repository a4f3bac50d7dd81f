package monitor

import (
	"context"
	"errors"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/audit"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
)

// checkIDBySlug returns the check with a slug in the project with a ping key. With create, it creates a missing one, and
// limited applies Config.CreateRate. Without limited, the ping was acknowledged before, perhaps with an earlier key of the project.
func (s *service) checkIDBySlug(ctx context.Context, pingKey, slug string, create, limited bool) (id uuid.UUID, created bool, err error) {
	if slug == "" || !checks.ValidSlug(slug) {
		return uuid.Nil, false, checks.ErrNotFound
	}
	project, ids, err := s.store.BySlug(ctx, pingKey, slug)
	if !limited && errors.Is(err, checks.ErrNotFound) {
		if pingKey, err = s.renewed(ctx, pingKey); err == nil {
			project, ids, err = s.store.BySlug(ctx, pingKey, slug)
		}
	}
	switch {
	case err != nil:
		return uuid.Nil, false, err
	case len(ids) > 1:
		return uuid.Nil, false, checks.ErrAmbiguousSlug
	case len(ids) == 1:
		return ids[0], false, nil
	case !create:
		return uuid.Nil, false, checks.ErrNotFound
	}
	return s.provision(ctx, project, slug, limited)
}

// refusesSlug reports whether an error of checkIDBySlug is about the slug, so that it is the same each time for a while.
func refusesSlug(err error) bool {
	_, limited := errors.AsType[*checks.CreateRateError](err)
	_, invalid := errors.AsType[*checks.FieldError](err)
	return limited || invalid || errors.Is(err, checks.ErrNotFound) || errors.Is(err, checks.ErrAmbiguousSlug) || errors.Is(err, checks.ErrCheckLimit)
}

// provision creates a check for a ping by slug, or returns the one that another ping has just created. limited applies
// Config.CreateRate.
func (s *service) provision(ctx context.Context, projectID uuid.UUID, slug string, limited bool) (id uuid.UUID, created bool, err error) {
	spec := checks.Spec{Name: &slug, Slug: &slug}
	now := s.now()
	fresh, err := checks.New(projectID, spec, now)
	if err != nil {
		return uuid.Nil, false, err
	}
	undo := func() {}
	if limited {
		if undo, err = s.creations.take(projectID, now); err != nil {
			return uuid.Nil, false, err
		}
	}
	err = s.store.Update(ctx, func(ctx context.Context, tx store.Tx) error {
		project, err := tx.LockAccount(ctx, projectID)
		if err != nil {
			return err
		}
		ids, err := tx.FindChecks(ctx, projectID, store.Match{Slug: &slug})
		switch {
		case err != nil:
			return err
		case len(ids) > 1:
			return checks.ErrAmbiguousSlug
		case len(ids) == 1:
			id, created = ids[0], false
			return nil
		}
		if err := s.roomForCreated(ctx, tx, projectID); err != nil {
			return err
		}
		c := fresh
		id, created = c.ID, true
		ctx = audit.WithActor(ctx, audit.Actor{Kind: audit.Ping})
		return s.insert(ctx, tx, project, &c, "*", 2*project.CheckLimit())
	})
	if err == nil && !created {
		undo()
	}
	return id, created, err
}

// roomForCreated returns a [maxCreatedError] if pings may not create another check in the project.
func (s *service) roomForCreated(ctx context.Context, tx store.AdminTx, projectID uuid.UUID) error {
	if s.config.MaxCreated == 0 {
		return nil
	}
	all, err := tx.FindChecks(ctx, projectID, store.Match{})
	if err == nil && len(all) >= s.config.MaxCreated {
		return maxCreatedError(s.config.MaxCreated)
	}
	return err
}
