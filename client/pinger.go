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

// DefaultBodyLimit is how many bytes of a body a [Pinger] sends as long as no answer has told what the server keeps.
const DefaultBodyLimit = 100_000

// maxBodyLimit bounds what a server can make a Pinger send and keep in memory.
const maxBodyLimit = 10_000_000

// Pinger sends the pings of one job. Its methods may be called by many goroutines at once.
//
// A ping takes no longer than Config.Timeout, 10 seconds by default, with everything that is sent again, and it ends
// when ctx does. It is a POST, so that it counts with every setting of [Check.Methods]. What goes wrong is returned and
// may be ignored: nothing else depends on it. The errors are [checks.ErrNotFound] when there is no such check,
// [checks.ErrAmbiguousSlug], and those of the connection; none of them shows the ping URL. A ping that was sent again
// may be in the log twice.
//
// Of a body longer than the server keeps, the end is sent. Servers tell in every answer how much they keep; before the
// first one it is [DefaultBodyLimit].
type Pinger struct {
	caller     caller
	url, query string // of a success
	limit      atomic.Int64
}

// NewPinger returns a pinger for the check with this ping URL: its [Check.PingURL], or what [SlugURL] returns. A query
// of the URL is part of every ping: with "?create=1" a ping to a slug that no check has makes the check. It makes no
// request. The error says what is wrong with an argument, and never contains the URL.
func NewPinger(pingURL string, config *Config) (*Pinger, error) {
	u, err := parseURL(pingURL)
	if err != nil {
		return nil, fmt.Errorf("client: the ping URL %w", err)
	}
	path := strings.TrimPrefix(u.EscapedPath(), "/")
	if path == "" {
		return nil, errors.New("client: the ping URL has no path, so it names no check")
	}
	for segment := range strings.SplitSeq(path, "/") {
		// With an empty slug, the signal at the end of the path would be taken for the slug.
		if segment == "" || segment == "." || segment == ".." {
			return nil, fmt.Errorf("client: the path of the ping URL has a segment that is %q", segment)
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

// SlugURL returns the ping URL of the check with a slug, in the project that has the ping key, at {ping_base_url}.
func SlugURL(pingBaseURL, pingKey, slug string) string {
	return strings.TrimRight(pingBaseURL, "/") + "/" + url.PathEscape(pingKey) + "/" + url.PathEscape(slug)
}

// BodyLimit returns how many bytes of a body are sent, by what the last answer has told.
func (p *Pinger) BodyLimit() int { return int(p.limit.Load()) }

// Start says that a run of the job has begun, and returns the run, whose pings carry an identifier made for it. That
// keeps runs that overlap apart. The run can be used even if there is an error.
func (p *Pinger) Start(ctx context.Context) (*Run, error) {
	r := &Run{pinger: p, id: uuid.New()}
	return r, r.ping(ctx, pings.Signal{Kind: pings.Start})
}

// Success says that the job has succeeded. The body may be nil.
func (p *Pinger) Success(ctx context.Context, body []byte) error {
	return p.Ping(ctx, pings.Signal{Kind: pings.Success, Body: body})
}

// Fail says that the job has failed. The body may be nil.
func (p *Pinger) Fail(ctx context.Context, body []byte) error {
	return p.Ping(ctx, pings.Signal{Kind: pings.Fail, Body: body})
}

// Log adds a note to the log of the check, and changes no state.
func (p *Pinger) Log(ctx context.Context, body []byte) error {
	return p.Ping(ctx, pings.Signal{Kind: pings.Log, Body: body})
}

// ExitStatus says that the job has ended with a status of 0 to 255: 0 is a success, all others are failures. The body
// may be nil.
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

// Ping sends any signal, as a monitor that is embedded in the program takes it. Of the signal, Kind, RunID, ExitStatus
// and Body are sent. The error is a *[checks.FieldError] for what no ping URL can say: a kind or an exit status that is
// not valid, or an exit status whose kind is not success for 0 and fail for others.
func (p *Pinger) Ping(ctx context.Context, s pings.Signal) error {
	if s.Kind == "" {
		s.Kind = pings.Success
	}
	what := string(s.Kind) + " ping"
	suffix, err := signalPath(s)
	if err != nil {
		return fmt.Errorf("client: %s: %w", what, err)
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
		what: what, method: http.MethodPost, url: target, body: end(s.Body, p.BodyLimit()), repeat: true,
		means: map[int]error{http.StatusConflict: checks.ErrAmbiguousSlug}, seen: p.learn,
	}
	if len(r.body) > 0 {
		r.header = http.Header{"Content-Type": {"text/plain; charset=utf-8"}}
	}
	return p.caller.do(ctx, r, func(*answer) error { return nil })
}

// signalPath returns what stands after the path of a success.
func signalPath(s pings.Signal) (string, error) {
	switch {
	case !s.Valid():
		return "", &checks.FieldError{Field: "signal", Reason: "must be success, start, fail or log, with an exit status of 0 to 255"}
	case s.ExitStatus != nil && s.Kind != exitSignal(*s.ExitStatus, nil).Kind:
		return "", &checks.FieldError{Field: "signal", Reason: fmt.Sprintf("is %s with the exit status %d", s.Kind, *s.ExitStatus)}
	case s.ExitStatus != nil:
		return "/" + strconv.Itoa(*s.ExitStatus), nil
	case s.Kind == pings.Success:
		return "", nil
	}
	return "/" + string(s.Kind), nil
}

// learn notes how much of a body the server keeps.
func (p *Pinger) learn(h http.Header) {
	if limit, err := strconv.ParseInt(h.Get("Ping-Body-Limit"), 10, 64); err == nil && limit >= 0 {
		p.limit.Store(min(limit, maxBodyLimit))
	}
}

// end returns the last bytes of a body, up to the limit. It does not begin with a part of a character.
func end(body []byte, limit int) []byte {
	if len(body) <= limit {
		return body
	}
	return fromRune(body[len(body)-limit:])
}

// fromRune returns a text without the part of a character at its start.
func fromRune(text []byte) []byte {
	for i := range min(utf8.UTFMax, len(text)) {
		if utf8.RuneStart(text[i]) {
			return text[i:]
		}
	}
	return text // not UTF-8
}
