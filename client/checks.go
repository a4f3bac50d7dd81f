package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/gate"
	"github.com/rollcall-dev/rollcall/client/wire"
)

const checksPath = "/api/v3/checks/"

// Check returns a check of the project. With a read-only key, use [Client.CheckByUniqueKey].
func (c *Client) Check(ctx context.Context, id uuid.UUID) (checks.Snapshot, error) {
	return get(ctx, c, "get check "+id.String(), checkPath(id), checkOf)
}

// Checks returns the checks of the project that the query selects, oldest first: all of them or none, however many there are.
// Config.Timeout includes the time to read them.
func (c *Client) Checks(ctx context.Context, q checks.Query) ([]checks.Snapshot, error) {
	params := url.Values{}
	if q.Slug != "" {
		params.Set("slug", q.Slug)
	}
	params["tag"] = slices.DeleteFunc(slices.Clone(q.Tags), func(tag string) bool { return tag == "" })
	path := checksPath
	if query := params.Encode(); query != "" {
		path += "?" + query
	}
	r, err := c.request(call{name: "list checks", method: http.MethodGet, path: path, idempotent: true})
	if err != nil {
		return nil, err
	}
	var list []checks.Snapshot
	err = c.caller.do(ctx, r, func(res *http.Response) (err error) {
		list, err = decodeList(res, "checks", checkOf)
		return err
	})
	return list, err
}

// CheckBySlug returns the check of the project with a slug. The error is [checks.ErrNotFound] if there is none or the slug
// is empty, and [checks.ErrAmbiguousSlug] if several checks have it.
func (c *Client) CheckBySlug(ctx context.Context, slug string) (checks.Snapshot, error) {
	err := error(checks.ErrNotFound)
	if slug != "" {
		list, listErr := c.Checks(ctx, checks.Query{Slug: slug})
		switch {
		case listErr != nil:
			return checks.Snapshot{}, listErr
		case len(list) == 1:
			return list[0], nil
		case len(list) > 1:
			err = checks.ErrAmbiguousSlug
		}
	}
	return checks.Snapshot{}, fmt.Errorf("client: get check %q: %w", slug, err)
}

// CheckByUniqueKey returns the check of the project with a unique key: 40 lower-case hexadecimal digits. The error is
// [checks.ErrNotFound] if it does not exist or key is not a unique key.
func (c *Client) CheckByUniqueKey(ctx context.Context, key string) (checks.Snapshot, error) {
	name := "get check " + strconv.Quote(key)
	if !isUniqueKey(key) {
		return checks.Snapshot{}, fmt.Errorf("client: %s: %w", name, checks.ErrNotFound)
	}
	return get(ctx, c, name, checksPath+key, checkOf)
}

// Create creates a check. Without Spec.Channels it alerts nobody, as the API says (section 4.3); "*" selects all integrations, which
// [Client.Register] does by default. The error is a *[checks.FieldError] for a setting that the server refuses, a
// *[channels.SelectError] for a channel that does not exist, and [checks.ErrCheckLimit] if the account has no room for
// another check. Spec.ID must be zero, because the server assigns the identifier; otherwise the error is a *[checks.FieldError]
// for "uuid", which wraps [checks.ErrExists] if the project has a check with it. If no response arrives, the server may still
// have created the check.
func (c *Client) Create(ctx context.Context, spec checks.Spec) (checks.Snapshot, error) {
	check, _, err := c.Upsert(ctx, spec)
	return check, err
}

// Upsert updates the oldest check of the project whose unique fields equal those of the spec, and creates one if there
// is none. A unique field that the spec does not set matches no check. Without unique fields, Upsert always creates a
// check. If a retry finds the check that an earlier try created, created is false. The errors are those of
// [Client.Create].
func (c *Client) Upsert(ctx context.Context, spec checks.Spec, unique ...checks.UniqueField) (check checks.Snapshot, created bool, err error) {
	name := "create check"
	if len(unique) > 0 {
		name = "upsert check"
	}
	if spec.Slug != nil {
		name += " " + strconv.Quote(*spec.Slug)
	}
	if spec.ID != uuid.Nil {
		_, err := c.Check(ctx, spec.ID)
		return check, false, fmt.Errorf("client: %s: %w", name, idRefused("uuid", spec.ID, err))
	}
	document, err := wire.Request(spec, unique...)
	if err != nil {
		return check, false, fmt.Errorf("client: %s: %w", name, err)
	}
	check, status, err := do(ctx, c, call{
		name: name, method: http.MethodPost, path: checksPath, body: document, idempotent: findsItself(spec, unique),
		causes: map[int]error{http.StatusForbidden: checks.ErrCheckLimit},
	}, checkOf)
	return check, status == http.StatusCreated, err
}

// idRefused returns the error for a new thing with an identifier, which the server assigns. Found is nil if there is one with it.
func idRefused(field string, id uuid.UUID, found error) error {
	if found == nil {
		return &checks.FieldError{Field: field, Reason: "is taken: " + id.String(), Err: checks.ErrExists}
	}
	if !errors.Is(found, checks.ErrNotFound) {
		return found
	}
	return &checks.FieldError{Field: field, Reason: "cannot be set: the server assigns it"}
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

// Update changes settings of a check. The errors are those of [Client.Create], and [checks.ErrNotFound] if the check does
// not exist. Spec.ID is ignored.
func (c *Client) Update(ctx context.Context, id uuid.UUID, spec checks.Spec) (checks.Snapshot, error) {
	name := "update check " + id.String()
	document, err := wire.Request(spec)
	if err != nil {
		return checks.Snapshot{}, fmt.Errorf("client: %s: %w", name, err)
	}
	return c.change(ctx, call{name: name, method: http.MethodPost, path: checkPath(id), body: document, idempotent: true})
}

// Pause stops the monitoring of a check. The error is [checks.ErrNotFound] if the check does not exist.
func (c *Client) Pause(ctx context.Context, id uuid.UUID) (checks.Snapshot, error) {
	return c.change(ctx, call{name: "pause check " + id.String(), method: http.MethodPost, path: checkPath(id) + "/pause", idempotent: true})
}

// Resume makes a paused check new. The error is [checks.ErrNotPaused] if the check is not paused, and
// [checks.ErrNotFound] if it does not exist.
func (c *Client) Resume(ctx context.Context, id uuid.UUID) (checks.Snapshot, error) {
	return c.change(ctx, call{
		name: "resume check " + id.String(), method: http.MethodPost, path: checkPath(id) + "/resume",
		causes: map[int]error{http.StatusConflict: checks.ErrNotPaused},
	})
}

// Acknowledge says who takes the outage of a check on; without spec.By, the key does. Errors: a *[checks.FieldError],
// [checks.ErrNotDown], [checks.ErrAcknowledged] if somebody else has it, whose text says who, and [checks.ErrNotFound].
func (c *Client) Acknowledge(ctx context.Context, id uuid.UUID, spec checks.AckSpec) (checks.Snapshot, error) {
	name := "acknowledge check " + id.String()
	if err := spec.Validate(); err != nil { // the request has whole seconds
		return checks.Snapshot{}, fmt.Errorf("client: %s: %w", name, err)
	}
	return c.change(ctx, call{name: name, method: http.MethodPost, path: checkPath(id) + "/acknowledge", body: ackRequest(spec), idempotent: true})
}

func ackRequest(spec checks.AckSpec) wire.AckRequest {
	return wire.AckRequest{For: int64(spec.For / time.Second), Note: spec.Note, By: spec.By, TakeOver: spec.TakeOver}
}

// AcknowledgeMany acknowledges the outages that the query selects, in one request; see [checks.Manager]. Without spec.By, the key has
// them. The error is a *[checks.FieldError] for the query or the spec. If no response arrives, the server may have acknowledged some;
// another call does the rest.
func (c *Client) AcknowledgeMany(ctx context.Context, q checks.AckQuery, spec checks.AckSpec) (checks.AckReport, error) {
	const name = "acknowledge checks"
	if err := cmp.Or(q.Validate(), spec.Validate()); err != nil {
		return checks.AckReport{}, fmt.Errorf("client: %s: %w", name, err)
	}
	document := wire.AckManyRequest{AckRequest: ackRequest(spec), Slug: q.Slug, Tags: strings.Join(q.Tags, " "), All: q.All}
	for _, id := range q.IDs {
		document.Checks = append(document.Checks, id.String())
	}
	report, _, err := do(ctx, c, call{name: name, method: http.MethodPost, path: "/api/v3/acknowledge/", body: document, idempotent: true}, ackReportOf)
	return report, err
}

func ackReportOf(d wire.AckReport) (report checks.AckReport, err error) {
	if report.Acknowledged, err = each("acknowledged", d.Acknowledged, checkOf); err != nil {
		return report, err
	}
	report.Taken, err = each("taken", d.Taken, checkOf)
	return report, err
}

// Unacknowledge gives the outage of a check back, if anybody has it: a reminder says so, and the escalation policy begins again. The error is [checks.ErrNotFound] if the check does not
// exist.
func (c *Client) Unacknowledge(ctx context.Context, id uuid.UUID) (checks.Snapshot, error) {
	return c.change(ctx, call{
		name: "unacknowledge check " + id.String(), method: http.MethodDelete, path: checkPath(id) + "/acknowledge", idempotent: true,
	})
}

// Delete deletes a check with its log for good and returns its last state. The error is [checks.ErrNotFound] if it does
// not exist.
func (c *Client) Delete(ctx context.Context, id uuid.UUID) (checks.Snapshot, error) {
	return c.change(ctx, call{name: "delete check " + id.String(), method: http.MethodDelete, path: checkPath(id)})
}

// EditChecks makes many changes, in the order of the list, and calls done after each; see [checks.Manager]. It makes a request for each, and
// two for an [checks.CheckEdit] with With, whose update loses a change of the same settings between them. The errors are those of the methods.
func (c *Client) EditChecks(ctx context.Context, list []checks.CheckEdit, skip func(error) bool, done func(i int, skipped error)) error {
	if c == nil || c.caller == nil {
		return fmt.Errorf("client: edit checks: %w", errNoClient)
	}
	for i, e := range list {
		err := c.edit(ctx, e)
		if err != nil && (skip == nil || !skip(err)) {
			return err
		}
		if done != nil {
			done(i, err)
		}
	}
	return nil
}

func (c *Client) edit(ctx context.Context, e checks.CheckEdit) (err error) {
	switch {
	case e.Delete:
		_, err = c.Delete(ctx, e.ID)
		return err
	case e.ID == uuid.Nil: // so that a retry creates no second check
		_, _, err = c.Upsert(ctx, e.Spec, checks.UniqueSlug)
		return err
	case e.With != nil:
		now, err := c.Check(ctx, e.ID)
		if err != nil {
			return err
		}
		if e.Spec, err = e.With(now); err != nil {
			return err
		}
	}
	_, err = c.Update(ctx, e.ID, e.Spec)
	return err
}

// change makes a call whose response is a check.
func (c *Client) change(ctx context.Context, k call) (checks.Snapshot, error) {
	check, _, err := do(ctx, c, k, checkOf)
	return check, err
}

func checkPath(id uuid.UUID) string { return checksPath + id.String() }

func isUniqueKey(text string) bool {
	return len(text) == 40 && strings.Trim(text, "0123456789abcdef") == ""
}

// checkOf translates the document of a check.
func checkOf(d wire.Check) (checks.Snapshot, error) {
	c := checks.Snapshot{
		UniqueKey: d.UniqueKey,
		Settings:  d.Settings(),
		Status:    checks.Status(d.Status), NPings: d.NPings, Started: d.Started,
		LastPing: timeOf(d.LastPing), NextPing: timeOf(d.NextPing),
		PingURL: d.PingURL, BadgeURL: d.BadgeURL,
	}
	if a := d.Acknowledged; a != nil {
		c.Ack = gate.Ack{By: a.By, Note: a.Note, At: timeOf(a.At), Until: timeOf(a.Until)}
	}
	if d.UUID == "" && d.UniqueKey == "" {
		return checks.Snapshot{}, errors.New("the response is not a check: it has neither uuid nor unique_key")
	}
	var err error
	if d.UUID != "" {
		if c.ID, err = uuid.Parse(d.UUID); err != nil {
			return checks.Snapshot{}, fmt.Errorf("the uuid in the response is not valid: %q", d.UUID)
		}
		c.UniqueKey = checks.UniqueKey(c.ID)
	}
	if d.Channels == nil || *d.Channels == "" {
		return c, nil
	}
	for text := range strings.SplitSeq(*d.Channels, ",") {
		id, err := uuid.Parse(text)
		if err != nil {
			return checks.Snapshot{}, fmt.Errorf("a channel in the response is not a UUID: %q", text)
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
