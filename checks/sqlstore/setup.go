package sqlstore

import (
	"context"
	"errors"

	"github.com/uptrace/bun"

	"github.com/rollcall-dev/rollcall/checks/internal/store"
)

// Find returns things of one kind.
func (s *database) Find(ctx context.Context, f store.Filter) (store.Found, error) {
	return find(ctx, s.db, f)
}

// Find returns things of one kind.
func (t *transaction) Find(ctx context.Context, f store.Filter) (store.Found, error) {
	return find(ctx, t.tx, f)
}

func find(ctx context.Context, db bun.IDB, f store.Filter) (found store.Found, err error) {
	switch {
	case f.Project != nil:
		found.Projects, err = findProjects(ctx, db, *f.Project)
	case f.Key != nil:
		found.Keys, err = findKeys(ctx, db, *f.Key)
	case f.StatusPage != nil:
		found.StatusPages, err = findStatusPages(ctx, db, *f.StatusPage)
	case f.Channel != nil:
		found.Channels, err = findChannels(ctx, db, *f.Channel)
	default:
		err = errors.New("sqlstore: nothing to find")
	}
	return found, err
}

// Save adds or changes what s has.
func (t *transaction) Save(ctx context.Context, s store.Setup) error {
	switch {
	case s.Project != nil && s.First:
		if err := t.firstProject(ctx); err != nil {
			return err
		}
		return t.saveProject(ctx, *s.Project)
	case s.Project != nil:
		return t.saveProject(ctx, *s.Project)
	case s.Key != nil:
		return t.insertKey(ctx, *s.Key)
	case s.Channel != nil:
		return t.saveChannel(ctx, *s.Channel)
	case s.StatusPage != nil:
		return t.saveStatusPage(ctx, *s.StatusPage)
	}
	return errors.New("sqlstore: nothing to save")
}

// Delete removes what s has.
func (t *transaction) Delete(ctx context.Context, s store.Setup) error {
	switch {
	case s.Project != nil:
		return t.deleteProject(ctx, s.Project.ID)
	case s.Key != nil:
		return t.deleteOne(ctx, "rollcall_keys", s.Key.ProjectID, s.Key.ID)
	case s.Channel != nil:
		return t.deleteChannel(ctx, s.Channel.ProjectID, s.Channel.ID)
	case s.StatusPage != nil:
		return t.deleteOne(ctx, "rollcall_status_pages", s.StatusPage.ProjectID, s.StatusPage.ID)
	case s.Check != nil:
		return t.deleteCheck(ctx, s.Check)
	}
	return errors.New("sqlstore: nothing to delete")
}
