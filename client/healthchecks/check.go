package healthchecks

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/url"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
)

// Check is a check on a Healthchecks server.
type Check struct {
	// Spec holds its settings and its UUID, but not its channels. It is not validated yet.
	checks.Spec
	// Paused reports whether the check is paused.
	Paused bool
	// Channels are the identifiers of its channels; see [Source.Channels].
	Channels []string
}

// Channel is a channel, also called integration, on a Healthchecks server.
type Channel struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	Kind string `json:"kind"`
}

// Refusal says why an entry of the source cannot be imported.
type Refusal struct {
	// Entry is the position of the entry in its list, such as "check 3". It is set if the entry cannot be read.
	Entry string
	ID    uuid.UUID // zero if it cannot be read
	Name  string    // "" if it cannot be read
	Err   error
}

// Error names the entry and the reason.
func (r Refusal) Error() string {
	switch {
	case r.ID != uuid.Nil:
		return fmt.Sprintf("check %q (%s): %v", r.Name, r.ID, r.Err)
	case r.Name != "":
		return fmt.Sprintf("%s of the source, %q: %v", r.Entry, r.Name, r.Err)
	}
	return fmt.Sprintf("%s of the source: %v", r.Entry, r.Err)
}

// Malformed is the error of a list with entries that cannot be read. The readable entries are returned with it.
type Malformed []Refusal

// Error describes the first entry and counts the others.
func (m Malformed) Error() string {
	text := "healthchecks: " + m[0].Error()
	if more := len(m) - 1; more > 0 {
		text += fmt.Sprintf(" (and %d more)", more)
	}
	return text
}

// errorOrNil returns nil for an empty list.
func (m Malformed) errorOrNil() error {
	if len(m) == 0 {
		return nil
	}
	return m
}

// document is a check in any version of the API. Fields that an old version lacks are nil.
type document struct {
	UUID      string `json:"uuid"`     // v3 since 2024
	PingURL   string `json:"ping_url"` // ends with the UUID
	UniqueKey string `json:"unique_key"`

	Name *string `json:"name"`
	Slug *string `json:"slug"`
	Tags *string `json:"tags"`
	Desc *string `json:"desc"`

	Timeout  *json.RawMessage `json:"timeout"`
	Grace    *json.RawMessage `json:"grace"`
	Schedule *string          `json:"schedule"`
	TZ       *string          `json:"tz"`

	Status       string  `json:"status"`
	ManualResume *bool   `json:"manual_resume"`
	Methods      *string `json:"methods"`
	Channels     string  `json:"channels"`

	StartKW           *string `json:"start_kw"`
	SuccessKW         *string `json:"success_kw"`
	FailureKW         *string `json:"failure_kw"`
	FilterSubject     *bool   `json:"filter_subject"`
	FilterBody        *bool   `json:"filter_body"`
	FilterHTTPBody    *bool   `json:"filter_http_body"`
	FilterDefaultFail *bool   `json:"filter_default_fail"`

	// Keywords for the subject of e-mail, in versions that lack the fields above.
	Subject     string `json:"subject"`
	SubjectFail string `json:"subject_fail"`
}

// errReadOnly refuses the whole list: a read-only key reveals no UUID.
var errReadOnly = errors.New("the API key is read-only, a read-write one is needed")

// Checks returns the checks of the project. The error is a [Malformed] if some entries cannot be read, otherwise a
// *[client.Error] or the failure of the connection.
func (s *Source) Checks(ctx context.Context) ([]Check, error) {
	entries, err := s.list(ctx, "checks")
	if err != nil {
		return nil, err
	}
	list := make([]Check, 0, len(entries))
	var malformed Malformed
	seen := make(map[uuid.UUID]bool)
	for i, entry := range entries {
		var d document
		var c Check
		err := decode(entry, &d)
		id, idErr := d.id()
		switch {
		case errors.Is(idErr, errReadOnly):
			return nil, fmt.Errorf("healthchecks: %w", idErr)
		case err != nil:
		case idErr != nil:
			err = idErr
		case seen[id]:
			err = errors.New("another check has the same uuid")
		default:
			c, err = d.check(id)
		}
		if err != nil {
			malformed = append(malformed, Refusal{fmt.Sprintf("check %d", i+1), id, *or(d.Name, ""), err})
			continue
		}
		seen[id] = true
		list = append(list, c)
	}
	return list, malformed.errorOrNil()
}

// Channels returns the channels of the project. The errors are those of [Source.Checks].
func (s *Source) Channels(ctx context.Context) ([]Channel, error) {
	entries, err := s.list(ctx, "channels")
	if err != nil {
		return nil, err
	}
	list := make([]Channel, 0, len(entries))
	var malformed Malformed
	for i, entry := range entries {
		var c Channel
		if err := decode(entry, &c); err != nil {
			malformed = append(malformed, Refusal{Entry: fmt.Sprintf("integration %d", i+1), Name: c.Name, Err: err})
			continue
		}
		list = append(list, c)
	}
	return list, malformed.errorOrNil()
}

// check translates a check. A field that this version of the API lacks gets the default of a new check, so that a
// repeated import changes nothing.
func (d document) check(id uuid.UUID) (Check, error) {
	timeout, timeoutErr := period("timeout", d.Timeout, checks.DefaultTimeout)
	grace, graceErr := period("grace", d.Grace, checks.DefaultGrace)
	if err := errors.Join(timeoutErr, graceErr); err != nil {
		return Check{}, err
	}
	s := checks.Spec{
		ID: id, Name: or(d.Name, ""), Slug: or(d.Slug, ""), Tags: append([]string{}, checks.SplitTags(*or(d.Tags, ""))...), Desc: or(d.Desc, ""), Grace: grace,
		ManualResume: or(d.ManualResume, false), Methods: or(d.Methods, ""),
		StartKW: or(d.StartKW, ""), SuccessKW: or(d.SuccessKW, d.Subject), FailureKW: or(d.FailureKW, d.SubjectFail),
		FilterSubject: or(d.FilterSubject, d.Subject != "" || d.SubjectFail != ""), FilterBody: or(d.FilterBody, false),
		FilterHTTPBody: or(d.FilterHTTPBody, false), FilterDefaultFail: or(d.FilterDefaultFail, false),
	}
	if d.Schedule != nil && *d.Schedule != "" {
		s.Schedule, s.TZ = d.Schedule, or(d.TZ, checks.DefaultTZ)
	} else {
		s.Timeout = timeout
	}
	c := Check{Spec: s, Paused: d.Status == string(checks.StatusPaused)}
	if d.Channels != "" {
		c.Channels = strings.Split(d.Channels, ",")
	}
	return c, nil
}

// id returns the UUID of the check. Old versions have it only in the ping URL.
func (d document) id() (uuid.UUID, error) {
	text := d.UUID
	if text == "" {
		if u, err := url.Parse(d.PingURL); err == nil {
			text = path.Base(u.Path)
		}
	}
	if id, err := uuid.Parse(text); err == nil && id != uuid.Nil && len(text) == len(id.String()) {
		return id, nil
	}
	if d.UniqueKey != "" {
		return uuid.Nil, errReadOnly
	}
	return uuid.Nil, errors.New("it has no uuid")
}

func or[T any](value *T, otherwise T) *T {
	if value == nil {
		return &otherwise
	}
	return value
}

// period reads a whole number of seconds.
func period(field string, value *json.RawMessage, otherwise time.Duration) (*time.Duration, error) {
	if value == nil {
		return &otherwise, nil
	}
	seconds, err := strconv.ParseFloat(string(*value), 64)
	if err != nil || seconds != math.Trunc(seconds) || math.Abs(seconds) > math.MaxInt32 {
		return nil, fmt.Errorf("%s is not a whole number of seconds: %.40s", field, *value)
	}
	return new(time.Duration(seconds) * time.Second), nil
}
