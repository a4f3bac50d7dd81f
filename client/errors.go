package client

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/client/wire"
)

// maxMessage bounds the message of an error in bytes.
const maxMessage = 1000

// Errors of responses. Those of the settings and checks that a response is about are errors of package checks.
var (
	// ErrNotRollcall means that another program answered, such as a reverse proxy, a login page or the wrong site: the
	// base URL or the ping URL is probably wrong. Nothing is known about the check. The package comment says which
	// responses count as those of a server.
	ErrNotRollcall = errors.New("the answer is not Rollcall's, check the URL")
	// ErrRateLimited means that the server refused the request because there were too many.
	ErrRateLimited = errors.New("rate limited")
	// ErrUnauthorized means that the API key is missing, unknown, of another project, or has a scope that does not allow the
	// request.
	ErrUnauthorized = errors.New("unauthorized")
)

// Error is a response that refuses a request, usually with a status of 300 or above. It wraps the library's error for the
// response:
//
//   - [ErrNotRollcall] if another program answered;
//   - [ErrRateLimited] for 429;
//   - [ErrUnauthorized] for 401 and 403, except a 403 of [Client.Create] and [Client.Upsert], and one about something that
//     belongs to another project;
//   - [checks.ErrCheckLimit] for 403 of [Client.Create] and [Client.Upsert];
//   - [checks.ErrNotFound] for 404, and for 403 about something that belongs to another project;
//   - [checks.ErrNotPaused] for 409 of [Client.Resume];
//   - [checks.ErrNotDown] and [checks.ErrAcknowledged] for 409 of [Client.Acknowledge];
//   - [checks.ErrExists] for 409 of the methods that create, rename or update a project or a status page;
//   - [checks.ErrAmbiguousSlug] for 409 of a ping;
//   - *[channels.SelectError] for 400 if the response names the field channels, *[channels.SettingError] if it names the
//     settings of a channel, *[channels.NotConfiguredError] if the server cannot deliver to its kind, and *[checks.FieldError]
//     if it names another field or query parameter;
//   - [checks.ErrBodyUnavailable] for 503 of [Client.PingBody] if the object storage is unavailable, and [checks.ErrBodyCorrupt]
//     for 502 if it returned something else than the body;
//   - [checks.ErrUnavailable] for 502, 503 and 504, regardless of who answered. Any other status of 500 or above wraps
//     nothing.
//
// A request that got no response wraps [checks.ErrUnavailable] too, unless its context was cancelled or the certificate
// of the server is not valid.
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
func (e *Error) Error() string {
	text := fmt.Sprintf("%s (status %d)", e.Message, e.StatusCode)
	if e.cause == ErrNotRollcall && e.StatusCode >= 400 {
		text += ": " + ErrNotRollcall.Error()
	}
	return text
}

// Unwrap returns the library's error for the response, or nil.
func (e *Error) Unwrap() error { return e.cause }

// refusal is a response with a status of 300 or above, as far as its meaning goes.
type refusal struct {
	status int
	header http.Header
	body   []byte // the start of it
	kind   string // media type
}

// newError reads the error from a response. meaning returns the library's error for a status of 300 to 499.
func newError(res *http.Response, meaning func(refusal) error) *Error {
	f := refusal{status: res.StatusCode, header: res.Header}
	f.body, _ = io.ReadAll(io.LimitReader(res.Body, 64<<10)) // a truncated body only worsens the message
	f.kind, _, _ = mime.ParseMediaType(res.Header.Get("Content-Type"))
	e := &Error{StatusCode: f.status, Message: f.message(), RetryAfter: retryAfter(res, time.Now())}
	switch {
	case f.status == http.StatusTooManyRequests: // often from the proxy in front of the server
		e.cause = ErrRateLimited
	case isAway(f.status):
		e.cause = checks.ErrUnavailable
		for _, known := range []error{checks.ErrBodyUnavailable, checks.ErrBodyCorrupt} {
			if e.Message == known.Error() {
				e.cause = known
			}
		}
	case f.status < http.StatusInternalServerError:
		e.cause = meaning(f)
	}
	return e
}

// isAway reports whether a status means that the server or its database is not available at the moment.
func isAway(status int) bool {
	return status == http.StatusBadGateway || status == http.StatusServiceUnavailable || status == http.StatusGatewayTimeout
}

// message returns the text of the server, if it is JSON or plain text, or else the usual phrase for the status. The HTML
// page of a proxy is no message.
func (f refusal) message() string {
	text := ""
	switch f.kind {
	case "application/json":
		var document wire.Error
		_ = json.Unmarshal(f.body, &document) // a field of the wrong type stays empty
		text = clean(document.Error)
	case "text/plain":
		text = clean(string(f.body))
	}
	return cmp.Or(text, strings.ToLower(http.StatusText(f.status)), "unexpected response")
}

// text returns the body without the space around it.
func (f refusal) text() string { return string(bytes.TrimSpace(f.body)) }

// ofAPI returns the error for a response of the management API. A call can map a status to a specific cause.
func (f refusal) ofAPI(k call) error {
	document, isDocument := f.document()
	// Healthchecks gives some errors no document, but this header, which hardly any other program sends.
	text := f.text()
	isHealthchecks := strings.EqualFold(f.header.Get("Access-Control-Allow-Headers"), "X-Api-Key") &&
		(text == "" || text == checks.ErrNotPaused.Error())
	if !isDocument && !isHealthchecks {
		return ErrNotRollcall
	}
	if cause, known := k.causes[f.status]; known {
		return cause
	}
	switch f.status {
	case http.StatusUnauthorized, http.StatusForbidden:
		if strings.HasSuffix(document.Error, ofAnotherProject) && !strings.HasPrefix(document.Error, "the api key ") {
			return checks.ErrNotFound
		}
		return ErrUnauthorized
	case http.StatusNotFound:
		// A server has another text for a path that the API does not have.
		if document.Error == notFound || isHealthchecks {
			return checks.ErrNotFound
		}
		return ErrNotRollcall
	case http.StatusConflict:
		for _, cause := range []error{checks.ErrNotDown, checks.ErrAcknowledged} {
			if strings.HasPrefix(document.Error, cause.Error()) {
				return cause
			}
		}
	case http.StatusBadRequest:
		switch field := clean(document.Field); {
		case field == "":
		case field == "channels":
			return selectError(reason(f.message(), field))
		case field == "kind" && k.kind != "":
			return kindError(f.message(), k.kind)
		case field == "settings" && k.kind != "":
			name, reason, _ := strings.Cut(reason(f.message(), string(k.kind)), " ")
			return &channels.SettingError{Kind: k.kind, Setting: name, Reason: reason}
		default:
			return &checks.FieldError{Field: field, Reason: reason(f.message(), field)}
		}
	}
	return nil
}

// selectError returns the error of a selection of channels. Its reason quotes the item.
func selectError(reason string) error {
	e := &channels.SelectError{Reason: reason}
	if i := strings.IndexByte(reason, '"'); i >= 0 {
		quoted, _ := strconv.QuotedPrefix(reason[i:])
		e.Item, _ = strconv.Unquote(quoted)
	}
	return e
}

// kindError returns the error of a kind: one that the server does not know or that cannot change, or else one that it cannot
// deliver to, whose text says what is missing.
func kindError(message string, kind channels.Kind) error {
	reason, isField := strings.CutPrefix(message, "kind ")
	if !isField {
		return &channels.NotConfiguredError{Kind: kind, Missing: message}
	}
	e := &checks.FieldError{Field: "kind", Reason: reason}
	if _, known, ok := strings.Cut(reason, ", the known kinds are "); ok {
		unknown := &channels.KindError{Kind: kind}
		for name := range strings.SplitSeq(known, ", ") {
			unknown.Known = append(unknown.Known, channels.Kind(name))
		}
		e.Err = unknown
	}
	return e
}

// ofAnotherProject ends the text of the 403 about a thing that another project has.
const ofAnotherProject = " belongs to another project"

// notFound is the text of the response about a check that does not exist.
const notFound = "not found"

// document returns the document of an error. Other programs have errors too, but with other fields.
func (f refusal) document() (document wire.Error, ok bool) {
	var fields map[string]json.RawMessage
	if f.kind != "application/json" || json.Unmarshal(f.body, &fields) != nil {
		return document, false
	}
	text, ok := fields["error"]
	if !ok || json.Unmarshal(text, &document.Error) != nil {
		return document, false
	}
	delete(fields, "error")
	if field, ok := fields["field"]; ok {
		_ = json.Unmarshal(field, &document.Field) // a field of the wrong type stays empty
		delete(fields, "field")
	}
	return document, len(fields) == 0
}

// ofPing returns the error of a response to a ping.
func (f refusal) ofPing() error {
	switch text := f.text(); {
	case f.status == http.StatusNotFound && text == notFound:
		return checks.ErrNotFound
	case f.status == http.StatusConflict && text == checks.ErrAmbiguousSlug.Error():
		return checks.ErrAmbiguousSlug
	case f.status == http.StatusBadRequest && (text == "invalid url format" || text == "invalid uuid format"):
		return nil
	case f.status >= 400 && f.status != http.StatusNotFound && f.status != http.StatusConflict && f.header.Get(bodyLimitHeader) != "":
		return nil
	}
	return ErrNotRollcall
}

// readPing reads the response to a ping with a status of 200 to 299.
func readPing(res *http.Response) error {
	body, err := io.ReadAll(io.LimitReader(res.Body, 100))
	if err != nil {
		return &connectionError{err: err}
	}
	switch text := string(bytes.TrimSpace(body)); text {
	case "OK", "Created":
		return nil
	case "OK (not found)": // the hosted Healthchecks service
		return &Error{StatusCode: res.StatusCode, Message: text, cause: checks.ErrNotFound}
	case "OK (rate limited)":
		return &Error{StatusCode: res.StatusCode, Message: text, cause: ErrRateLimited}
	}
	return ErrNotRollcall
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
