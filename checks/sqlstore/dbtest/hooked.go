package dbtest

import (
	"context"
	"iter"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
	"github.com/rollcall-dev/rollcall/checks/records"
	"github.com/rollcall-dev/rollcall/checks/sqlstore"
	"github.com/rollcall-dev/rollcall/pings"
)

// Hooked is a store whose operations a test counts, holds up or lets fail.
type Hooked struct {
	*sqlstore.Store
	// Around is called in place of the operations below, with their name: that of the method, and "ByBadge" for Checks and
	// Projects that look for a badge key. It calls do, which does the operation, or returns an error instead.
	Around func(op string, do func() error) error
}

// Contract returns the store with the hook.
func (h *Hooked) Contract() any {
	return hooks{h.Store.Contract().(store.Store), func(op string, do func() error) error { return h.Around(op, do) }}
}

// hooks are the operations of a Hooked.
type hooks struct {
	store.Store
	around func(op string, do func() error) error
}

// Update runs a transaction.
func (h hooks) Update(ctx context.Context, fn func(context.Context, store.Tx) error) error {
	return h.around("Update", func() error { return h.Store.Update(ctx, fn) })
}

// Outlook reads when the next check is due.
func (h hooks) Outlook(ctx context.Context) (next time.Time, spools []store.SpoolState, oldest time.Time, err error) {
	err = h.around("Outlook", func() (err error) {
		next, spools, oldest, err = h.Store.Outlook(ctx)
		return err
	})
	return next, spools, oldest, err
}

// Checks reads checks.
func (h hooks) Checks(ctx context.Context, f store.CheckFilter) ([]checks.Check, error) {
	return hooked(h, byBadge("Checks", f.BadgeKey != nil), func() ([]checks.Check, error) { return h.Store.Checks(ctx, f) })
}

// EachCheck reads the checks of a project.
func (h hooks) EachCheck(ctx context.Context, f store.CheckFilter) iter.Seq2[checks.Check, error] {
	return func(yield func(checks.Check, error) bool) {
		ended := false
		err := h.around("Checks", func() (err error) {
			for c, failed := range h.Store.EachCheck(ctx, f) {
				if err = failed; !yield(c, err) || err != nil {
					ended = true
					break
				}
			}
			return err
		})
		if err != nil && !ended {
			yield(checks.Check{}, err)
		}
	}
}

// TagSets counts checks.
func (h hooks) TagSets(ctx context.Context, f store.CheckFilter, now time.Time) ([]checks.TagSet, error) {
	return hooked(h, "Checks", func() ([]checks.TagSet, error) { return h.Store.TagSets(ctx, f, now) })
}

// Projects reads projects.
func (h hooks) Projects(ctx context.Context, f store.ProjectFilter) ([]checks.Project, error) {
	return hooked(h, byBadge("Projects", f.BadgeKey != nil), func() ([]checks.Project, error) { return h.Store.Projects(ctx, f) })
}

// Keys reads API keys.
func (h hooks) Keys(ctx context.Context, f store.KeyFilter) ([]checks.Key, error) {
	return hooked(h, "Keys", func() ([]checks.Key, error) { return h.Store.Keys(ctx, f) })
}

// Channels reads channels.
func (h hooks) Channels(ctx context.Context, f store.ChannelFilter) ([]channels.Channel, error) {
	return hooked(h, "Channels", func() ([]channels.Channel, error) { return h.Store.Channels(ctx, f) })
}

// StatusPages reads status pages.
func (h hooks) StatusPages(ctx context.Context, f store.StatusPageFilter) ([]checks.StatusPage, error) {
	return hooked(h, "StatusPages", func() ([]checks.StatusPage, error) { return h.Store.StatusPages(ctx, f) })
}

// Windows reads maintenance windows and snoozes.
func (h hooks) Windows(ctx context.Context, f store.WindowFilter) ([]store.Window, error) {
	return hooked(h, "Windows", func() ([]store.Window, error) { return h.Store.Windows(ctx, f) })
}

// CountChecks counts checks.
func (h hooks) CountChecks(ctx context.Context, project uuid.UUID, q checks.ListQuery) (checks.Counts, error) {
	return hooked(h, "CountChecks", func() (checks.Counts, error) { return h.Store.CountChecks(ctx, project, q) })
}

// ListChecks reads the checks of a list.
func (h hooks) ListChecks(ctx context.Context, project uuid.UUID, q checks.ListQuery) ([]checks.Check, error) {
	return hooked(h, "ListChecks", func() ([]checks.Check, error) { return h.Store.ListChecks(ctx, project, q) })
}

// BySlug finds the project of a ping key, and its checks with a slug.
func (h hooks) BySlug(ctx context.Context, pingKey, slug string) (project uuid.UUID, ids []uuid.UUID, err error) {
	err = h.around("BySlug", func() (err error) {
		project, ids, err = h.Store.BySlug(ctx, pingKey, slug)
		return err
	})
	return project, ids, err
}

// Pings reads logs.
func (h hooks) Pings(ctx context.Context, q store.PingQuery) (map[uuid.UUID][]pings.Ping, error) {
	return hooked(h, "Pings", func() (map[uuid.UUID][]pings.Ping, error) { return h.Store.Pings(ctx, q) })
}

// Events reads transitions and pauses.
func (h hooks) Events(ctx context.Context, q store.EventQuery) (map[uuid.UUID][]checks.Event, error) {
	return hooked(h, "Events", func() (map[uuid.UUID][]checks.Event, error) { return h.Store.Events(ctx, q) })
}

// Records reads records.
func (h hooks) Records(ctx context.Context, now time.Time, q records.Query) ([]records.Record, error) {
	return hooked(h, "Records", func() ([]records.Record, error) { return h.Store.Records(ctx, now, q) })
}

// Setting reads or stores a setting.
func (h hooks) Setting(ctx context.Context, now time.Time, s store.Setting) (store.Setting, error) {
	return hooked(h, "Setting", func() (store.Setting, error) { return h.Store.Setting(ctx, now, s) })
}

func byBadge(op string, badge bool) string {
	if badge {
		return "ByBadge"
	}
	return op
}

func hooked[T any](h hooks, op string, read func() (T, error)) (result T, err error) {
	err = h.around(op, func() (err error) {
		result, err = read()
		return err
	})
	return result, err
}

// Insert adds projects, keys and checks as they are, with identifiers and keys that no monitor would choose.
func Insert(t testing.TB, s *sqlstore.Store, projects []checks.Project, keys []checks.Key, list []checks.Check) {
	t.Helper()
	err := s.Contract().(store.Store).Update(t.Context(), func(ctx context.Context, tx store.Tx) error {
		change, err := tx.Change(ctx)
		if err != nil {
			return err
		}
		for _, p := range projects {
			if err := change.SaveProject(ctx, p); err != nil {
				return err
			}
		}
		for _, k := range keys {
			if err := change.SaveKey(ctx, k); err != nil {
				return err
			}
		}
		for _, c := range list {
			if err := tx.SaveChecks(ctx, []*store.Locked{{Check: c}}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
