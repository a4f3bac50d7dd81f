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

// maxMessage bounds the message of an error in bytes.
const maxMessage = 1000

// Error is a response with a status of 300 or above (API-V3.md section 7). It wraps what the response means:
//
//   - [checks.ErrNotFound] for 404;
//   - [checks.ErrNotPaused] for 409 of [Client.Resume];
//   - [checks.ErrCheckLimit] for 403 of [Client.Create] and [Client.Upsert];
//   - [checks.ErrAmbiguousSlug] for 409 of a ping;
//   - *[checks.FieldError] for 400 if the response names the field or query parameter at fault.
type Error struct {
	// StatusCode is the HTTP status.
	StatusCode int
	// Message says what is wrong: up to 1000 bytes of the server's text, or the usual phrase for the status.
	Message string
	// RetryAfter is how long the server asks to wait before the next request, 0 if it does not say.
	RetryAfter time.Duration

	cause error
}

// Error returns the message and the status, such as "check is not paused (status 409)".
func (e *Error) Error() string { return fmt.Sprintf("%s (status %d)", e.Message, e.StatusCode) }

// Unwrap returns what the response means, or nil.
func (e *Error) Unwrap() error { return e.cause }

// newError reads a response that is not a success.
func newError(res *http.Response, causes map[int]error) *Error {
	document := errorDocument(res)
	e := &Error{StatusCode: res.StatusCode, Message: clean(document.Error), RetryAfter: retryAfter(res, time.Now())}
	if e.Message == "" {
		e.Message = strings.ToLower(http.StatusText(res.StatusCode))
	}
	if e.Message == "" {
		e.Message = "unexpected response"
	}
	field := clean(document.Field)
	switch cause, known := causes[res.StatusCode]; {
	case known:
		e.cause = cause
	case res.StatusCode == http.StatusNotFound:
		e.cause = checks.ErrNotFound
	case res.StatusCode == http.StatusBadRequest && field != "":
		e.cause = &checks.FieldError{Field: field, Reason: reason(e.Message, field)}
	}
	return e
}

// errorDocument returns what a response says in JSON or in plain text. The HTML page of a proxy says nothing.
func errorDocument(res *http.Response) wire.Error {
	body, _ := io.ReadAll(io.LimitReader(res.Body, 64<<10)) // a truncated body only worsens the message
	var document wire.Error
	switch kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type")); kind {
	case "application/json":
		_ = json.Unmarshal(body, &document) // keeps the fields that it can read
	case "text/plain":
		document.Error = string(body)
	}
	return document
}

// clean makes one line of valid UTF-8 of a text, up to maxMessage bytes.
func clean(text string) string {
	text = strings.Join(strings.Fields(strings.ToValidUTF8(text, "\ufffd")), " ")
	if len(text) > maxMessage {
		text = strings.ToValidUTF8(text[:maxMessage], "")
	}
	return text
}

// reason returns a message without the name of the field that it begins with.
func reason(message, field string) string {
	for _, separator := range []string{": ", " "} {
		if rest, ok := strings.CutPrefix(message, field+separator); ok {
			return rest
		}
	}
	return message
}
