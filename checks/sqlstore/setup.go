package sqlstore

import (
	"context"
	"errors"

	"github.com/rollcall-dev/rollcall/checks/internal/store"
)

// Save adds or changes what s has.
func (t *transaction) Save(ctx context.Context, s store.Setup) error {
	switch {
	case s.Project != nil && s.First:
		if err := t.firstProject(ctx); err != nil {
			return err
		}
		return t.insertProject(ctx, *s.Project)
	case s.Project != nil:
		return t.insertProject(ctx, *s.Project)
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
