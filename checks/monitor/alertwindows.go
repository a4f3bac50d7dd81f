package monitor

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/audit"
	"github.com/rollcall-dev/rollcall/checks/gate"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
	"github.com/rollcall-dev/rollcall/flips"
)

// Windows returns maintenance windows and snoozes of the project, in the order of their starts. [gate.Window.Covers] says which
// checks one is about, and [gate.Window.At] whether it is in effect. Errors: [checks.ErrNotFound]; *[checks.FieldError] for a kind
// that does not exist.
func (p *Project) Windows(ctx context.Context, q checks.WindowQuery) ([]gate.Window, error) {
	if q.Kind != "" {
		if err := q.Kind.Validate(); err != nil {
			return nil, p.about(fieldError(err))
		}
	}
	found, err := p.windows(ctx, p.store, store.WindowFilter{Kind: q.Kind, EndsAfter: orNow(q.EndsAfter, p.now())})
	return found, p.about(p.exists(ctx, len(found), err))
}

func orNow(t, now time.Time) time.Time {
	if t.IsZero() {
		return now
	}
	return t
}

// Window returns a maintenance window or a snooze of the project. Error: [checks.ErrNotFound].
func (p *Project) Window(ctx context.Context, id uuid.UUID) (gate.Window, error) {
	w, err := p.window(ctx, p.store, id)
	return w, about("window", id, err)
}

// AddWindow adds a maintenance window or a snooze, as [gate.Window.Normalize] returns it, and sets its ID, By and CreatedAt. From
// its start to its end, alerts of the checks that it covers wait, but never that a check is up after an alert. What is still down
// at its end is alerted then. It may have begun up to 31 days ago. A snooze by ping key (see package audit) that overlaps or adjoins
// one with the same checks, tags and note extends that, and AddWindow returns it. Errors: *[checks.FieldError], also for the field
// "project" when that has [checks.MaxWindows], or [checks.MaxKeySnoozes] by ping key, and for "checks" with a check that is not in the project;
// [checks.ErrNotFound].
func (p *Project) AddWindow(ctx context.Context, w gate.Window) (gate.Window, error) {
	now := p.now()
	w, err := w.Normalize(now)
	if err != nil {
		return gate.Window{}, p.about(fieldError(err))
	}
	w.ID, w.By, w.CreatedAt = uuid.New(), audit.ActorOf(ctx).Known(), now
	added, byKey := w, ByPingKey(w)
	err = p.store.Update(ctx, func(ctx context.Context, tx store.Tx) error {
		if _, err := tx.LockAccount(ctx, p.id); err != nil {
			return err
		}
		found, err := p.windows(ctx, tx, store.WindowFilter{EndsAfter: now})
		if err != nil {
			return err
		}
		w = added
		found = slices.DeleteFunc(found, func(other gate.Window) bool { return ByPingKey(other) != byKey })
		most, what := checks.MaxWindows, "maintenance windows and snoozes that have not ended"
		if byKey {
			most, what = checks.MaxKeySnoozes, "snoozes by ping key that have not ended"
			if i := slices.IndexFunc(found, func(other gate.Window) bool { return joins(other, w) }); i >= 0 {
				w, err = p.extendWindow(ctx, tx, found[i], w)
				return err
			}
		}
		if err := roomForOne(len(found), most, what); err != nil {
			return err
		}
		if err := p.knows(ctx, tx, w.Checks); err != nil {
			return err
		}
		return p.saveWindow(ctx, tx, w, gate.Window{}, ".create")
	})
	if err != nil {
		return gate.Window{}, p.about(err)
	}
	return w, nil
}

// ByPingKey reports whether a window was added with the ping key of its project.
func ByPingKey(w gate.Window) bool { return w.By == audit.Actor{Kind: audit.PingKey}.Words() }

// joins reports whether two windows that occur once keep back the same alerts for the same reason, without a time between them.
func joins(a, b gate.Window) bool {
	return a.Kind == b.Kind && a.Note == b.Note && sameItems(a.Checks, b.Checks) && sameItems(a.Tags, b.Tags) &&
		!a.Start.After(b.End) && !b.Start.After(a.End)
}

// sameItems reports whether two lists without duplicates have the same items.
func sameItems[T comparable](a, b []T) bool {
	return len(a) == len(b) && !slices.ContainsFunc(a, func(item T) bool { return !slices.Contains(b, item) })
}

// extendWindow saves a window that lasts from the first start of two to their last end.
func (p *Project) extendWindow(ctx context.Context, tx store.AdminTx, w, by gate.Window) (gate.Window, error) {
	before := w
	w.Start, w.End = earlier(w.Start, by.Start), later(w.End, by.End)
	if w.Start.Equal(before.Start) && w.End.Equal(before.End) {
		return w, nil
	}
	return w, p.saveWindow(ctx, tx, w, before, ".update")
}

// EndWindow ends a maintenance window or a snooze now: alerts that wait for it are sent. A recurring one ends for good. What has
// occurred stays as long as flips, for statistics; a window of which nothing has occurred is deleted. One that has ended stays as
// it is. Error: [checks.ErrNotFound].
func (p *Project) EndWindow(ctx context.Context, id uuid.UUID) (w gate.Window, err error) {
	err = p.store.Update(ctx, func(ctx context.Context, tx store.Tx) error {
		if _, err := tx.LockAccount(ctx, p.id); err != nil {
			return err
		}
		if w, err = p.window(ctx, tx, id); err != nil {
			return err
		}
		now, before := p.now(), w
		if w.Over(now) {
			return nil
		}
		w.End = slices.MaxFunc([]time.Time{now, w.Start}, time.Time.Compare)
		if len(w.Spans(w.Start, now)) > 0 {
			return p.saveWindow(ctx, tx, w, before, ".end")
		}
		change, err := p.note(ctx, tx, p.aboutWindow(w, ".end", windowChanges(before, w)))
		if err != nil {
			return err
		}
		return change.DeleteWindow(ctx, p.id, id)
	})
	if err != nil {
		return gate.Window{}, about("window", id, err)
	}
	return w, nil
}

// saveWindow saves a window of the project that was another one before.
func (p *Project) saveWindow(ctx context.Context, tx store.AdminTx, w, before gate.Window, verb string) error {
	change, err := p.note(ctx, tx, p.aboutWindow(w, verb, windowChanges(before, w)))
	if err != nil {
		return err
	}
	return change.SaveWindow(ctx, store.Window{Window: w, ProjectID: p.id}, w.End)
}

func (p *Project) aboutWindow(w gate.Window, verb string, changes []audit.Change) audit.Entry {
	e := audit.Entry{ProjectID: p.id, Action: string(w.Kind) + verb, Object: cmp.Or(w.Note, string(w.Kind)), Changes: changes}
	if len(w.Checks) == 1 {
		e.CheckID = w.Checks[0]
	}
	return e
}

// knows refuses checks that are not in the project.
func (p *Project) knows(ctx context.Context, tx store.Lookup, ids []uuid.UUID) error {
	if len(ids) == 0 {
		return nil
	}
	all, err := tx.FindChecks(ctx, p.id, store.Match{})
	if err != nil {
		return err
	}
	known := make(map[uuid.UUID]bool, len(all))
	for _, id := range all {
		known[id] = true
	}
	if i := slices.IndexFunc(ids, func(id uuid.UUID) bool { return !known[id] }); i >= 0 {
		return &checks.FieldError{Field: "checks", Reason: "has a check that is not in the project: " + ids[i].String()}
	}
	return nil
}

// window reads a window of the project.
func (p *Project) window(ctx context.Context, from windowReader, id uuid.UUID) (gate.Window, error) {
	w, err := one(from.Windows(ctx, store.WindowFilter{ID: &id}))
	if err == nil && w.ProjectID != p.id {
		err = checks.ErrNotFound
	}
	return w.Window, err
}

// windows reads windows of the project.
func (p *Project) windows(ctx context.Context, from windowReader, f store.WindowFilter) ([]gate.Window, error) {
	return windowsOf(ctx, from, p.id, f)
}

// windowsOf reads windows of a project.
func windowsOf(ctx context.Context, from windowReader, project uuid.UUID, f store.WindowFilter) ([]gate.Window, error) {
	f.Projects = []uuid.UUID{project}
	found, err := from.Windows(ctx, f)
	list := make([]gate.Window, len(found))
	for i, w := range found {
		list[i] = w.Window
	}
	return list, err
}

// maintenance returns the stretches of time in which a check was in maintenance, from an instant until now.
func (s *service) maintenance(ctx context.Context, c checks.Check, from, now time.Time) ([]flips.Span, error) {
	windows, err := windowsOf(ctx, s.store, c.ProjectID, store.WindowFilter{Kind: gate.Maintenance, EndsAfter: from})
	return gate.Covered(windows, from, now)(c.ID, c.TagList()), err
}

// windowReader is the store, or a transaction.
type windowReader interface {
	Windows(ctx context.Context, f store.WindowFilter) ([]store.Window, error)
}

// fieldError returns the error of package gate as that of the field of a request.
func fieldError(err error) error {
	if e, ok := errors.AsType[*gate.Error](err); ok {
		return &checks.FieldError{Field: e.Field, Reason: e.Reason, Err: e.Err}
	}
	return err
}

// windowChanges returns what differs between two windows.
func windowChanges(from, to gate.Window) []audit.Change {
	instant := func(t time.Time) string {
		if t.IsZero() {
			return ""
		}
		return t.Format(time.RFC3339)
	}
	ids := func(w gate.Window) string {
		var list []string
		for _, id := range w.Checks {
			list = append(list, id.String())
		}
		return strings.Join(list, " ")
	}
	duration := func(w gate.Window) string {
		if w.Duration == 0 {
			return ""
		}
		return checks.ValueText(w.Duration)
	}
	changes := add(nil, "checks", ids(from), ids(to))
	changes = add(changes, "tags", strings.Join(from.Tags, " "), strings.Join(to.Tags, " "))
	changes = add(changes, "start", instant(from.Start), instant(to.Start))
	changes = add(changes, "end", instant(from.End), instant(to.End))
	changes = add(changes, "schedule", from.Schedule, to.Schedule)
	changes = add(changes, "duration", duration(from), duration(to))
	changes = add(changes, "tz", from.TZ, to.TZ)
	return add(changes, "note", from.Note, to.Note)
}
