package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/client/wire"
)

// Check is a check as the server describes it (server/API.md section 2.1). With a read-only key, ID, Channels and all
// URLs except BadgeURL have their zero values. A zero time means "none".
type Check struct {
	ID uuid.UUID
	// UniqueKey identifies the check without revealing ID. With a read-write key it is derived from ID.
	UniqueKey string

	// Settings are what a user sets. Timeout is 0 for a Cron check, and TZ is "" if the check has neither a schedule nor
	// quiet hours.
	checks.Settings

	// Status is the state at the time of the response.
	Status checks.Status
	// NPings is the number of pings received.
	NPings int64
	// Started reports whether a run is in progress. It is always false unless the server is configured to report it.
	Started bool
	// LastPing is when the last success or failure arrived, in whole seconds.
	LastPing time.Time
	// NextPing is when the next ping is expected, in whole seconds.
	NextPing time.Time

	// Channels are the channels that get the alerts.
	Channels []uuid.UUID

	PingURL   string // receives the pings of the job; see [NewPinger]
	UpdateURL string
	PauseURL  string
	ResumeURL string
	BadgeURL  string
}

// Query restricts a list of checks (server/API.md section 4.1).
type Query struct {
	Slug string   // only checks with this slug; "" for any
	Tags []string // only checks with all of these tags
}

const checksPath = "/api/v3/checks/"

// List returns the checks of the project (server/API.md section 4.1). The zero Query selects all of them.
func (c *Client) List(ctx context.Context, q Query) ([]Check, error) {
	params := url.Values{}
	if q.Slug != "" {
		params.Set("slug", q.Slug)
	}
	params["tag"] = slices.DeleteFunc(slices.Clone(q.Tags), func(tag string) bool { return tag == "" })
	path := checksPath
	if query := params.Encode(); query != "" {
		path += "?" + query
	}
	return get(ctx, c, "list checks", path, func(d wire.Checks) ([]Check, error) { return each("checks", d.Checks, checkOf) })
}

// Get returns a check (server/API.md section 4.2). The error is [checks.ErrNotFound] if it does not exist.
func (c *Client) Get(ctx context.Context, id uuid.UUID) (Check, error) {
	return get(ctx, c, "get check", checkPath(id), checkOf)
}

// CheckBySlug returns the check of the project with a slug. The error is [checks.ErrNotFound] if there is none or the slug
// is empty, and [checks.ErrAmbiguousSlug] if several checks have it.
func (c *Client) CheckBySlug(ctx context.Context, slug string) (Check, error) {
	err := error(checks.ErrNotFound)
	if slug != "" {
		list, listErr := c.List(ctx, Query{Slug: slug})
		switch {
		case listErr != nil:
			return Check{}, listErr
		case len(list) == 1:
			return list[0], nil
		case len(list) > 1:
			err = checks.ErrAmbiguousSlug
		}
	}
	return Check{}, fmt.Errorf("client: get check: %w", err)
}

// GetByUniqueKey returns the check of the project with a unique key: 40 lower-case hexadecimal digits. The error is
// [checks.ErrNotFound] if it does not exist or key is not a unique key.
func (c *Client) GetByUniqueKey(ctx context.Context, key string) (Check, error) {
	const name = "get check"
	if !isUniqueKey(key) {
		return Check{}, fmt.Errorf("client: %s: %w", name, checks.ErrNotFound)
	}
	return get(ctx, c, name, checksPath+key, checkOf)
}

// Create creates a check (server/API.md section 4.3). The error is a *[checks.FieldError] for a setting that the server
// refuses, and [checks.ErrCheckLimit] if the account has no room for another check. Spec.ID must be zero: the server
// assigns the identifier. If no response arrives, the server may still have created the check.
func (c *Client) Create(ctx context.Context, spec checks.Spec) (Check, error) {
	check, _, err := c.Upsert(ctx, spec)
	return check, err
}

// Upsert updates the oldest check of the project whose unique fields equal those of the spec, and creates one if there
// is none (server/API.md section 4.3 rule 4). A unique field that the spec does not set matches no check. Without
// unique fields, Upsert always creates a check. If a retry finds the check that an earlier try created, created is
// false. The errors are those of [Client.Create].
func (c *Client) Upsert(ctx context.Context, spec checks.Spec, unique ...checks.UniqueField) (check Check, created bool, err error) {
	name := "create check"
	if len(unique) > 0 {
		name = "upsert check"
	}
	if spec.ID != uuid.Nil {
		return Check{}, false, fmt.Errorf("client: %s: %w", name, &checks.FieldError{Field: "uuid", Reason: "cannot be set: the server assigns it"})
	}
	document, err := wire.Request(spec, unique...)
	if err != nil {
		return Check{}, false, fmt.Errorf("client: %s: %w", name, err)
	}
	check, status, err := do(ctx, c, call{
		name: name, method: http.MethodPost, path: checksPath, body: document, idempotent: findsItself(spec, unique),
		causes: map[int]error{http.StatusForbidden: checks.ErrCheckLimit},
	}, checkOf)
	return check, status == http.StatusCreated, err
}

// findsItself reports whether a retried upsert is certain to find the check that an earlier try created.
func findsItself(spec checks.Spec, unique []checks.UniqueField) bool {
	set := map[checks.UniqueField]bool{
		checks.UniqueName: spec.Name != nil, checks.UniqueSlug: spec.Slug != nil, checks.UniqueTags: spec.Tags != nil,
		checks.UniqueGrace:   spec.Grace != nil,
		checks.UniqueTimeout: spec.Timeout != nil && spec.Schedule == nil, // a Cron check has no timeout
	}
	return len(unique) > 0 && !slices.ContainsFunc(unique, func(field checks.UniqueField) bool { return !set[field] })
}

// Update changes settings of a check (server/API.md section 4.4). The error is [checks.ErrNotFound] if the check does
// not exist, and a *[checks.FieldError] for a setting that the server refuses. Spec.ID is ignored.
func (c *Client) Update(ctx context.Context, id uuid.UUID, spec checks.Spec) (Check, error) {
	const name = "update check"
	document, err := wire.Request(spec)
	if err != nil {
		return Check{}, fmt.Errorf("client: %s: %w", name, err)
	}
	return c.change(ctx, call{name: name, method: http.MethodPost, path: checkPath(id), body: document, idempotent: true})
}

// Pause stops the monitoring of a check (server/API.md section 4.5). The error is [checks.ErrNotFound] if the check
// does not exist.
func (c *Client) Pause(ctx context.Context, id uuid.UUID) (Check, error) {
	return c.change(ctx, call{name: "pause check", method: http.MethodPost, path: checkPath(id) + "/pause", idempotent: true})
}

// Resume makes a paused check new (server/API.md section 4.6). The error is [checks.ErrNotPaused] if the check is not
// paused, and [checks.ErrNotFound] if it does not exist.
func (c *Client) Resume(ctx context.Context, id uuid.UUID) (Check, error) {
	return c.change(ctx, call{
		name: "resume check", method: http.MethodPost, path: checkPath(id) + "/resume",
		causes: map[int]error{http.StatusConflict: checks.ErrNotPaused},
	})
}

// Delete deletes a check with its log for good and returns its last state (server/API.md section 4.7). The error is
// [checks.ErrNotFound] if it does not exist.
func (c *Client) Delete(ctx context.Context, id uuid.UUID) (Check, error) {
	return c.change(ctx, call{name: "delete check", method: http.MethodDelete, path: checkPath(id)})
}

// change makes a call whose response is a check.
func (c *Client) change(ctx context.Context, k call) (Check, error) {
	check, _, err := do(ctx, c, k, checkOf)
	return check, err
}

func checkPath(id uuid.UUID) string { return checksPath + id.String() }

func isUniqueKey(text string) bool {
	return len(text) == 40 && strings.Trim(text, "0123456789abcdef") == ""
}

// checkOf translates the document of a check.
func checkOf(d wire.Check) (Check, error) {
	c := Check{
		UniqueKey: d.UniqueKey,
		Settings:  d.Settings(),
		Status:    checks.Status(d.Status), NPings: d.NPings, Started: d.Started,
		LastPing: timeOf(d.LastPing), NextPing: timeOf(d.NextPing),
		PingURL: d.PingURL, UpdateURL: d.UpdateURL, PauseURL: d.PauseURL, ResumeURL: d.ResumeURL, BadgeURL: d.BadgeURL,
	}
	if d.UUID == "" && d.UniqueKey == "" {
		return Check{}, errors.New("the response is not a check: it has neither uuid nor unique_key")
	}
	var err error
	if d.UUID != "" {
		if c.ID, err = uuid.Parse(d.UUID); err != nil {
			return Check{}, fmt.Errorf("the uuid in the response is not valid: %q", d.UUID)
		}
		c.UniqueKey = checks.UniqueKey(c.ID)
	}
	if d.Channels == nil || *d.Channels == "" {
		return c, nil
	}
	for text := range strings.SplitSeq(*d.Channels, ",") {
		id, err := uuid.Parse(text)
		if err != nil {
			return Check{}, fmt.Errorf("a channel in the response is not a UUID: %q", text)
		}
		c.Channels = append(c.Channels, id)
	}
	return c, nil
}

func timeOf(t *wire.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.Time
}
