package client

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/gate"
	"github.com/rollcall-dev/rollcall/client/wire"
)

const windowsPath = "/api/v3/windows/"

// Windows returns maintenance windows and snoozes of the project, in the order of their starts; of those that have ended, only those of
// the last 366 days. [gate.Window.Covers] says which checks one is about, and [gate.Window.At] whether it is in effect. With a
// read-only key, Checks has the zero UUID for each check. The error is a *[checks.FieldError] for a kind that does not exist.
func (c *Client) Windows(ctx context.Context, q checks.WindowQuery) ([]gate.Window, error) {
	query := make(url.Values)
	if q.Kind != "" {
		query.Set("kind", string(q.Kind))
	}
	all, err := c.listWindows(ctx, query)
	if err == nil && !q.EndsAfter.IsZero() { // in this order, so that none is missed that ends meanwhile
		query.Set("past", "1")
		var past []gate.Window
		past, err = c.listWindows(ctx, query)
		all = append(all, past...)
	}
	if err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(all, func(w gate.Window) bool { return w.Over(q.EndsAfter) })
	slices.SortStableFunc(all, func(a, b gate.Window) int { return cmp.Or(a.Start.Compare(b.Start), bytes.Compare(a.ID[:], b.ID[:])) })
	return slices.CompactFunc(all, func(a, b gate.Window) bool { return a.ID == b.ID }), nil
}

func (c *Client) listWindows(ctx context.Context, query url.Values) ([]gate.Window, error) {
	return get(ctx, c, "list windows", withQuery(windowsPath, query), func(d wire.Windows) ([]gate.Window, error) {
		return each("windows", d.Windows, wire.Window.Window)
	})
}

// Window returns a maintenance window or a snooze of the project. The error is [checks.ErrNotFound] if it does not exist.
func (c *Client) Window(ctx context.Context, id uuid.UUID) (gate.Window, error) {
	return get(ctx, c, "get window "+id.String(), windowsPath+id.String(), wire.Window.Window)
}

// AddWindow adds a maintenance window or a snooze, with times in whole seconds, and returns it with its ID, By and CreatedAt. From its
// start to its end, alerts of the checks that it covers wait. Without a Start it begins now, on the server's clock. The error is a
// *[checks.FieldError] for what the server refuses. If no response arrives, the server may still have added it.
func (c *Client) AddWindow(ctx context.Context, w gate.Window) (gate.Window, error) {
	document, err := wire.NewWindowRequest(w)
	if err != nil {
		return gate.Window{}, fmt.Errorf("client: add window: %w", err)
	}
	added, _, err := do(ctx, c, call{name: "add window", method: http.MethodPost, path: windowsPath, body: document}, wire.Window.Window)
	return added, err
}

// EndWindow ends a maintenance window or a snooze now: alerts that wait for it are sent. One that has not begun is deleted. The error is
// [checks.ErrNotFound] if it does not exist.
func (c *Client) EndWindow(ctx context.Context, id uuid.UUID) (gate.Window, error) {
	ended, _, err := do(ctx, c, call{name: "end window " + id.String(), method: http.MethodDelete, path: windowsPath + id.String()}, wire.Window.Window)
	return ended, err
}
