package client

import (
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/client/wire"
)

// maxMessage bounds what is kept of the text of an error, in bytes.
const maxMessage = 1000

// Error is an answer that says that a request was refused or failed (API-V3.md section 7). It wraps what the answer
// stands for:
//
//   - [checks.ErrNotFound] for 404;
//   - [checks.ErrNotPaused] for 409 of [Client.Resume];
//   - [checks.ErrCheckLimit] for 403 of [Client.Create] and [Client.Upsert];
//   - [checks.ErrAmbiguousSlug] for 409 of a ping;
//   - *[checks.FieldError] for 400 with a text that begins with the name of a setting.
type Error struct {
	// StatusCode is the HTTP status, 300 or more.
	StatusCode int
	// Message says what is wrong: the text that the server has sent, up to 1000 bytes of it, or else the usual
	// phrase for the status.
	Message string
	// RetryAfter is how long the server asks to wait before the request is sent again, 0 when it does not say.
	RetryAfter time.Duration

	cause error
}

// Error returns the message and the status, as in "check is not paused (status 409)".
func (e *Error) Error() string { return fmt.Sprintf("%s (status %d)", e.Message, e.StatusCode) }

// Unwrap returns what the answer stands for, or nil.
func (e *Error) Unwrap() error { return e.cause }

// newError reads an answer that is not a success.
func newError(res *http.Response, means map[int]error) *Error {
	body, _ := io.ReadAll(io.LimitReader(res.Body, 64<<10)) // what is missing of it only makes the message worse
	e := &Error{StatusCode: res.StatusCode, Message: message(res, body), RetryAfter: retryAfter(res, time.Now())}
	switch cause, known := means[res.StatusCode]; {
	case known:
		e.cause = cause
	case res.StatusCode == http.StatusNotFound:
		e.cause = checks.ErrNotFound
	case res.StatusCode == http.StatusBadRequest:
		if refused := fieldError(e.Message); refused != nil {
			e.cause = refused
		}
	}
	return e
}

// message finds the text of an error: in a JSON document, or in plain text. The page of a proxy is none.
func message(res *http.Response, body []byte) string {
	text := ""
	switch kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type")); kind {
	case "application/json":
		var document wire.Error
		if json.Unmarshal(body, &document) == nil {
			text = document.Error
		}
	case "text/plain":
		text = string(body)
	}
	text = strings.Join(strings.Fields(strings.ToValidUTF8(text, "\ufffd")), " ")
	if len(text) > maxMessage {
		text = strings.ToValidUTF8(text[:maxMessage], "")
	}
	if text == "" {
		text = strings.ToLower(http.StatusText(res.StatusCode))
	}
	if text == "" {
		text = "unexpected answer"
	}
	return text
}

// fieldError reads a text such as "timeout is too small: 59, the minimum is 60", or returns nil.
func fieldError(text string) error {
	field, reason, _ := strings.Cut(text, " ")
	switch field {
	case "name", "slug", "tags", "desc", "timeout", "grace", "schedule", "tz", "manual_resume", "methods", "channels", "unique",
		"start_kw", "success_kw", "failure_kw", "filter_subject", "filter_body", "filter_http_body", "filter_default_fail",
		"alert_after", "repeat_every", "quiet_hours":
		return &checks.FieldError{Field: field, Reason: reason}
	}
	return nil
}
