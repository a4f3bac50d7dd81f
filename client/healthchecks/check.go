package healthchecks

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/url"
	"path"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
)

// Check is a check on a Healthchecks server.
type Check struct {
	// Spec are its settings, with the UUID. Channels is nil. The settings need not be valid here; see
	// [checks.Spec.Validate].
	checks.Spec
	// Paused says that monitoring is off.
	Paused bool
	// Channels are the identifiers of its integrations; see [Source.Channels].
	Channels []string
}

// Channel is an integration on a Healthchecks server.
type Channel struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	Kind string `json:"kind"`
}

// document is a check as any version of the interface shows it. What an old version does not have is nil.
type document struct {
	UUID      string `json:"uuid"`     // v3 since 2024
	PingURL   string `json:"ping_url"` // ends with the UUID
	UniqueKey string `json:"unique_key"`

	Name *string `json:"name"`
	Slug *string `json:"slug"`
	Tags *string `json:"tags"`
	Desc *string `json:"desc"`

	Timeout  *json.Number `json:"timeout"`
	Grace    *json.Number `json:"grace"`
	Schedule *string      `json:"schedule"`
	TZ       *string      `json:"tz"`

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

	// Keywords for the subject of e-mail, in versions without the fields above.
	Subject     string `json:"subject"`
	SubjectFail string `json:"subject_fail"`
}

// Checks returns the checks of the project. The errors are *[StatusError], and those of the connection.
func (s *Source) Checks(ctx context.Context) ([]Check, error) {
	var answer struct {
		Checks []document `json:"checks"`
	}
	if err := s.get(ctx, "checks", &answer); err != nil {
		return nil, err
	}
	if answer.Checks == nil {
		return nil, errors.New("healthchecks: the answer has no list of checks")
	}
	list := make([]Check, len(answer.Checks))
	seen := make(map[uuid.UUID]bool)
	for i, d := range answer.Checks {
		c, err := d.check()
		if err == nil && seen[c.ID] {
			err = errors.New("another check has the same uuid")
		}
		if err != nil {
			return nil, fmt.Errorf("healthchecks: check %d of %d: %w", i+1, len(list), err)
		}
		seen[c.ID] = true
		list[i] = c
	}
	return list, nil
}

// Channels returns the integrations of the project.
func (s *Source) Channels(ctx context.Context) ([]Channel, error) {
	var answer struct {
		Channels []Channel `json:"channels"`
	}
	if err := s.get(ctx, "channels", &answer); err != nil {
		return nil, err
	}
	return answer.Channels, nil
}

// check translates a check. What the version of the interface does not tell has the default of a new check, so that a
// check always comes over in the same way.
func (d document) check() (Check, error) {
	id, err := d.id()
	if err != nil {
		return Check{}, err
	}
	timeout, timeoutErr := period("timeout", d.Timeout, checks.DefaultTimeout)
	grace, graceErr := period("grace", d.Grace, checks.DefaultGrace)
	if err := errors.Join(timeoutErr, graceErr); err != nil {
		return Check{}, err
	}
	s := checks.Spec{
		ID: id, Name: or(d.Name, ""), Slug: or(d.Slug, ""), Tags: or(d.Tags, ""), Desc: or(d.Desc, ""), Grace: grace,
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

// id returns the UUID of the check. Old versions have it in the ping URL only.
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
		return uuid.Nil, errors.New("the answer has no uuid: the API key is read-only, a read-write one is needed")
	}
	return uuid.Nil, errors.New("the answer has no uuid")
}

func or[T any](value *T, otherwise T) *T {
	if value == nil {
		return &otherwise
	}
	return value
}

// period reads a number of whole seconds.
func period(field string, value *json.Number, otherwise time.Duration) (*time.Duration, error) {
	if value == nil {
		return &otherwise, nil
	}
	seconds, err := value.Float64()
	if err != nil || seconds != math.Trunc(seconds) || math.Abs(seconds) > math.MaxInt32 {
		return nil, fmt.Errorf("%s is not a whole number of seconds: %s", field, value)
	}
	return new(time.Duration(seconds) * time.Second), nil
}
