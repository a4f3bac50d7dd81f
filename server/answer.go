package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"math"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/client/wire"
	"github.com/rollcall-dev/rollcall/flips"
)

// maxErrorText bounds the text of an error in bytes: it may quote what the client has sent.
const maxErrorText = 1000

// retryUnavailable is when a client is told to come back while the database cannot be reached.
const retryUnavailable = 5 * time.Second

// problem is an error that only HTTP knows.
type problem struct {
	status     int
	text       string
	field      string // the field or query parameter that is at fault, "" for none
	retryAfter time.Duration
}

func (p *problem) Error() string { return p.text }

var (
	errMissingKey = &problem{status: http.StatusUnauthorized, text: "missing api key"}
	errWrongKey   = &problem{status: http.StatusUnauthorized, text: "wrong api key"}
	errReadOnly   = &problem{status: http.StatusForbidden, text: "the api key is read-only"}
	errForeign    = &problem{status: http.StatusForbidden, text: "the check belongs to another project"}
	errNotFound   = &problem{status: http.StatusNotFound, text: "not found"}
	errMethod     = &problem{status: http.StatusMethodNotAllowed, text: "method not allowed"}
	errLateKey    = &problem{status: http.StatusUnauthorized, text: "missing api key in the first " + strconv.Itoa(maxKeylessBody) + " bytes of the body"}
	errTooLarge   = &problem{status: http.StatusRequestEntityTooLarge, text: "the body is too large: the maximum is " + strconv.Itoa(maxBody) + " bytes"}
	errBusy       = &problem{status: http.StatusServiceUnavailable, text: "too many large bodies at once", retryAfter: retryUnavailable}
	errBrokenBody = &problem{status: http.StatusBadRequest, text: "the body could not be read to its end"}
	errBadURL     = &problem{status: http.StatusBadRequest, text: "invalid url format"}
	errBadRunID   = &problem{status: http.StatusBadRequest, text: "invalid uuid format"}
	errBadQuery   = &problem{status: http.StatusBadRequest, text: "the query is not properly escaped"}
	errProbe      = &problem{status: http.StatusInternalServerError, text: "the database does not answer"}
)

// tooMany refuses a request because of the rate limit (API-V3.md section 8).
func tooMany(perMinute int, delay time.Duration) *problem {
	return &problem{
		status:     http.StatusTooManyRequests,
		text:       "too many requests: the limit is " + strconv.Itoa(perMinute) + " a minute",
		retryAfter: delay,
	}
}

// statuses is the table of the errors that the library returns, and the HTTP statuses that they become (API-V3.md
// section 7). The text of the answer is the one here, or else that of the error.
var statuses = []struct {
	is     error
	status int
	text   string
}{
	{wire.ErrBody, http.StatusBadRequest, ""},
	{checks.ErrNotFound, http.StatusNotFound, errNotFound.text},
	{checks.ErrNotPaused, http.StatusConflict, checks.ErrNotPaused.Error()},
	{checks.ErrAmbiguousSlug, http.StatusConflict, checks.ErrAmbiguousSlug.Error()},
	{checks.ErrExists, http.StatusConflict, checks.ErrExists.Error()},
	{checks.ErrCheckLimit, http.StatusForbidden, ""}, // its text has the limit
	{monitor.ErrBodyUnavailable, http.StatusServiceUnavailable, monitor.ErrBodyUnavailable.Error()},
	{monitor.ErrUnavailable, http.StatusServiceUnavailable, "unavailable"},
	{context.DeadlineExceeded, http.StatusServiceUnavailable, "unavailable"},
	{context.Canceled, http.StatusServiceUnavailable, "unavailable"}, // the client went away, so nobody reads it
}

// answerTo says what a client is told of an error. Errors of unknown kind are never shown.
func answerTo(err error) problem {
	if p, ok := errors.AsType[*problem](err); ok {
		return *p
	}
	if field, text := fault(err); field != "" {
		return problem{status: http.StatusBadRequest, text: text, field: field}
	}
	if e, ok := errors.AsType[*monitor.CreateRateError](err); ok {
		return problem{status: http.StatusTooManyRequests, text: e.Error(), retryAfter: e.RetryAfter}
	}
	for _, known := range statuses {
		if !errors.Is(err, known.is) {
			continue
		}
		p := problem{status: known.status, text: known.text}
		if p.text == "" {
			p.text = err.Error()
		}
		if p.status == http.StatusServiceUnavailable {
			p.retryAfter = retryUnavailable
		}
		return p
	}
	return problem{status: http.StatusInternalServerError, text: "internal error"}
}

// fault returns the field or query parameter whose value err refuses, with the text of the error, or "".
func fault(err error) (field, text string) {
	if e, ok := errors.AsType[*checks.FieldError](err); ok {
		return e.Field, e.Error()
	}
	if e, ok := errors.AsType[*channels.SelectError](err); ok {
		return "channels", e.Error()
	}
	if e, ok := errors.AsType[*flips.QueryError](err); ok {
		return e.Param, e.Error()
	}
	return "", ""
}

// explain turns an error into an answer, setting its headers and logging its cause if the client is not at fault.
func (s *Server) explain(w http.ResponseWriter, r *http.Request, err error) problem {
	p := answerTo(err)
	if p.retryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(p.retryAfter.Seconds()))))
	}
	if p.status >= http.StatusInternalServerError && r.Context().Err() == nil {
		s.logFailure(r, p, err)
	}
	if len(p.text) > maxErrorText {
		end := maxErrorText
		for !utf8.RuneStart(p.text[end]) {
			end--
		}
		p.text = p.text[:end] + "…"
	}
	return p
}

// logFailure logs why a request failed that its client is not at fault for. While the database is away all requests
// fail in the same way; one a second is logged then.
func (s *Server) logFailure(r *http.Request, p problem, err error) {
	attributes := []any{"method", r.Method, "path", pathWithoutKeys(r.URL.Path), "status", p.status, "error", err}
	if p.status == http.StatusServiceUnavailable {
		unlogged, ok := s.refusals.log(s.mon.Now())
		if !ok {
			return
		}
		if unlogged > 0 {
			attributes = append(attributes, "unlogged", unlogged)
		}
	}
	s.log.ErrorContext(r.Context(), "a request failed", attributes...)
}

// logEvery is how often a request is logged that was refused because the database is away.
const logEvery = time.Second

// refusals decides which of them are logged.
type refusals struct {
	mu       sync.Mutex
	logged   time.Time
	unlogged int
}

// log notes a refusal. If it is to be logged, unlogged is how many were not, since the last that was.
func (f *refusals) log(now time.Time) (unlogged int, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if since := now.Sub(f.logged); since >= 0 && since < logEvery {
		f.unlogged++
		return 0, false
	}
	unlogged, f.logged, f.unlogged = f.unlogged, now, 0
	return unlogged, true
}

// pathWithoutKeys returns a path as it may be logged: without ping keys, the keys and signatures of badges, and API keys
// that are there by mistake. UUIDs of checks stay, because they are what a reader of the log looks for.
func pathWithoutKeys(path string) string {
	segments := strings.Split(path, "/")
	for i, segment := range segments {
		if checks.ValidPingKey(segment) || utf8.RuneCountInString(segment) == monitor.KeyLength {
			segments[i] = "(key)"
		}
	}
	return strings.Join(segments, "/")
}

// fail answers with the JSON document of an error.
func (s *Server) fail(w http.ResponseWriter, r *http.Request, err error) {
	p := s.explain(w, r, err)
	document, _ := encode(wire.Error{Error: p.text, Field: p.field}) // strings: it cannot fail
	write(w, p.status, "application/json", document)
}

// encode renders a document in which <, > and & can be read as they are.
func encode(document any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(document); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

const plainText = "text/plain; charset=utf-8"

func writeText(w http.ResponseWriter, status int, text string) {
	write(w, status, plainText, []byte(text))
}

// write sends an answer. An error means that the client is gone, which is nothing to handle.
func write(w http.ResponseWriter, status int, contentType string, body []byte) {
	w.Header().Set("Content-Type", contentType)
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write(body)
}
