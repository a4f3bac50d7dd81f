package wire

import (
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"
)

// CheckUpdate is the body of a request that updates a check (API-V3.md section 4.4). A nil field is left out and keeps
// its stored value.
type CheckUpdate struct {
	Name *string `json:"name,omitempty"`
	Slug *string `json:"slug,omitempty"`
	Tags *string `json:"tags,omitempty"`
	Desc *string `json:"desc,omitempty"`

	Timeout  *int64  `json:"timeout,omitempty"` // seconds, 60 to 31536000
	Grace    *int64  `json:"grace,omitempty"`   // seconds, 60 to 31536000
	Schedule *string `json:"schedule,omitempty"`
	TZ       *string `json:"tz,omitempty"`

	ManualResume *bool   `json:"manual_resume,omitempty"`
	Methods      *string `json:"methods,omitempty"`  // "" or "POST"
	Channels     *string `json:"channels,omitempty"` // "*", "", or comma-separated UUIDs or names

	StartKW           *string `json:"start_kw,omitempty"`
	SuccessKW         *string `json:"success_kw,omitempty"`
	FailureKW         *string `json:"failure_kw,omitempty"`
	FilterSubject     *bool   `json:"filter_subject,omitempty"`
	FilterBody        *bool   `json:"filter_body,omitempty"`
	FilterHTTPBody    *bool   `json:"filter_http_body,omitempty"`
	FilterDefaultFail *bool   `json:"filter_default_fail,omitempty"`

	// The alert rules are an extension by Rollcall.
	AlertAfter  *int64  `json:"alert_after,omitempty"`  // failures in a row, 0 to 100; 0 and 1 alert on the first
	RepeatEvery *int64  `json:"repeat_every,omitempty"` // seconds, 60 to 31536000, or 0 for never
	QuietHours  *string `json:"quiet_hours,omitempty"`  // windows in the form of package checks/quiet, "" for none

	// APIKey takes the place of the header X-Api-Key (section 5).
	APIKey *string `json:"api_key,omitempty"`
}

// CheckCreate is the body of a request that creates a check (API-V3.md section 4.3). A nil field is left out and takes
// its default.
type CheckCreate struct {
	CheckUpdate
	// Unique names the fields that identify an existing check to update: name, slug, tags, timeout or grace.
	Unique []string `json:"unique,omitempty"`
}

// ErrBody is wrapped by the errors about a whole body rather than one of its fields. Their text may be shown to the
// sender.
var ErrBody = errors.New("the body")

// FieldError reports a field with a value of the wrong type. Its text may be shown to the sender, for example
// "timeout is not a whole number: 60.5".
type FieldError struct {
	// Field is the name of the field.
	Field string
	// Reason continues the name of the field, for example "is not a string".
	Reason string
}

func (e *FieldError) Error() string { return e.Field + " " + e.Reason }

// Body is a request body that is a JSON object. The zero value is the empty object.
type Body struct {
	fields map[string]json.RawMessage
}

// ParseBody parses a request body: one JSON object in UTF-8, or nothing, which means the empty object. It does not look
// at the fields. The error wraps [ErrBody].
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

// APIKey returns the field api_key, or nil if it is absent. The error is a *[FieldError].
func (b Body) APIKey() (*string, error) {
	r := reader{body: b}
	key := r.text("api_key")
	return key, r.err
}

// Create reads the fields of a request that creates a check. Keys match exactly; unknown ones are ignored. Types are
// checked but bounds are not, except that numbers must fit 64 bits. The error is a *[FieldError] for the first wrong
// field in the order of [CheckUpdate].
func (b Body) Create() (CheckCreate, error) {
	r := reader{body: b}
	c := CheckCreate{CheckUpdate: r.update(), Unique: r.texts("unique")}
	if r.err != nil {
		return CheckCreate{}, r.err
	}
	return c, nil
}

// Update reads the fields of a request that updates a check, under the rules of [Body.Create].
func (b Body) Update() (CheckUpdate, error) {
	r := reader{body: b}
	u := r.update()
	if r.err != nil {
		return CheckUpdate{}, r.err
	}
	return u, nil
}

func (r *reader) update() CheckUpdate {
	return CheckUpdate{
		Name:              r.text("name"),
		Slug:              r.text("slug"),
		Tags:              r.text("tags"),
		Desc:              r.text("desc"),
		Timeout:           r.seconds("timeout"),
		Grace:             r.seconds("grace"),
		Schedule:          r.text("schedule"),
		TZ:                r.text("tz"),
		ManualResume:      r.boolean("manual_resume"),
		Methods:           r.text("methods"),
		Channels:          r.text("channels"),
		StartKW:           r.text("start_kw"),
		SuccessKW:         r.text("success_kw"),
		FailureKW:         r.text("failure_kw"),
		FilterSubject:     r.boolean("filter_subject"),
		FilterBody:        r.boolean("filter_body"),
		FilterHTTPBody:    r.boolean("filter_http_body"),
		FilterDefaultFail: r.boolean("filter_default_fail"),
		AlertAfter:        r.number("alert_after", 0, maxAlertAfter),
		RepeatEvery:       r.seconds("repeat_every"),
		QuietHours:        r.text("quiet_hours"),
		APIKey:            r.text("api_key"),
	}
}
