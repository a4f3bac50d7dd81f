package job

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/pings"
)

// defaultBodyLimit is the number of bytes of a body that a [Job] sends if [Config].BodyLimit is nil.
const defaultBodyLimit = 100_000

// Reporter reports the runs of one job. A *[Job] and a *client.Pinger are Reporters with the same semantics, which the
// methods of Job describe. A Reporter is safe for concurrent use.
type Reporter interface {
	Ping(ctx context.Context, s pings.Signal) error
	Start(ctx context.Context) (*Run, error)
	Success(ctx context.Context, body []byte) error
	Failure(ctx context.Context, body []byte) error
	Log(ctx context.Context, body []byte) error
	ExitStatus(ctx context.Context, status int, body []byte) error
	Run(ctx context.Context, job func(ctx context.Context) error) error
}

var _ Reporter = (*Job)(nil)

// ErrPending means that a ping was not delivered and waits in the memory of the process, or that a check is not registered
// yet. The reporter tries again in the background until that works, also after hours, and keeps the pings in their order
// meanwhile. If more than 10,000 pings or 32 MiB of their bodies wait, it drops the oldest and passes that to
// [Config].OnPingError. Pinger.Close and Monitor.Stop try once more, and say how many pings were lost.
var ErrPending = errors.New("it waits in memory, and is tried again")

// Sender sends one ping. It must not modify the body, and not keep it after it has returned. It should give up after
// some time even if ctx never ends. Every [Reporter] is a Sender.
type Sender interface {
	Ping(ctx context.Context, s pings.Signal) error
}

// Config configures a [Job]. The zero value of a field selects its default.
type Config struct {
	// BodyLimit returns how many bytes of a body the receiver keeps; a negative number is 0. Default: 100,000.
	BodyLimit func() int
	// TraceID returns the trace that ctx belongs to, or "" if there is none. The first line of the body of every ping is
	// then "trace_id=" and the result. The package comment has the function for OpenTelemetry. Default: no trace.
	TraceID func(ctx context.Context) string
	// Classify returns what an error of the job means, and so how [Job.Run] and [Run.End] report the end of the run:
	// pings.Success, pings.Failure, pings.Log for a log entry alone, or "" for nothing at all. The context is that of
	// Run. The last two do not end the run for the check: see [Job.Run]. Default: a log entry if the context was
	// cancelled, otherwise a failure.
	Classify func(ctx context.Context, err error) pings.Kind
	// OnPingError receives the errors of the pings of [Job.Run] and [Run.End], and of those in the background. Default: a warning of [slog.Default].
	OnPingError func(ctx context.Context, err error)
}

// Job sends the pings of one job. It is safe for concurrent use. A nil *Job does nothing, and its Run only calls the
// job.
//
// If a body is longer than the receiver keeps, a Job sends its beginning and its end, and how many bytes it left out.
type Job struct {
	sender Sender
	config Config
}

// errNoSender is the error of a Job that cannot send anything.
var errNoSender = errors.New("the job has no Sender: make it with New and a Sender that is not nil")

// New returns a Job that sends its pings with sender; without one, each ping is an error. A nil config selects the defaults.
func New(sender Sender, config *Config) *Job {
	j := &Job{sender: sender}
	if config != nil {
		j.config = *config
	}
	return j
}

// bodyLimit returns the number of bytes of a body that the receiver keeps.
func (j *Job) bodyLimit() int {
	switch {
	case j == nil:
		return 0
	case j.config.BodyLimit == nil:
		return defaultBodyLimit
	}
	return max(j.config.BodyLimit(), 0)
}

// Start reports that a run of the job has begun. The pings of the returned run carry a new run identifier, so that
// overlapping runs can be told apart. The run is usable even if Start returns an error.
func (j *Job) Start(ctx context.Context) (*Run, error) {
	r := &Run{job: j, id: uuid.New(), output: pings.NewEnds(maxOutput)}
	r.start = r.ping(ctx, pings.Signal{Kind: pings.Start})
	return r, r.start
}

// Success reports that the job succeeded. The body may be nil.
func (j *Job) Success(ctx context.Context, body []byte) error {
	return j.Ping(ctx, pings.Signal{Kind: pings.Success, Body: body})
}

// Failure reports that the job failed. The body may be nil.
func (j *Job) Failure(ctx context.Context, body []byte) error {
	return j.Ping(ctx, pings.Signal{Kind: pings.Failure, Body: body})
}

// Log adds an entry to the log of the check and changes no state.
func (j *Job) Log(ctx context.Context, body []byte) error {
	return j.Ping(ctx, pings.Signal{Kind: pings.Log, Body: body})
}

// ExitStatus reports the exit status of the job, 0 to 255: 0 is a success, any other a failure. The body may be nil.
func (j *Job) ExitStatus(ctx context.Context, status int, body []byte) error {
	return j.Ping(ctx, exitSignal(status, body))
}

func exitSignal(status int, body []byte) pings.Signal {
	return pings.Signal{Kind: exitKind(status), ExitStatus: &status, Body: body}
}

// exitKind returns what an exit status means.
func exitKind(status int) pings.Kind {
	if status == 0 {
		return pings.Success
	}
	return pings.Failure
}

// classify returns how the end of a run with this error is reported.
func (j *Job) classify(ctx context.Context, err error) pings.Kind {
	switch {
	case err == nil:
		return pings.Success
	case j != nil && j.config.Classify != nil:
		return j.config.Classify(ctx, err)
	case errors.Is(ctx.Err(), context.Canceled):
		return pings.Log
	}
	return pings.Failure
}

// report passes an error of a ping on.
func (j *Job) report(ctx context.Context, err error) {
	switch {
	case err == nil || j == nil:
	case j.config.OnPingError != nil:
		j.config.OnPingError(ctx, err)
	default:
		slog.With(slog.Group("rollcall", "component", "job")).WarnContext(ctx, "cannot report a run", "error", err)
	}
}

// Ping sends a signal: its Kind, RunID, ExitStatus, Body, BodyCut and BodyCharset. It ignores RemoteAddr, UserAgent and At. The
// error is a *[checks.FieldError] for a signal that [pings.Signal.Normalized] refuses, and for one with a Scheme, which would lose
// the text that a check searches for keywords; otherwise it is that of the Sender.
//
// A ctx that ends while the Sender tries ends that. One that has ended before the call does not keep the ping from being sent, so
// that a job which was cancelled can report it; its method then takes as long as the Sender does.
func (j *Job) Ping(ctx context.Context, s pings.Signal) error {
	switch {
	case j == nil:
		return nil
	case j.sender == nil:
		return fmt.Errorf("job: %s ping: %w", s.Kind, errNoSender)
	}
	s, err := s.Normalized()
	if err == nil && s.Scheme != "" {
		err = fmt.Errorf("the scheme is %q, but a reporter sends only signals of the job itself", s.Scheme)
	}
	if err != nil {
		return fmt.Errorf("job: %s ping: %w", s.Kind, &checks.FieldError{Field: "signal", Reason: "is not valid: " + err.Error(), Err: err})
	}
	if ctx.Err() != nil { // such as that of a job which was cancelled, and says so
		ctx = context.WithoutCancel(ctx)
	}
	sent := pings.Signal{Kind: s.Kind, RunID: s.RunID, ExitStatus: s.ExitStatus, BodyCharset: s.BodyCharset}
	sent.Body, sent.BodyCut = j.body(ctx, s)
	return j.sender.Ping(ctx, sent)
}

// body returns the body of a signal after the line with the trace, cut to the limit of the receiver. A body that was cut
// before stays one with a single gap, after its first half: it gets no longer.
func (j *Job) body(ctx context.Context, s pings.Signal) (body []byte, cut int64) {
	limit := j.bodyLimit()
	if s.BodyCut > 0 {
		limit = min(limit, len(s.Body))
	}
	body = s.Body
	if line := j.traceLine(ctx); line != "" && len(line) <= limit/2 {
		body = slices.Concat([]byte(line), body)
	}
	body, cut = pings.Cut(body, limit)
	return body, cut + s.BodyCut
}

// traceLine returns the line with the trace of ctx, or "".
func (j *Job) traceLine(ctx context.Context) string {
	if j.config.TraceID == nil {
		return ""
	}
	id, _, _ := strings.Cut(j.config.TraceID(ctx), "\n")
	if id == "" {
		return ""
	}
	return "trace_id=" + id + "\n"
}
