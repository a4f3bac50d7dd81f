package server

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/server/internal/request"
)

// retryUnavailable is the Retry-After of a 503.
const retryUnavailable = 5 * time.Second

// problem is an error as the client sees it.
type problem struct {
	status     int
	text       string
	field      string // field or query parameter at fault, if it is one
	retryAfter time.Duration
}

func (p *problem) Error() string { return p.text }

// errForeign is the problem of a request about a thing of another project than that of its key.
func errForeign(thing string) *problem {
	return &problem{status: http.StatusForbidden, text: "the " + thing + " belongs to another project"}
}

var (
	errMissingKey      = &problem{status: http.StatusUnauthorized, text: "missing api key"}
	errLateKey         = &problem{status: http.StatusUnauthorized, text: "missing api key in the first " + strconv.Itoa(maxKeylessBody) + " bytes of the body"}
	errExpiredKey      = &problem{status: http.StatusUnauthorized, text: "the api key has expired"}
	errWrongKey        = &problem{status: http.StatusUnauthorized, text: "wrong api key"}
	errCrossOrigin     = &problem{status: http.StatusForbidden, text: "a request from another origin needs an api key in the header X-Api-Key"}
	errSignIn          = &problem{status: http.StatusInternalServerError, text: "internal error"}
	errSignInAway      = &problem{status: http.StatusServiceUnavailable, text: "unavailable", retryAfter: retryUnavailable}
	errReadOnlyKey     = &problem{status: http.StatusUnauthorized, text: errReadOnly.text}
	errReadOnly        = &problem{status: http.StatusForbidden, text: "the api key is read-only"}
	errViewer          = &problem{status: http.StatusForbidden, text: "you are signed in to view this project, not to change it"}
	errNoProject       = &problem{status: http.StatusForbidden, text: "you are signed in, but have access to no project"}
	errNotAdmin        = &problem{status: http.StatusForbidden, text: "this needs an api key with the scope admin"}
	errNotInstallation = &problem{status: http.StatusForbidden, text: "this needs an api key of the installation"}
	errNeedsProject    = &problem{
		status: http.StatusBadRequest, field: "project", text: "project is missing: a key of the installation needs ?project=<uuid>",
	}
	errBadProject = &problem{status: http.StatusBadRequest, field: "project", text: "project is not a UUID"}
	errNotFound   = &problem{status: http.StatusNotFound, text: "not found"}
	errNoPath     = &problem{status: http.StatusNotFound, text: "no such path"} // clients tell it from a missing check
	errMethod     = &problem{status: http.StatusMethodNotAllowed, text: "method not allowed"}
	errPingMethod = &problem{status: http.StatusMethodNotAllowed, text: "method not allowed: use GET, HEAD or POST; in place of curl -T, " +
		"which sends PUT, use curl --data-binary @FILE"}
	errTooLarge   = &problem{status: http.StatusRequestEntityTooLarge, text: "the body is too large: the maximum is " + strconv.Itoa(maxBody) + " bytes"}
	errBrokenBody = &problem{status: http.StatusBadRequest, text: "the body could not be read to its end"}
	errBadURL     = &problem{status: http.StatusBadRequest, text: "invalid url format"}
	errBadRunID   = &problem{status: http.StatusBadRequest, text: "invalid uuid format"}
	errBadQuery   = &problem{status: http.StatusBadRequest, text: "the query is not properly escaped"}
	errBusy       = &problem{status: http.StatusServiceUnavailable, text: "too many large bodies at once", retryAfter: retryUnavailable}
	errProbe      = &problem{status: http.StatusInternalServerError, text: "the database does not answer"}
)

// tooMany is the answer beyond the rate limit (server/API.md section 8).
func tooMany(perMinute int, delay time.Duration) *problem {
	return &problem{
		status:     http.StatusTooManyRequests,
		text:       "too many requests: the limit is " + strconv.Itoa(perMinute) + " a minute",
		retryAfter: delay,
	}
}

// statuses maps errors of the library to HTTP statuses (server/API.md section 7). The text is sent in place of the
// error's own, unless it is "".
var statuses = []struct {
	is     error
	status int
	text   string
}{
	{request.ErrBody, http.StatusBadRequest, ""},
	{checks.ErrNotFound, http.StatusNotFound, errNotFound.text},
	{checks.ErrNotPaused, http.StatusConflict, checks.ErrNotPaused.Error()},
	{checks.ErrNotDown, http.StatusConflict, checks.ErrNotDown.Error()},
	{checks.ErrAcknowledged, http.StatusConflict, ""}, // the error's text says who has it
	{checks.ErrAmbiguousSlug, http.StatusConflict, checks.ErrAmbiguousSlug.Error()},
	{checks.ErrExists, http.StatusConflict, checks.ErrExists.Error()},
	{checks.ErrCheckLimit, http.StatusForbidden, ""}, // the error's text has the limit
	{checks.ErrBodyUnavailable, http.StatusServiceUnavailable, checks.ErrBodyUnavailable.Error()},
	{checks.ErrBodyCorrupt, http.StatusBadGateway, checks.ErrBodyCorrupt.Error()},
	{checks.ErrUnavailable, http.StatusServiceUnavailable, "unavailable"},
	{context.DeadlineExceeded, http.StatusServiceUnavailable, "unavailable"},
	{context.Canceled, http.StatusServiceUnavailable, "unavailable"},
}

// problemOf returns what to tell the client about an error. Unknown errors become "internal error".
func problemOf(err error) problem {
	if p, ok := errors.AsType[*problem](err); ok {
		return *p
	}
	if field, text := fault(err); field != "" {
		return problem{status: http.StatusBadRequest, text: text, field: field}
	}
	if e, ok := errors.AsType[*checks.CreateRateError](err); ok {
		return problem{status: http.StatusTooManyRequests, text: e.Error(), retryAfter: e.RetryAfter}
	}
	if e, ok := errors.AsType[*monitor.Error](err); ok {
		err = e.Err // clients know what they asked about
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
	if e, ok := errors.AsType[*channels.KindError](err); ok {
		return "kind", e.Error()
	}
	if e, ok := errors.AsType[*channels.NotConfiguredError](err); ok {
		return "kind", e.Error()
	}
	if e, ok := errors.AsType[*channels.SettingError](err); ok {
		return "settings", e.Error()
	}
	if e, ok := errors.AsType[*channels.KeptError](err); ok {
		return "settings", e.Error()
	}
	return "", ""
}
