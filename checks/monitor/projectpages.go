package monitor

import (
	"context"
	"maps"
	"strings"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/audit"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
)

// StatusPages returns the status pages of the project, oldest first.
func (p *Project) StatusPages(ctx context.Context) ([]checks.StatusPage, error) {
	found, err := p.store.StatusPages(ctx, store.StatusPageFilter{ProjectID: &p.id})
	return found, p.about(p.exists(ctx, len(found), err))
}

// CreateStatusPage adds a status page as page says. It ignores its ID, ProjectID and CreatedAt and sets them in the page that it
// returns. From then on anyone can read the page without a key. Errors:
// *[checks.FieldError], also for the field "project" when that has [checks.MaxStatusPages]; [checks.ErrExists] for a
// slug in use in any project.
func (p *Project) CreateStatusPage(ctx context.Context, page checks.StatusPage) (checks.StatusPage, error) {
	page.ID, page.CreatedAt = uuid.New(), p.now()
	page, err := p.saveStatusPage(ctx, page, func(list []checks.StatusPage, page checks.StatusPage) (checks.StatusPage, error) {
		return page, roomForOne(len(list), checks.MaxStatusPages, "status pages")
	})
	return page, p.about(err)
}

// UpdateStatusPage replaces what the page with the ID of page says. The old slug is free
// afterwards. Errors: *[checks.FieldError]; [checks.ErrExists] for a slug in use in any project; [checks.ErrNotFound].
func (p *Project) UpdateStatusPage(ctx context.Context, page checks.StatusPage) (checks.StatusPage, error) {
	saved, err := p.saveStatusPage(ctx, page, func(list []checks.StatusPage, page checks.StatusPage) (checks.StatusPage, error) {
		saved, ok := pageByID(list, page.ID)
		if !ok {
			return page, checks.ErrNotFound
		}
		page.CreatedAt = saved.CreatedAt
		return page, nil
	})
	return saved, about("status page", page.ID, err)
}

// saveStatusPage saves the page that fn returns. The list that fn gets has the pages of the project; the account's lock
// keeps them from changing.
func (p *Project) saveStatusPage(
	ctx context.Context, page checks.StatusPage, fn func(list []checks.StatusPage, page checks.StatusPage) (checks.StatusPage, error),
) (saved checks.StatusPage, err error) {
	page.ProjectID = p.id
	if page, err = page.Normalize(); err != nil {
		return checks.StatusPage{}, err
	}
	err = p.store.Update(ctx, func(ctx context.Context, tx store.Tx) error {
		if _, err := tx.LockAccount(ctx, p.id); err != nil {
			return err
		}
		found, err := tx.StatusPages(ctx, store.StatusPageFilter{ProjectID: &p.id})
		if err != nil {
			return err
		}
		if saved, err = fn(found, page); err != nil {
			return err
		}
		before, ok := pageByID(found, saved.ID)
		action := "status_page.create"
		if ok {
			action = "status_page.update"
		}
		change, err := p.note(ctx, tx, aboutPage(saved, action, pageChanges(before, saved)...))
		if err != nil {
			return err
		}
		return change.SaveStatusPage(ctx, saved)
	})
	if err != nil {
		return checks.StatusPage{}, err
	}
	return saved, nil
}

func pageByID(list []checks.StatusPage, id uuid.UUID) (checks.StatusPage, bool) {
	return where(list, func(p checks.StatusPage) bool { return p.ID == id })
}

// DeleteStatusPage removes a status page. Error: [checks.ErrNotFound].
func (p *Project) DeleteStatusPage(ctx context.Context, id uuid.UUID) error {
	err := p.store.Update(ctx, func(ctx context.Context, tx store.Tx) error {
		if _, err := tx.LockAccount(ctx, p.id); err != nil {
			return err
		}
		list, err := tx.StatusPages(ctx, store.StatusPageFilter{ProjectID: &p.id})
		if err != nil {
			return err
		}
		page, ok := pageByID(list, id)
		if !ok {
			return checks.ErrNotFound
		}
		change, err := p.note(ctx, tx, aboutPage(page, "status_page.delete"))
		if err != nil {
			return err
		}
		return change.DeleteStatusPage(ctx, p.id, id)
	})
	return about("status page", id, err)
}

// StatusPages returns the status pages of all projects, oldest first.
func (s *Projects) StatusPages(ctx context.Context) ([]checks.StatusPage, error) {
	return s.store.StatusPages(ctx, store.StatusPageFilter{})
}

// StatusPage returns a status page of any project. Error: [checks.ErrNotFound].
func (s *Projects) StatusPage(ctx context.Context, id uuid.UUID) (checks.StatusPage, error) {
	page, err := one(s.store.StatusPages(ctx, store.StatusPageFilter{ID: &id}))
	return page, about("status page", id, err)
}

func aboutPage(p checks.StatusPage, action string, changes ...audit.Change) audit.Entry {
	return audit.Entry{ProjectID: p.ProjectID, Action: action, Object: p.Slug, Changes: changes}
}

// pageChanges returns what differs between two status pages.
func pageChanges(from, to checks.StatusPage) []audit.Change {
	changes := add(nil, "slug", from.Slug, to.Slug)
	changes = add(changes, "title", from.Title, to.Title)
	changes = add(changes, "description", from.Description, to.Description)
	changes = add(changes, "tags", strings.Join(from.Tags, " "), strings.Join(to.Tags, " "))
	changes = add(changes, "min_outage", checks.ValueText(from.MinOutage), checks.ValueText(to.MinOutage))
	both := checks.StatusPage{Names: make(map[uuid.UUID]string)}
	maps.Copy(both.Names, from.Names)
	maps.Copy(both.Names, to.Names)
	for _, id := range both.Named() {
		changes = add(changes, "name of "+id.String(), from.Names[id], to.Names[id])
	}
	return changes
}
