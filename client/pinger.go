package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/job"
	"github.com/rollcall-dev/rollcall/pings"
)

// defaultBodyLimit is the number of bytes of a body that a [Pinger] sends until a response states the server's limit.
const defaultBodyLimit = 100_000

// bodyLimitHeader is in every response to a ping.
const bodyLimitHeader = "Ping-Body-Limit"

// bodyCutHeader is in a ping from whose body the Pinger left out bytes.
const bodyCutHeader = "Ping-Body-Cut"

// maxBodyLimit bounds the bytes that a server can make a Pinger send and keep in memory.
const maxBodyLimit = 10_000_000

// Pinger sends the pings of one job. It is a [job.Reporter], and safe for concurrent use. A nil *Pinger does nothing, and
// its Run only calls the job.
//
// A job does not wait for its monitoring. The method of a ping tries once to send it, for at most PingerConfig.Timeout, 5
// seconds by default, and until ctx ends; a ctx that has ended before counts as one that never does. If the server does not
// answer or is overloaded, the Pinger retries in the background until the ping has arrived, also after hours, and the error of
// the method has the cause: it is an [ErrQueued] with a queue, and otherwise an [ErrPending]. While a ping waits, those after it
// wait behind it, so that pings of one Pinger never overtake each other; their methods return at once. If more than 10,000 pings
// or 32 MiB of bodies wait in memory, the oldest are dropped. That, and what fails in the background, goes to OnPingError of
// PingerConfig.Job. Call [Pinger.Close] before the program ends: it says how many pings were lost.
//
// A ping is a POST, which every setting of methods allows. A job may ignore the error of a ping. It is
// [checks.ErrNotFound] if no check has the ping URL, [checks.ErrAmbiguousSlug] if several have the slug, [ErrNotRollcall]
// if another program answered, another [Error], or the failure of the connection; its text never contains the ping URL.
// A ping that was retried may be in the log twice.
//
// If a body is longer than the server keeps, a Pinger sends its beginning and its end, and how many bytes it left out. Every
// response states the server's limit. Before the first response, the limit is 100,000 bytes.
type Pinger struct {
	sender sender
	job    *job.Job
}

var _ job.Reporter = (*Pinger)(nil)

// sender makes the requests of a [Pinger].
type sender struct {
	caller       *caller
	tries        int    // PingerConfig.Tries
	url, query   string // of a success ping, once the check is registered
	registration registration
	limit        atomic.Int64
	report       func(ctx context.Context, err error)
	background   worker

	queue  *queue // nil to keep pings in memory
	memory memory
	failed atomic.Pointer[error] // of the try of a ping that the background has not seen yet
}

// NewPinger returns a pinger for a ping URL: the PingURL of a [checks.Snapshot], or the result of [SlugURL]. Every ping
// carries the query of the URL; with "?create=1" the server creates the check if no check has the slug. NewPinger makes
// no request. It refuses a URL that ends in a signal, such as "/fail". Its error says which argument is wrong, or why
// PingerConfig.Queue cannot be used, and never contains the URL. The Pinger is then nil, which runs jobs and reports nothing: log
// the error, and do not let it stop the job.
func NewPinger(pingURL string, config *PingerConfig) (*Pinger, error) {
	target, query, err := splitPingURL(pingURL)
	if err != nil {
		return nil, err
	}
	p, err := newPinger(target+"?"+query, config)
	if err != nil {
		return nil, err
	}
	p.sender.url, p.sender.query = target, query
	return p, nil
}

// splitPingURL returns a ping URL without its query, and the query.
func splitPingURL(pingURL string) (target, query string, err error) {
	u, err := parseURL(pingURL)
	if err != nil {
		return "", "", fmt.Errorf("client: the ping URL %w", err)
	}
	path := strings.TrimPrefix(u.EscapedPath(), "/")
	if path == "" {
		return "", "", errors.New("client: the ping URL has no path and so names no check")
	}
	segments := strings.Split(path, "/")
	for i, segment := range segments {
		// After an empty slug, the server would take the signal for the slug.
		if segment == "" || segment == "." || segment == ".." {
			return "", "", fmt.Errorf("client: the path of the ping URL contains an invalid segment: %q", segment)
		}
		segments[i], _ = url.PathUnescape(segment) // parseURL has checked it
	}
	if signal, ends := endsInSignal(segments); ends {
		return "", "", fmt.Errorf("client: the ping URL ends in /%s, which is a signal and no check: leave that out", signal)
	}
	query = u.RawQuery
	u.RawQuery, u.ForceQuery = "", false
	return u.String(), query, nil
}

// endsInSignal reports whether a ping URL's path ends in a signal of a check, which a success would send instead. After a ping
// key it is a slug; but what follows a ping key may look like one itself.
func endsInSignal(path []string) (signal string, ends bool) {
	last := len(path) - 1
	switch signal = path[last]; {
	case last == 0: // of no check
		return "", false
	case signal != "start" && signal != "fail" && signal != "log" && strings.Trim(signal, "0123456789") != "":
		return "", false
	}
	return signal, !isPingKey(path[last-1]) || last >= 2 && isPingKey(path[last-2])
}

// isPingKey reports whether a text has the form of a ping key, of Rollcall or of Healthchecks.
func isPingKey(text string) bool {
	return checks.ValidPingKey(strings.ToLower(strings.NewReplacer("-", "a", "_", "a").Replace(text)))
}

// newPinger returns a Pinger without a ping URL, whose queue has a name.
func newPinger(name string, config *PingerConfig) (p *Pinger, err error) {
	p = &Pinger{}
	s := &p.sender
	s.limit.Store(defaultBodyLimit)
	var c PingerConfig
	if config != nil {
		c = *config
	}
	if s.caller, err = newCaller(c.requests(), defaultPingTimeout); err != nil {
		return nil, err
	}
	s.tries = c.Tries
	if c.Queue != "" {
		if s.queue, err = newQueue(c.Queue, name); err != nil {
			return nil, fmt.Errorf("client: queue: %w", err)
		}
	}
	c.Job.BodyLimit = p.BodyLimit
	if c.Job.OnPingError == nil {
		c.Job.OnPingError = logPingError
	}
	s.report = c.Job.OnPingError
	p.job = job.New(s, &c.Job)
	return p, nil
}

// logPingError is the default of OnPingError, also for what fails in the background.
func logPingError(ctx context.Context, err error) {
	slog.With(slog.Group("rollcall", "component", "job")).WarnContext(ctx, "cannot report a run", "error", err)
}

// SlugURL returns the ping URL of a check by the ping key of its project and its slug. The base URL is that of the ping
// endpoints, such as "https://rollcall.example.org/ping".
func SlugURL(pingBaseURL, pingKey, slug string) string {
	return strings.TrimRight(pingBaseURL, "/") + "/" + url.PathEscape(pingKey) + "/" + url.PathEscape(slug)
}

// BodyLimit returns the number of bytes of a body that the server keeps, according to the last response.
func (p *Pinger) BodyLimit() int {
	if p == nil {
		return 0
	}
	return int(p.sender.limit.Load())
}

// reports returns the job that makes the pings, nil for a nil Pinger. The pings of one that [NewPinger] has not made fail.
func (p *Pinger) reports() *job.Job {
	switch {
	case p == nil:
		return nil
	case p.job == nil:
		return &job.Job{}
	}
	return p.job
}

// Start reports that a run of the job has begun. The pings of the returned run carry a new run identifier, so that the
// server can tell overlapping runs apart. The run is usable even if Start returns an error.
func (p *Pinger) Start(ctx context.Context) (*job.Run, error) { return p.reports().Start(ctx) }

// Success reports that the job succeeded. The body may be nil.
func (p *Pinger) Success(ctx context.Context, body []byte) error {
	return p.reports().Success(ctx, body)
}

// Failure reports that the job failed. The body may be nil.
func (p *Pinger) Failure(ctx context.Context, body []byte) error {
	return p.reports().Failure(ctx, body)
}

// Log adds an entry to the log of the check and changes no state.
func (p *Pinger) Log(ctx context.Context, body []byte) error { return p.reports().Log(ctx, body) }

// ExitStatus reports the exit status of the job, 0 to 255: 0 is a success, any other a failure. The body may be nil.
func (p *Pinger) ExitStatus(ctx context.Context, status int, body []byte) error {
	return p.reports().ExitStatus(ctx, status, body)
}

// Run calls job and returns its error, unchanged. It reports the start of the job, then its success, or its failure with
// the text of the error as the body. It reports a panic as a failure with the stack and lets it continue.
// [runtime.Goexit] is a failure too. The last ping carries the [job.Output] of the run, after the error. If ctx was
// cancelled, the error of the job is a log entry and no failure; [job.Job.Run] says what that means for the check.
//
// The errors of the pings go to OnPingError of PingerConfig.Job. Run calls job even if the first ping fails, and sends the last
// ping even if ctx has ended. Each of the two pings delays the job by at most PingerConfig.Timeout.
func (p *Pinger) Run(ctx context.Context, job func(ctx context.Context) error) error {
	return p.reports().Run(ctx, job)
}

// Ping sends a signal: its Kind, RunID, ExitStatus, Body, BodyCut and BodyCharset. It ignores RemoteAddr, UserAgent and At. The
// error is a *[checks.FieldError] for a signal that [pings.Signal.Normalized] refuses, and for one with a Scheme.
func (p *Pinger) Ping(ctx context.Context, s pings.Signal) error { return p.reports().Ping(ctx, s) }

// Close tries at once to send the pings that wait, until none does any more. It stops when ctx ends, or if that has no
// deadline when no ping could be sent for 30 seconds. Pings in memory are lost then. The error says how many were, here or
// before: because the server refused them, too many waited, or Tries were used up. With PingerConfig.Queue, Close tries as
// often in a row as Tries says, and the error is an [ErrQueued] if ctx ends while pings wait. After Close, each ping is tried
// once, and nothing happens in the background.
func (p *Pinger) Close(ctx context.Context) error {
	if p == nil {
		return nil
	}
	s := &p.sender
	if s.queue != nil {
		return s.leave(ctx, s.background.close(ctx))
	}
	ctx, release := s.memory.patient(ctx)
	defer release()
	ended := s.background.close(ctx)
	switch lost := s.memory.lost(); {
	case !ended:
		return fmt.Errorf("client: close: %w; pings that were not sent: %d", context.Cause(ctx), lost)
	case lost > 0:
		return fmt.Errorf("client: close: pings that were not sent: %d", lost)
	}
	return nil
}

// Ping sends a valid signal whose body is within the limit.
func (s *sender) Ping(ctx context.Context, signal pings.Signal) error {
	if waits, err := s.await(ctx, signal); waits {
		return err
	}
	if s.queue != nil {
		return s.pingByQueue(ctx, signal)
	}
	return s.pingByMemory(ctx, signal)
}

// once tries once to send a signal, with its time if that is not zero.
func (s *sender) once(ctx context.Context, signal pings.Signal, at time.Time) error {
	query := s.query
	if signal.RunID.Valid {
		if query != "" {
			query += "&"
		}
		query += "rid=" + signal.RunID.UUID.String()
	}
	target := s.url + signalPath(signal)
	if query != "" {
		target += "?" + query
	}
	r := request{
		name: string(signal.Kind) + " ping", method: http.MethodPost, url: target, body: signal.Body,
		meaning: refusal.ofPing, onHeader: s.learn, header: http.Header{},
	}
	if len(r.body) > 0 {
		r.header.Set("Content-Type", mime.FormatMediaType("text/plain", map[string]string{"charset": cmp.Or(signal.BodyCharset, "utf-8")}))
		if signal.BodyCut > 0 {
			r.header.Set(bodyCutHeader, strconv.FormatInt(signal.BodyCut, 10))
		}
	}
	if !at.IsZero() {
		r.name = "queued " + r.name
		r.header.Set("Rollcall-At", at.UTC().Format("2006-01-02T15:04:05.000000Z"))
	}
	if err := s.caller.try(ctx, r, s.caller.timeout, readPing); err != nil {
		return describe(ctx, r, 1, err)
	}
	return nil
}

// late sends a signal that has waited, with its time if it is late. The server may have stated another limit of bodies since.
func (s *sender) late(ctx context.Context, signal pings.Signal, at time.Time) error {
	var cut int64
	signal.Body, cut = pings.Cut(signal.Body, int(s.limit.Load()))
	signal.BodyCut += cut
	if time.Since(at) <= lateAfter {
		at = time.Time{}
	}
	return s.once(ctx, signal, at)
}

// signalPath returns the suffix of the ping URL for a signal.
func signalPath(s pings.Signal) string {
	switch {
	case s.ExitStatus != nil:
		return "/" + strconv.Itoa(*s.ExitStatus)
	case s.Kind == pings.Success:
		return ""
	}
	return "/" + string(s.Kind)
}

// learn stores the body limit that a response states.
func (s *sender) learn(h http.Header) {
	if limit, err := strconv.ParseInt(h.Get(bodyLimitHeader), 10, 64); err == nil && limit >= 0 {
		s.limit.Store(min(limit, maxBodyLimit))
	}
}
