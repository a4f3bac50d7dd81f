package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/pings"
)

// DefaultBodyLimit is the number of bytes of a body that a [Pinger] sends until a response states the server's limit.
const DefaultBodyLimit = 100_000

// maxBodyLimit bounds the bytes that a server can make a Pinger send and keep in memory.
const maxBodyLimit = 10_000_000

// Pinger sends the pings of one job. It is safe for concurrent use.
//
// A ping with all its retries takes at most Config.Timeout, 10 seconds by default, and ends when ctx does. It is a
// POST, which every setting of [Check.Methods] allows. A job may ignore the error of a ping. The error is
// [checks.ErrNotFound] if no check has the ping URL, [checks.ErrAmbiguousSlug] if several have the slug, another
// [Error], or the failure of the connection; its text never contains the ping URL. A ping that was retried may be in
// the log twice.
//
// If a body is longer than the server keeps, a Pinger sends only its end. Every response states the server's limit.
// Before the first response, the limit is [DefaultBodyLimit].
type Pinger struct {
	caller     caller
	url, query string // of a success ping
	limit      atomic.Int64
}

// NewPinger returns a pinger for a ping URL: the [Check.PingURL] of a check, or the result of [SlugURL]. Every ping
// carries the query of the URL; with "?create=1" the server creates the check if no check has the slug. NewPinger makes
// no request. Its error says which argument is wrong and never contains the URL.
func NewPinger(pingURL string, config *Config) (*Pinger, error) {
	u, err := parseURL(pingURL)
	if err != nil {
		return nil, fmt.Errorf("client: the ping URL %w", err)
	}
	path := strings.TrimPrefix(u.EscapedPath(), "/")
	if path == "" {
		return nil, errors.New("client: the ping URL has no path and so names no check")
	}
	for segment := range strings.SplitSeq(path, "/") {
		// After an empty slug, the server would take the signal for the slug.
		if segment == "" || segment == "." || segment == ".." {
			return nil, fmt.Errorf("client: the path of the ping URL contains an invalid segment: %q", segment)
		}
	}
	p := &Pinger{query: u.RawQuery}
	u.RawQuery, u.ForceQuery = "", false
	p.url = u.String()
	p.limit.Store(DefaultBodyLimit)
	if p.caller, err = newCaller(config, DefaultPingTimeout); err != nil {
		return nil, err
	}
	return p, nil
}

// SlugURL returns the ping URL of a check by the ping key of its project and its slug. The base URL is that of the ping
// endpoints, such as "https://rollcall.example.org/ping".
func SlugURL(pingBaseURL, pingKey, slug string) string {
	return strings.TrimRight(pingBaseURL, "/") + "/" + url.PathEscape(pingKey) + "/" + url.PathEscape(slug)
}

// BodyLimit returns the number of bytes of a body that the server keeps, according to the last response.
func (p *Pinger) BodyLimit() int { return int(p.limit.Load()) }

// Start reports that a run of the job has begun. The pings of the returned run carry a new run identifier, so that the
// server can tell overlapping runs apart. The run is usable even if Start returns an error.
func (p *Pinger) Start(ctx context.Context) (*Run, error) {
	r := &Run{pinger: p, id: uuid.New()}
	return r, r.ping(ctx, pings.Signal{Kind: pings.Start})
}

// Success reports that the job succeeded. The body may be nil.
func (p *Pinger) Success(ctx context.Context, body []byte) error {
	return p.Ping(ctx, pings.Signal{Kind: pings.Success, Body: body})
}

// Fail reports that the job failed. The body may be nil.
func (p *Pinger) Fail(ctx context.Context, body []byte) error {
	return p.Ping(ctx, pings.Signal{Kind: pings.Fail, Body: body})
}

// Log adds an entry to the log of the check and changes no state.
func (p *Pinger) Log(ctx context.Context, body []byte) error {
	return p.Ping(ctx, pings.Signal{Kind: pings.Log, Body: body})
}

// ExitStatus reports the exit status of the job, 0 to 255: 0 is a success, any other a failure. The body may be nil.
func (p *Pinger) ExitStatus(ctx context.Context, status int, body []byte) error {
	return p.Ping(ctx, exitSignal(status, body))
}

func exitSignal(status int, body []byte) pings.Signal {
	s := pings.Signal{Kind: pings.Success, ExitStatus: &status, Body: body}
	if status != 0 {
		s.Kind = pings.Fail
	}
	return s
}

// Ping sends a signal, like the method of an embedded monitor. It sends Kind, RunID, ExitStatus and Body and ignores
// the other fields. The zero Kind is a success. The error is a *[checks.FieldError] for a signal that no ping URL can
// express: an invalid kind or exit status, or an exit status that contradicts the kind.
func (p *Pinger) Ping(ctx context.Context, s pings.Signal) error {
	if s.Kind == "" {
		s.Kind = pings.Success
	}
	name := string(s.Kind) + " ping"
	suffix, err := signalPath(s)
	if err != nil {
		return fmt.Errorf("client: %s: %w", name, err)
	}
	target := p.url + suffix
	query := p.query
	if s.RunID.Valid {
		if query != "" {
			query += "&"
		}
		query += "rid=" + s.RunID.UUID.String()
	}
	if query != "" {
		target += "?" + query
	}
	r := request{
		name: name, method: http.MethodPost, url: target, body: lastBytes(s.Body, p.BodyLimit()), idempotent: true,
		causes: map[int]error{http.StatusConflict: checks.ErrAmbiguousSlug}, onHeader: p.learn,
	}
	if len(r.body) > 0 {
		r.header = http.Header{"Content-Type": {"text/plain; charset=utf-8"}}
	}
	return p.caller.do(ctx, r, func(*response) error { return nil })
}

// signalPath returns the suffix of the ping URL for a signal.
func signalPath(s pings.Signal) (string, error) {
	switch {
	case !s.Valid():
		return "", &checks.FieldError{Field: "signal", Reason: "must be success, start, fail or log, with an exit status of 0 to 255"}
	case s.ExitStatus != nil && s.Kind != exitSignal(*s.ExitStatus, nil).Kind:
		return "", &checks.FieldError{Field: "signal", Reason: fmt.Sprintf("is %s, which contradicts the exit status %d", s.Kind, *s.ExitStatus)}
	case s.ExitStatus != nil:
		return "/" + strconv.Itoa(*s.ExitStatus), nil
	case s.Kind == pings.Success:
		return "", nil
	}
	return "/" + string(s.Kind), nil
}

// learn stores the body limit that a response states.
func (p *Pinger) learn(h http.Header) {
	if limit, err := strconv.ParseInt(h.Get("Ping-Body-Limit"), 10, 64); err == nil && limit >= 0 {
		p.limit.Store(min(limit, maxBodyLimit))
	}
}

// lastBytes returns the end of a body, at most limit bytes. It starts at a whole character.
func lastBytes(body []byte, limit int) []byte {
	if len(body) <= limit {
		return body
	}
	return skipPartialRune(body[len(body)-limit:])
}

// skipPartialRune removes the rest of a cut character from the start of a text.
func skipPartialRune(text []byte) []byte {
	for i := range min(utf8.UTFMax, len(text)) {
		if utf8.RuneStart(text[i]) {
			return text[i:]
		}
	}
	return text // not UTF-8
}
