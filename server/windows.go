package server

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/gate"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/client/wire"
	"github.com/rollcall-dev/rollcall/server/internal/request"
)

const (
	// maxPingSnooze bounds a snooze by ping key, which every job has.
	maxPingSnooze = 24 * time.Hour
	// pastWindows is how long windows are listed that have ended.
	pastWindows = 366 * 24 * time.Hour
	// maxNamed bounds the checks that a request names: each slug is a query.
	maxNamed = 100
)

// identifyPingKey finds the project of a ping key. A wrong one gets the answer of a ping.
func (c *call) identifyPingKey(key string) error {
	project, err := c.mon.Projects().ByPingKey(c.r.Context(), key)
	if err != nil {
		return err
	}
	c.pingKeyed, c.right = true, checks.Edit
	c.key = checks.Key{ProjectID: project.ID, ID: uuid.NewSHA1(project.ID, []byte("ping key"))} // for the rate limit
	return nil
}

// listWindows answers GET /api/v3/windows/.
func (c *call) listWindows() error {
	params := c.r.URL.Query()
	query := checks.WindowQuery{Kind: gate.WindowKind(params.Get("kind"))}
	if params.Has("kind") && query.Kind == "" {
		return &checks.FieldError{Field: "kind", Reason: "is empty: leave it out for all windows"}
	}
	past, now := params.Get("past") == "1", c.mon.Now()
	if past {
		query.EndsAfter = now.Add(-pastWindows)
	}
	list, err := c.mon.Project(c.key.ProjectID).Windows(c.r.Context(), query)
	if err != nil {
		return err
	}
	if past {
		list = slices.DeleteFunc(list, func(w gate.Window) bool { return !w.Over(now) })
		slices.Reverse(list)
	}
	document := wire.Windows{Windows: make([]wire.Window, len(list))}
	for i, w := range list {
		document.Windows[i] = c.windowDocument(w)
	}
	return c.answer(http.StatusOK, document)
}

// addWindow answers POST /api/v3/windows/.
func (c *call) addWindow() error {
	wanted, err := requested(c, request.Body.Window)
	if err != nil {
		return err
	}
	if err := selects(wanted); err != nil {
		return err
	}
	w := gate.Window{Kind: wanted.Kind, Start: wanted.Start, End: wanted.End, Duration: wanted.Duration}
	for into, text := range map[*string]*string{&w.Schedule: wanted.Schedule, &w.TZ: wanted.TZ, &w.Note: wanted.Note} {
		if text != nil {
			*into = *text
		}
	}
	if wanted.Tags != nil {
		w.Tags = strings.Fields(*wanted.Tags)
	}
	if n := len(wanted.Checks); n > maxNamed {
		return &checks.FieldError{Field: "checks", Reason: fmt.Sprintf("has %d items, the maximum is %d: select by tags", n, maxNamed)}
	}
	if w.Checks, err = c.namedChecks("checks", wanted.Checks); err != nil {
		return err
	}
	if err := c.mayAdd(w); err != nil {
		return err
	}
	project := c.mon.Project(c.key.ProjectID)
	if w, err = project.AddWindow(c.r.Context(), w); err != nil {
		return err
	}
	warnings, err := project.WindowWarnings(c.r.Context(), w)
	if err != nil {
		return err
	}
	c.warn(warnings...)
	return c.answer(http.StatusCreated, c.windowDocument(w))
}

// selects refuses fields that select nothing, as those of a script whose variable is not set: without them, a window covers the whole
// project.
func selects(wanted request.Window) error {
	field := ""
	switch {
	case wanted.Tags != nil && strings.TrimSpace(*wanted.Tags) == "":
		field = "tags"
	case wanted.Checks != nil && len(wanted.Checks) == 0:
		field = "checks"
	default:
		return nil
	}
	return &checks.FieldError{Field: field, Reason: "is empty: leave it out, or to cover the whole project both checks and tags"}
}

// mayAdd bounds what a ping key adds.
func (c *call) mayAdd(w gate.Window) error {
	if !c.pingKeyed {
		return nil
	}
	now := c.mon.Now()
	if w.Start.IsZero() {
		w.Start = now
	}
	switch latest := now.Add(maxPingSnooze); {
	case w.Kind != gate.Snooze:
		return &checks.FieldError{Field: "kind", Reason: fmt.Sprintf("is not %q, the only kind that a ping key adds", gate.Snooze)}
	case w.End.After(latest), w.Start.Add(w.Duration).After(latest):
		return &checks.FieldError{Field: "end", Reason: "is too late: with a ping key, a snooze ends within 24 hours"}
	}
	return nil
}

// namedChecks returns the checks with these UUIDs and slugs. It does not look for the UUIDs in the project.
func (c *call) namedChecks(field string, names []string) ([]uuid.UUID, error) {
	ids := make([]uuid.UUID, len(names))
	for i, name := range names {
		var ok bool
		if ids[i], ok = parseUUID(name, true); ok {
			continue
		}
		err := checks.ErrNotFound
		if checks.ValidSlug(name) {
			var found checks.Snapshot
			found, err = c.mon.Project(c.key.ProjectID).CheckBySlug(c.r.Context(), name)
			ids[i] = found.ID
		}
		if errors.Is(err, checks.ErrNotFound) || errors.Is(err, checks.ErrAmbiguousSlug) {
			err = &checks.FieldError{Field: field, Reason: fmt.Sprintf("has %q, which is neither the UUID nor the slug of one check", cut(name))}
		}
		if err != nil {
			return nil, err
		}
	}
	return ids, nil
}

// getWindow answers GET /api/v3/windows/<id>.
func (c *call) getWindow() error { return c.answer(http.StatusOK, c.windowDocument(c.window)) }

// endWindow answers DELETE /api/v3/windows/<id>. A ping key ends what was added with it.
func (c *call) endWindow() error {
	if c.pingKeyed && !monitor.ByPingKey(c.window) {
		return errNotFound
	}
	w, err := c.mon.Project(c.key.ProjectID).EndWindow(c.r.Context(), c.window.ID)
	if err != nil {
		return err
	}
	return c.answer(http.StatusOK, c.windowDocument(w))
}

// windowDocument renders a window for the key of the request.
func (c *call) windowDocument(w gate.Window) wire.Window {
	return wire.NewWindow(w, c.mon.Now(), c.right.Edits() || c.key.Scope.SeesIDs())
}
