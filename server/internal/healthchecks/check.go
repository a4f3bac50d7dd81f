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

	"github.com/rollcall-dev/rollcall/channels/prose"
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

// maxQuoted bounds a name of the source in an error, in bytes.
const maxQuoted = 200

// Error names the entry and the reason.
func (r Refusal) Error() string {
	name := prose.Brief(r.Name, maxQuoted)
	switch {
	case r.ID != uuid.Nil:
		return fmt.Sprintf("check %q (%s): %v", name, r.ID, r.Err)
	case r.Name != "":
		return fmt.Sprintf("%s of the source, %q: %v", r.Entry, name, r.Err)
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

// document is a check in any version of the API, without its settings.
type document struct {
	UUID      string `json:"uuid"`     // v3 since 2024
	PingURL   string `json:"ping_url"` // ends with the UUID
	UniqueKey string `json:"unique_key"`
	Name      string `json:"name"`
	Status    string `json:"status"`
	Channels  string `json:"channels"`

	// Keywords for the subject of e-mail, in versions without success_kw, failure_kw and filter_subject.
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
			c, err = d.check(id, entry)
		}
		if err != nil {
			malformed = append(malformed, Refusal{fmt.Sprintf("check %d", i+1), id, d.Name, err})
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

// check translates a check. A setting that the source does not have gets the default of a new check, so that a repeated
// import changes nothing.
func (d document) check(id uuid.UUID, entry json.RawMessage) (Check, error) {
	var fields map[string]json.RawMessage
	wrong := []error{decode(entry, &fields)}
	delete(fields, "channels") // their identifiers mean nothing here
	s := checks.Defaults().Spec()
	s.ID, s.SuccessKW, s.FailureKW, s.FilterSubject = id, &d.Subject, &d.SubjectFail, new(d.Subject+d.SubjectFail != "")
	for _, setting := range checks.AllSettings() {
		if raw := fields[setting.Name]; raw != nil && string(raw) != "null" {
			value, err := read(setting, raw)
			if err == nil {
				setting.Set(&s, value)
			}
			wrong = append(wrong, err)
		}
	}
	if s.Schedule != nil && *s.Schedule != "" {
		s.Timeout = nil
	} else if s.Schedule = nil; *s.QuietHours == "" {
		s.TZ = nil
	}
	c := Check{Spec: s, Paused: d.Status == string(checks.StatusPaused)}
	if d.Channels != "" {
		c.Channels = strings.Split(d.Channels, ",")
	}
	return c, errors.Join(wrong...)
}

// read reads the value of a setting.
func read(s checks.Setting, raw json.RawMessage) (any, error) {
	switch s.Zero.(type) {
	case bool:
		return readAs[bool](s, raw)
	case int:
		return readAs[int](s, raw)
	case time.Duration:
		return period(s.Name, raw)
	}
	return readAs[string](s, raw)
}

func readAs[T any](s checks.Setting, raw json.RawMessage) (value T, err error) {
	err = json.Unmarshal(raw, &value)
	if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		err = fmt.Errorf("%s has the wrong type: %s", s.Name, e.Value)
	}
	return value, err
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

// period reads a whole number of seconds.
func period(field string, raw json.RawMessage) (time.Duration, error) {
	seconds, err := strconv.ParseFloat(string(raw), 64)
	if err != nil || seconds != math.Trunc(seconds) || math.Abs(seconds) > math.MaxInt32 {
		return 0, fmt.Errorf("%s is not a whole number of seconds: %.40s", field, raw)
	}
	return time.Duration(seconds) * time.Second, nil
}
