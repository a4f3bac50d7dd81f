package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"
)

// CheckUpdate is the body of a request that updates a check (API-V3.md section 4.4). What is nil is left out, and
// stays as it is.
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
	Channels     *string `json:"channels,omitempty"` // "*", "", or UUIDs or names with commas between

	StartKW           *string `json:"start_kw,omitempty"`
	SuccessKW         *string `json:"success_kw,omitempty"`
	FailureKW         *string `json:"failure_kw,omitempty"`
	FilterSubject     *bool   `json:"filter_subject,omitempty"`
	FilterBody        *bool   `json:"filter_body,omitempty"`
	FilterHTTPBody    *bool   `json:"filter_http_body,omitempty"`
	FilterDefaultFail *bool   `json:"filter_default_fail,omitempty"`

	// The alert rules are Rollcall's own.
	AlertAfter  *int64  `json:"alert_after,omitempty"`  // failures in a row, 0 to 100; 0 and 1 alert at once
	RepeatEvery *int64  `json:"repeat_every,omitempty"` // seconds, 60 to 31536000, or 0 for never
	QuietHours  *string `json:"quiet_hours,omitempty"`  // windows in the form of package checks/quiet, "" for none

	// APIKey may stand here in place of the header X-Api-Key (section 5).
	APIKey *string `json:"api_key,omitempty"`
}

// CheckCreate is the body of a request that creates a check (API-V3.md section 4.3). What is nil is left out, and
// takes its default.
type CheckCreate struct {
	CheckUpdate
	// Unique names the fields by which an existing check is looked for, to be updated: name, slug, tags, timeout,
	// grace.
	Unique []string `json:"unique,omitempty"`
}

// ErrBody is in the chain of every error that says that a whole body is not acceptable, rather than one field of it.
// The text of such an error is fit to be shown to the sender.
var ErrBody = errors.New("the body")

// A FieldError says that a field of a body has a value of the wrong type. Its text is fit to be shown to the sender,
// for example "timeout is not a whole number: 60.5".
type FieldError struct {
	// Field is the name of the field.
	Field string
	// Reason continues the field's name to a sentence.
	Reason string
}

func (e *FieldError) Error() string { return e.Field + " " + e.Reason }

// Body is a request body that is a JSON object. The zero value is the empty object.
type Body struct {
	fields map[string]json.RawMessage
}

// ParseBody reads a request body: one JSON object in UTF-8, or nothing, which is taken as the empty object. The
// fields are not looked at. The error is an [ErrBody].
func ParseBody(data []byte) (Body, error) {
	if len(data) == 0 {
		return Body{}, nil
	}
	if !utf8.Valid(data) {
		return Body{}, fmt.Errorf("%w is not valid UTF-8", ErrBody)
	}
	if !json.Valid(data) {
		return Body{}, fmt.Errorf("%w is not valid JSON%s", ErrBody, syntaxError(data))
	}
	if bytes.TrimLeft(data, " \t\r\n")[0] != '{' {
		return Body{}, fmt.Errorf("%w is not a JSON object", ErrBody)
	}
	var b Body
	if err := json.Unmarshal(data, &b.fields); err != nil {
		return Body{}, fmt.Errorf("%w is not a JSON object: %v", ErrBody, err)
	}
	return b, nil
}

// syntaxError tells what is wrong with a JSON text, and where, as the end of a sentence.
func syntaxError(data []byte) string {
	var ignored json.RawMessage
	err := json.Unmarshal(data, &ignored)
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		return fmt.Sprintf(": %v, at byte %d", syntax, syntax.Offset)
	}
	return ""
}

// APIKey returns the field api_key, nil when there is none. The error is a *[FieldError].
func (b Body) APIKey() (*string, error) {
	r := reader{body: b}
	key := r.text("api_key")
	return key, r.err
}

// Create reads the fields of a request that creates a check. Keys match exactly, and unknown ones are ignored. The
// error is a *[FieldError] for the first field, in the order of [CheckUpdate], that has the wrong type. Bounds are
// not looked at, except that numbers must fit 64 bits.
func (b Body) Create() (CheckCreate, error) {
	r := reader{body: b}
	c := CheckCreate{CheckUpdate: r.update(), Unique: r.texts("unique")}
	if r.err != nil {
		return CheckCreate{}, r.err
	}
	return c, nil
}

// Update reads the fields of a request that updates a check. It does as [Body.Create] does.
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
		AlertAfter:        r.number("alert_after", 0, MaxAlertAfter),
		RepeatEvery:       r.seconds("repeat_every"),
		QuietHours:        r.text("quiet_hours"),
		APIKey:            r.text("api_key"),
	}
}
