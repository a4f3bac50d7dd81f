package wire

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/rollcall-dev/rollcall/checks"
)

// ErrBody is the error of a body that cannot be parsed at all. The text of an error that wraps it is safe to show to
// the sender.
var ErrBody = errors.New("the body")

// Body is a request body that is a JSON object. The zero value is the empty object.
type Body struct {
	fields map[string]json.RawMessage
}

// ParseBody parses a request body: one JSON object in UTF-8, or nothing, which means the empty object. It does not
// check the fields. The error wraps [ErrBody].
func ParseBody(data []byte) (Body, error) {
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

// Update reads the fields of a request that updates a check, under the rules of [Body.Create].
func (b Body) Update() (checks.Spec, error) {
	r := reader{body: b}
	s := r.settings()
	if r.err != nil {
		return checks.Spec{}, r.err
	}
	return s, nil
}

// Request returns the body of a request that creates or updates a check. It ignores Spec.ID. The error is a
// *[checks.FieldError] for what a request cannot express: a period that is not in whole seconds, a tag with a blank, or
// text that is not UTF-8. The server judges the rest.
func Request(s checks.Spec, unique ...checks.UniqueField) (json.RawMessage, error) {
	fields := make(map[string]any)
	if len(unique) > 0 {
		fields["unique"] = unique
	}
	for _, setting := range checks.AllSettings() {
		switch value := setting.Value(s).(type) {
		case nil:
		case time.Duration:
			if value%time.Second != 0 {
				return nil, &checks.FieldError{Field: setting.Name, Reason: fmt.Sprintf("is not a whole number of seconds: %v", value)}
			}
			fields[setting.Name] = seconds(value)
		case []string:
			if err := (checks.Spec{Tags: value}).Validate(time.Time{}); err != nil { // a blank would make two tags of one
				return nil, err
			}
			fields[setting.Name] = strings.Join(value, " ")
		case string:
			if !utf8.ValidString(value) { // encoding/json would silently replace it
				return nil, &checks.FieldError{Field: setting.Name, Reason: "is not valid UTF-8"}
			}
			fields[setting.Name] = value
		default:
			fields[setting.Name] = value
		}
	}
	return json.Marshal(fields)
}
