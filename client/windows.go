package client

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/gate"
	"github.com/rollcall-dev/rollcall/client/wire"
)

// windowPaths are the paths of the kinds of windows.
var windowPaths = map[gate.WindowKind]string{gate.Maintenance: "/api/v3/maintenance/", gate.Snooze: "/api/v3/snoozes/"}

// Windows returns maintenance windows and snoozes of the project, in the order of their starts; of those that have ended, only those of
// the last 366 days. [gate.Window.Covers] says which checks one is about, and [gate.Window.At] whether it is in effect. With a
// read-only key, Checks has the zero UUID for each check.
func (c *Client) Windows(ctx context.Context, q checks.WindowQuery) ([]gate.Window, error) {
	queries := []string{"", "?past=1"} // in this order, so that none is missed that ends meanwhile
	if q.EndsAfter.IsZero() {
		queries = queries[:1]
	}
	all := []gate.Window{}
	for _, kind := range []gate.WindowKind{gate.Maintenance, gate.Snooze} {
		if q.Kind != "" && q.Kind != kind {
			continue
		}
		for _, query := range queries {
			found, err := get(ctx, c, "list windows", windowPaths[kind]+query, func(d wire.Windows) ([]gate.Window, error) {
				return each("windows", d.Windows, wire.Window.Window)
			})
			if err != nil {
				return nil, err
			}
			all = append(all, found...)
		}
	}
	all = slices.DeleteFunc(all, func(w gate.Window) bool { return w.Over(q.EndsAfter) })
	slices.SortStableFunc(all, func(a, b gate.Window) int { return cmp.Or(a.Start.Compare(b.Start), bytes.Compare(a.ID[:], b.ID[:])) })
	return slices.CompactFunc(all, func(a, b gate.Window) bool { return a.ID == b.ID }), nil
}

// Window returns a maintenance window or a snooze of the project. The error is [checks.ErrNotFound] if it does not exist.
func (c *Client) Window(ctx context.Context, id uuid.UUID) (gate.Window, error) {
	return c.byWindow(ctx, call{name: "get window " + id.String(), method: http.MethodGet, idempotent: true}, id)
}

// AddWindow adds a maintenance window or a snooze, with times in whole seconds, and returns it with its ID, By and CreatedAt. From its
// start to its end, alerts of the checks that it covers wait. Without a Start it begins now, on the server's clock. The error is a
// *[checks.FieldError] for what the server refuses. If no response arrives, the server may still have added it.
func (c *Client) AddWindow(ctx context.Context, w gate.Window) (gate.Window, error) {
	path, ok := windowPaths[w.Kind]
	if !ok {
		reason := fmt.Sprintf("is neither %q nor %q: %q", gate.Maintenance, gate.Snooze, w.Kind)
		return gate.Window{}, fmt.Errorf("client: add window: %w", &checks.FieldError{Field: "kind", Reason: reason})
	}
	document, err := wire.NewWindowRequest(w)
	if err != nil {
		return gate.Window{}, fmt.Errorf("client: add window: %w", err)
	}
	added, _, err := do(ctx, c, call{name: "add window", method: http.MethodPost, path: path, body: document}, wire.Window.Window)
	return added, err
}

// EndWindow ends a maintenance window or a snooze now: alerts that wait for it are sent. One that has not begun is deleted. The error is
// [checks.ErrNotFound] if it does not exist.
func (c *Client) EndWindow(ctx context.Context, id uuid.UUID) (gate.Window, error) {
	return c.byWindow(ctx, call{name: "end window " + id.String(), method: http.MethodDelete}, id)
}

// byWindow makes a call about a window, whose kind is not known.
func (c *Client) byWindow(ctx context.Context, k call, id uuid.UUID) (w gate.Window, err error) {
	for _, kind := range []gate.WindowKind{gate.Maintenance, gate.Snooze} {
		k.path = windowPaths[kind] + id.String()
		if w, _, err = do(ctx, c, k, wire.Window.Window); !errors.Is(err, checks.ErrNotFound) {
			break
		}
	}
	return w, err
}
