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

// Error is a response with a status of 300 or above (API-V3.md section 7). It wraps the library's error for the
// response:
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
	// RetryAfter is the value of the Retry-After header, 0 if there is none.
	RetryAfter time.Duration

	cause error
}

// Error returns the message and the status, such as "check is not paused (status 409)".
func (e *Error) Error() string { return fmt.Sprintf("%s (status %d)", e.Message, e.StatusCode) }

// Unwrap returns the library's error for the response, or nil.
func (e *Error) Unwrap() error { return e.cause }

// newError reads the error from a response.
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

// errorDocument reads an error in JSON or plain text. It ignores other types, such as the HTML page of a proxy.
func errorDocument(res *http.Response) wire.Error {
	body, _ := io.ReadAll(io.LimitReader(res.Body, 64<<10)) // a truncated body only worsens the message
	var document wire.Error
	switch kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type")); kind {
	case "application/json":
		_ = json.Unmarshal(body, &document) // a field of the wrong type stays empty
	case "text/plain":
		document.Error = string(body)
	}
	return document
}

// clean turns a text into one line of valid UTF-8 of at most maxMessage bytes.
func clean(text string) string {
	text = strings.Join(strings.Fields(strings.ToValidUTF8(text, "\ufffd")), " ")
	if len(text) > maxMessage {
		text = strings.ToValidUTF8(text[:maxMessage], "")
	}
	return text
}

// reason removes the name of the field from the start of a message.
func reason(message, field string) string {
	for _, separator := range []string{": ", " "} {
		if rest, ok := strings.CutPrefix(message, field+separator); ok {
			return rest
		}
	}
	return message
}
