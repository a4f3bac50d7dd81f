package job

import (
	"context"
	"fmt"
	"strings"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/pings"
)

// DefaultBodyLimit is the number of bytes of a body that a [Job] sends if [Config].BodyLimit is nil.
const DefaultBodyLimit = 100_000

// Reporter reports the runs of one job. A *[Job] and a *client.Pinger are Reporters with the same semantics, which the
// methods of Job describe. A Reporter is safe for concurrent use.
type Reporter interface {
	Ping(ctx context.Context, s pings.Signal) error
	Start(ctx context.Context) (*Run, error)
	Success(ctx context.Context, body []byte) error
	Fail(ctx context.Context, body []byte) error
	Log(ctx context.Context, body []byte) error
	ExitStatus(ctx context.Context, status int, body []byte) error
	Run(ctx context.Context, job func(ctx context.Context) error) (jobErr, pingErr error)
}

var _ Reporter = (*Job)(nil)

// Sender sends one ping. It must not modify the body, and not keep it after it has returned. It should give up after
// some time even if ctx never ends. Every [Reporter] is a Sender.
type Sender interface {
	Ping(ctx context.Context, s pings.Signal) error
}

// Config configures a [Job]. The zero value of a field selects its default.
type Config struct {
	// BodyLimit returns how many bytes of a body the receiver keeps; a negative number is 0. Default:
	// [DefaultBodyLimit].
	BodyLimit func() int
	// TraceID returns the trace that ctx belongs to, or "" if there is none. The first line of the body of every ping is
	// then "trace_id=" and the result. The package comment has the function for OpenTelemetry. Default: no trace.
	TraceID func(ctx context.Context) string
}

// Job sends the pings of one job. It is safe for concurrent use. A nil *Job does nothing, and its Run only calls the
// job.
//
// If a body is longer than the receiver keeps, a Job sends only its end.
type Job struct {
	sender Sender
	config Config
}

// New returns a Job that sends its pings with sender. A nil config selects the defaults.
func New(sender Sender, config *Config) *Job {
	j := &Job{sender: sender}
	if config != nil {
		j.config = *config
	}
	return j
}

// BodyLimit returns the number of bytes of a body that the receiver keeps.
func (j *Job) BodyLimit() int {
	switch {
	case j == nil:
		return 0
	case j.config.BodyLimit == nil:
		return DefaultBodyLimit
	}
	return max(j.config.BodyLimit(), 0)
}

// Start reports that a run of the job has begun. The pings of the returned run carry a new run identifier, so that
// overlapping runs can be told apart. The run is usable even if Start returns an error.
func (j *Job) Start(ctx context.Context) (*Run, error) {
	r := &Run{job: j, id: uuid.New(), output: NewTail(maxOutput)}
	return r, r.ping(ctx, pings.Signal{Kind: pings.Start})
}

// Success reports that the job succeeded. The body may be nil.
func (j *Job) Success(ctx context.Context, body []byte) error {
	return j.Ping(ctx, pings.Signal{Kind: pings.Success, Body: body})
}

// Fail reports that the job failed. The body may be nil.
func (j *Job) Fail(ctx context.Context, body []byte) error {
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

// Ping sends a signal: its Kind, RunID, ExitStatus and Body. It ignores the other fields. The error is a
// *[checks.FieldError] for a signal that [pings.Signal.Normalized] refuses; otherwise it is that of the Sender.
func (j *Job) Ping(ctx context.Context, s pings.Signal) error {
	if j == nil {
		return nil
	}
	s, err := s.Normalized()
	if err != nil {
		return fmt.Errorf("job: %s ping: %w", s.Kind, &checks.FieldError{Field: "signal", Reason: "is not valid: " + err.Error(), Err: err})
	}
	return j.sender.Ping(ctx, pings.Signal{Kind: s.Kind, RunID: s.RunID, ExitStatus: s.ExitStatus, Body: j.body(ctx, s.Body)})
}

// body returns the end of a body after the line with the trace, within the limit of the receiver.
func (j *Job) body(ctx context.Context, body []byte) []byte {
	line, room := j.firstLine(ctx)
	body = lastBytes(body, room)
	if line == "" {
		return body
	}
	return append([]byte(line), body...)
}

// firstLine returns the line with the trace of ctx, or "", and the number of bytes that it leaves for the body.
func (j *Job) firstLine(ctx context.Context) (line string, room int) {
	limit := j.BodyLimit()
	if j == nil || j.config.TraceID == nil {
		return "", limit
	}
	id, _, _ := strings.Cut(j.config.TraceID(ctx), "\n")
	if line = "trace_id=" + id + "\n"; id == "" || len(line) > limit {
		return "", limit
	}
	return line, limit - len(line)
}
