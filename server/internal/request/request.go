// Package request reads the bodies of requests to the management API. It is stricter than encoding/json: keys match
// exactly, null is refused, and every error names the field. It also tells a browser from a client.
package request

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
)

// ErrBody is the error of a body that cannot be parsed at all. The text of an error that wraps it is safe to show to
// the sender.
var ErrBody = errors.New("the body")

// Body is a request body that is a JSON object. The zero value is the empty object.
type Body struct {
	fields map[string]json.RawMessage
}

// Parse parses a request body: one JSON object in UTF-8, or nothing, which means the empty object. It does not
// check the fields. The error wraps [ErrBody].
func Parse(data []byte) (Body, error) {
	if len(data) == 0 {
		return Body{}, nil
	}
	if !utf8.Valid(data) {
		return Body{}, fmt.Errorf("%w is not valid UTF-8", ErrBody)
	}
	var b Body
	err := json.Unmarshal(data, &b.fields)
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		return Body{}, fmt.Errorf("%w is not valid JSON: %v, at byte %d", ErrBody, syntax, syntax.Offset)
	}
	if err != nil || b.fields == nil { // null leaves the map nil
		return Body{}, fmt.Errorf("%w is not a JSON object", ErrBody)
	}
	return b, nil
}

// APIKey returns the field api_key, or nil if it is absent. The error is a *[checks.FieldError].
func (b Body) APIKey() (*string, error) {
	return b.Text("api_key")
}

// Text returns a field that is a text, or nil if it is absent. The error is a *[checks.FieldError].
func (b Body) Text(name string) (*string, error) {
	r := reader{body: b}
	text := r.text(name)
	return text, r.err
}

// CheckCreate is what a request that creates a check says (server/API.md section 4.3).
type CheckCreate struct {
	checks.Spec
	// Unique names the fields that identify an existing check to update.
	Unique []checks.UniqueField
}

// Create reads the fields of a request that creates a check. Keys match exactly; unknown ones are ignored. Create checks
// types and the bounds of numbers; [checks.Spec.Validate] checks the rest. The error is a *[checks.FieldError] for the
// first wrong field: settings in the order of [checks.AllSettings], api_key, unique.
func (b Body) Create() (CheckCreate, error) {
	r := reader{body: b}
	c := CheckCreate{Spec: r.settings()}
	for _, field := range r.texts("unique") {
		c.Unique = append(c.Unique, checks.UniqueField(field))
	}
	if r.err != nil {
		return CheckCreate{}, r.err
	}
	return c, nil
}

// Ack reads the fields of a request that acknowledges an outage, under the rules of [Body.Create].
func (b Body) Ack() (checks.AckSpec, error) {
	r := reader{body: b}
	spec := r.ack()
	return spec, r.err
}

// AckMany is what a request that acknowledges many outages says.
type AckMany struct {
	checks.AckQuery
	checks.AckSpec
}

// AckMany reads the fields of a request that acknowledges many outages, under the rules of [Body.Create]. A filter that is there must
// select something: an empty one is that of a script whose variable is not set.
func (b Body) AckMany() (m AckMany, err error) {
	r := reader{body: b}
	if slug := r.text("slug"); slug != nil {
		if m.Slug = *slug; m.Slug == "" {
			r.refuse("slug", "is empty")
		}
	}
	if tags := r.text("tags"); tags != nil {
		m.Tags = append([]string{}, strings.Fields(*tags)...)
	}
	if names := r.texts("checks"); names != nil {
		m.IDs = make([]uuid.UUID, 0, len(names))
		for _, name := range names {
			id, err := uuid.Parse(name)
			if len(name) != len(uuid.UUID{}.String()) || err != nil {
				r.refuse("checks", "has an item that is not a UUID: %s", shorten(strconv.Quote(name)))
				break
			}
			m.IDs = append(m.IDs, id)
		}
	}
	all := r.boolean("all")
	m.All = all != nil && *all
	m.AckSpec = r.ack()
	return m, r.err
}

// ack reads the fields of an acknowledgement, and api_key, which it only checks.
func (r *reader) ack() (spec checks.AckSpec) {
	seconds := r.number(checks.Setting{Name: "for", Min: int64(checks.MinAck / time.Second), Max: int64(checks.MaxAck / time.Second), Optional: true})
	note, by, over := r.text("note"), r.text("by"), r.boolean("take_over")
	r.text("api_key")
	if r.err != nil {
		return spec
	}
	if seconds != nil {
		spec.For = time.Duration(*seconds) * time.Second
	}
	for text, into := range map[*string]*string{note: &spec.Note, by: &spec.By} {
		if text != nil {
			*into = *text
		}
	}
	spec.TakeOver = over != nil && *over
	return spec
}

// Update reads the fields of a request that updates a check, under the rules of [Body.Create].
func (b Body) Update() (checks.Spec, error) {
	r := reader{body: b}
	s := r.settings()
	if r.err != nil {
		return checks.Spec{}, r.err
	}
	return s, nil
}
