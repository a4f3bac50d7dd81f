package client

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/client/wire"
)

// Check is a check as the server shows it (API-V3.md section 2.1). With a read-only key, ID, Channels and the URLs but
// that of the badge are not told, and have their zero values. The zero time stands for "none".
type Check struct {
	// ID is the identifier of the check.
	ID uuid.UUID
	// UniqueKey stands for the check where ID is not to be known. It is told with a read-only key, and worked out
	// from ID otherwise.
	UniqueKey string

	Name string
	Slug string
	Tags []string // each once
	Desc string

	// Timeout is how often a Simple check expects a ping, 0 for a Cron check.
	Timeout time.Duration
	// Grace is how long after the expected time a check stays out of down.
	Grace time.Duration
	// Schedule is the expression of a Cron check, "" for a Simple check.
	Schedule string
	// TZ is the time zone of Schedule and QuietHours, "" where there is neither.
	TZ string

	// Status is the state at the time of the answer.
	Status checks.Status
	// NPings counts the pings received.
	NPings int64
	// Started says that a run is in progress, where the server reports that at all.
	Started bool
	// LastPing is when the last success or failure was received, to the second.
	LastPing time.Time
	// NextPing is when the next ping is expected, to the second.
	NextPing time.Time

	ManualResume bool
	Methods      string // "" for HEAD, GET and POST, or "POST"

	StartKW, SuccessKW, FailureKW string // comma-separated keywords (section 2.1.1)
	FilterSubject, FilterBody     bool
	FilterHTTPBody                bool
	FilterDefaultFail             bool

	// AlertAfter is how many failures in a row it takes until integrations are told; 0 and 1 both mean at once.
	AlertAfter int
	// RepeatEvery is how often they are told again that the check is still down, 0 for never.
	RepeatEvery time.Duration
	// QuietHours are the windows in which alerts are held back, in the form of package checks/quiet; "" for none.
	QuietHours string

	// Channels are the integrations that are told of alerts.
	Channels []uuid.UUID

	PingURL   string // takes the pings of the job; see [NewPinger]
	UpdateURL string
	PauseURL  string
	ResumeURL string
	BadgeURL  string
}

// Query restricts a list of checks (API-V3.md section 4.1).
type Query struct {
	Slug string   // only checks with this slug; "" for any
	Tags []string // only checks with all of these tags
}

// UniqueField is a field by which [Client.Upsert] looks for an existing check (API-V3.md section 4.3 rule 4).
type UniqueField string

// The fields that an upsert can look at.
const (
	UniqueName    UniqueField = "name"
	UniqueSlug    UniqueField = "slug"
	UniqueTags    UniqueField = "tags"
	UniqueTimeout UniqueField = "timeout" // matches Simple checks only
	UniqueGrace   UniqueField = "grace"
)

const checksPath = "/api/v3/checks/"

// List returns the checks of the project (API-V3.md section 4.1). The zero Query means all of them.
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
	var document wire.Checks
	var list []Check
	_, err := c.json(ctx, call{what: "list checks", method: http.MethodGet, path: path, repeat: true}, &document, func() error {
		if document.Checks == nil {
			return errMissing("checks")
		}
		return translate(&list, document.Checks, checkOf)
	})
	return list, err
}

// translate makes a list of domain values of the documents in another.
func translate[D, V any](into *[]V, documents []D, one func(D) (V, error)) error {
	list := make([]V, len(documents))
	for i, d := range documents {
		var err error
		if list[i], err = one(d); err != nil {
			return err
		}
	}
	*into = list
	return nil
}

// Get returns a check (API-V3.md section 4.2). The error is [checks.ErrNotFound] when there is none.
func (c *Client) Get(ctx context.Context, id uuid.UUID) (Check, error) {
	check, _, err := c.check(ctx, call{what: "get check", method: http.MethodGet, path: checkPath(id), repeat: true})
	return check, err
}

// GetByUniqueKey returns the check of the project that has this unique key: 40 lower-case hexadecimal digits. The error
// is [checks.ErrNotFound] when there is none, and for what cannot be a unique key.
func (c *Client) GetByUniqueKey(ctx context.Context, key string) (Check, error) {
	const what = "get check"
	if !isUniqueKey(key) {
		return Check{}, fmt.Errorf("client: %s: %w", what, checks.ErrNotFound)
	}
	check, _, err := c.check(ctx, call{what: what, method: http.MethodGet, path: checksPath + key, repeat: true})
	return check, err
}

// Create makes a new check (API-V3.md section 4.3). The errors are *[checks.FieldError] for a setting that is refused
// and [checks.ErrCheckLimit]. Spec.ID must not be set: the server makes the identifier. When no answer came, the check
// may exist all the same.
func (c *Client) Create(ctx context.Context, spec checks.Spec) (Check, error) {
	check, _, err := c.Upsert(ctx, spec)
	return check, err
}

// Upsert updates the project's oldest check whose given fields equal those of the spec, or creates one when there is
// none; created says which (API-V3.md section 4.3 rule 4). A field that is looked at but not set in the spec matches no
// check, and without any field a new check is made. Where the request had to be sent again, created may be false for a
// check that the first try has made. The errors are those of [Client.Create].
func (c *Client) Upsert(ctx context.Context, spec checks.Spec, unique ...UniqueField) (check Check, created bool, err error) {
	what := "create check"
	if len(unique) > 0 {
		what = "upsert check"
	}
	update, err := documentOf(spec)
	if err != nil {
		return Check{}, false, fmt.Errorf("client: %s: %w", what, err)
	}
	document := wire.CheckCreate{CheckUpdate: update}
	for _, field := range unique {
		document.Unique = append(document.Unique, string(field))
	}
	check, status, err := c.check(ctx, call{
		what: what, method: http.MethodPost, path: checksPath, body: document, repeat: finds(spec, unique),
		means: map[int]error{http.StatusForbidden: checks.ErrCheckLimit},
	})
	return check, status == http.StatusCreated, err
}

// finds reports whether an upsert is bound to find the check that it has made itself.
func finds(spec checks.Spec, unique []UniqueField) bool {
	for _, field := range unique {
		switch field {
		case UniqueName:
			if spec.Name == nil {
				return false
			}
		case UniqueSlug:
			if spec.Slug == nil {
				return false
			}
		case UniqueTags:
			if spec.Tags == nil {
				return false
			}
		case UniqueTimeout:
			if spec.Timeout == nil || spec.Schedule != nil { // a Cron check has none
				return false
			}
		case UniqueGrace:
			if spec.Grace == nil {
				return false
			}
		}
	}
	return len(unique) > 0
}

// Update changes settings of a check (API-V3.md section 4.4). The errors are [checks.ErrNotFound] and
// *[checks.FieldError]. Spec.ID is not looked at.
func (c *Client) Update(ctx context.Context, id uuid.UUID, spec checks.Spec) (Check, error) {
	const what = "update check"
	spec.ID = uuid.Nil
	document, err := documentOf(spec)
	if err != nil {
		return Check{}, fmt.Errorf("client: %s: %w", what, err)
	}
	check, _, err := c.check(ctx, call{what: what, method: http.MethodPost, path: checkPath(id), body: document, repeat: true})
	return check, err
}

// Pause stops the monitoring of a check (API-V3.md section 4.5). The error is [checks.ErrNotFound] when there is none.
func (c *Client) Pause(ctx context.Context, id uuid.UUID) (Check, error) {
	check, _, err := c.check(ctx, call{what: "pause check", method: http.MethodPost, path: checkPath(id) + "/pause", repeat: true})
	return check, err
}

// Resume makes a paused check new again (API-V3.md section 4.6). The errors are [checks.ErrNotFound] and
// [checks.ErrNotPaused].
func (c *Client) Resume(ctx context.Context, id uuid.UUID) (Check, error) {
	check, _, err := c.check(ctx, call{
		what: "resume check", method: http.MethodPost, path: checkPath(id) + "/resume",
		means: map[int]error{http.StatusConflict: checks.ErrNotPaused},
	})
	return check, err
}

// Delete removes a check with its log, for good, and returns it as it was (API-V3.md section 4.7). The error is
// [checks.ErrNotFound] when there is none.
func (c *Client) Delete(ctx context.Context, id uuid.UUID) (Check, error) {
	check, _, err := c.check(ctx, call{what: "delete check", method: http.MethodDelete, path: checkPath(id)})
	return check, err
}

// check makes a request whose answer is a check.
func (c *Client) check(ctx context.Context, k call) (Check, int, error) {
	var document wire.Check
	var check Check
	status, err := c.json(ctx, k, &document, func() (err error) {
		check, err = checkOf(document)
		return err
	})
	return check, status, err
}

func checkPath(id uuid.UUID) string { return checksPath + id.String() }

// isUniqueKey reports whether a text has the form of a unique_key.
func isUniqueKey(text string) bool {
	return len(text) == 40 && strings.Trim(text, "0123456789abcdef") == ""
}

// checkOf reads the document of a check.
func checkOf(d wire.Check) (Check, error) {
	c := Check{
		UniqueKey: d.UniqueKey,
		Name:      d.Name, Slug: d.Slug, Tags: checks.Check{Tags: d.Tags}.TagList(), Desc: d.Desc,
		Timeout: period(d.Timeout), Grace: period(d.Grace), Schedule: d.Schedule, TZ: d.TZ,
		Status: checks.Status(d.Status), NPings: d.NPings, Started: d.Started,
		LastPing: timeOf(d.LastPing), NextPing: timeOf(d.NextPing),
		ManualResume: d.ManualResume, Methods: d.Methods,
		StartKW: d.StartKW, SuccessKW: d.SuccessKW, FailureKW: d.FailureKW,
		FilterSubject: d.FilterSubject, FilterBody: d.FilterBody,
		FilterHTTPBody: d.FilterHTTPBody, FilterDefaultFail: d.FilterDefaultFail,
		AlertAfter: int(d.AlertAfter), RepeatEvery: period(d.RepeatEvery), QuietHours: d.QuietHours,
		PingURL: d.PingURL, UpdateURL: d.UpdateURL, PauseURL: d.PauseURL, ResumeURL: d.ResumeURL, BadgeURL: d.BadgeURL,
	}
	if d.UUID == "" && d.UniqueKey == "" {
		return Check{}, errors.New("the answer is not a check: it has neither a uuid nor a unique_key")
	}
	var err error
	if d.UUID != "" {
		if c.ID, err = uuid.Parse(d.UUID); err != nil {
			return Check{}, fmt.Errorf("the answer has a uuid that is none: %q", d.UUID)
		}
		c.UniqueKey = checks.UniqueKey(c.ID)
	}
	if d.Channels == nil || *d.Channels == "" {
		return c, nil
	}
	for text := range strings.SplitSeq(*d.Channels, ",") {
		id, err := uuid.Parse(text)
		if err != nil {
			return Check{}, fmt.Errorf("the answer has a channel that is no uuid: %q", text)
		}
		c.Channels = append(c.Channels, id)
	}
	return c, nil
}

// period makes a duration of seconds; what no duration can hold is the longest one.
func period(seconds int64) time.Duration {
	const limit = int64(math.MaxInt64 / time.Second)
	return time.Duration(min(max(seconds, -limit), limit)) * time.Second
}

func timeOf(t *wire.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.Time
}

// documentOf translates settings. It refuses only what a document cannot say; the rest is the server's to judge.
func documentOf(s checks.Spec) (wire.CheckUpdate, error) {
	if s.ID != uuid.Nil {
		return wire.CheckUpdate{}, &checks.FieldError{Field: "uuid", Reason: "cannot be chosen: the server makes it"}
	}
	for _, field := range []struct {
		name string
		text *string
	}{
		{"name", s.Name}, {"slug", s.Slug}, {"tags", s.Tags}, {"desc", s.Desc}, {"schedule", s.Schedule}, {"tz", s.TZ},
		{"methods", s.Methods}, {"channels", s.Channels}, {"start_kw", s.StartKW}, {"success_kw", s.SuccessKW}, {"failure_kw", s.FailureKW},
		{"quiet_hours", s.QuietHours},
	} {
		if field.text != nil && !utf8.ValidString(*field.text) {
			return wire.CheckUpdate{}, &checks.FieldError{Field: field.name, Reason: "is not valid UTF-8"}
		}
	}
	timeout, timeoutErr := seconds("timeout", s.Timeout)
	grace, graceErr := seconds("grace", s.Grace)
	every, everyErr := seconds("repeat_every", s.RepeatEvery)
	if err := errors.Join(timeoutErr, graceErr, everyErr); err != nil {
		return wire.CheckUpdate{}, err
	}
	var after *int64
	if s.AlertAfter != nil {
		after = new(int64(*s.AlertAfter))
	}
	return wire.CheckUpdate{
		Name: s.Name, Slug: s.Slug, Tags: s.Tags, Desc: s.Desc,
		Timeout: timeout, Grace: grace, Schedule: s.Schedule, TZ: s.TZ,
		ManualResume: s.ManualResume, Methods: s.Methods, Channels: s.Channels,
		StartKW: s.StartKW, SuccessKW: s.SuccessKW, FailureKW: s.FailureKW,
		FilterSubject: s.FilterSubject, FilterBody: s.FilterBody,
		FilterHTTPBody: s.FilterHTTPBody, FilterDefaultFail: s.FilterDefaultFail,
		AlertAfter: after, RepeatEvery: every, QuietHours: s.QuietHours,
	}, nil
}

func seconds(field string, d *time.Duration) (*int64, error) {
	if d == nil {
		return nil, nil
	}
	if *d%time.Second != 0 {
		return nil, &checks.FieldError{Field: field, Reason: fmt.Sprintf("is not a whole number of seconds: %v", *d)}
	}
	return new(int64(*d / time.Second)), nil
}
