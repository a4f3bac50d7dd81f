package job

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/pings"
)

// Run is one run of a job, made by [Job.Start]. Its pings carry the same run identifier, which tells overlapping runs
// apart and gives the run a duration. It is safe for concurrent use.
type Run struct {
	job    *Job
	id     uuid.UUID
	output *Tail
}

// ID returns the run identifier.
func (r *Run) ID() uuid.UUID { return r.id }

// Context returns a context that belongs to the run. What is written to its [Output], or logged with it through a
// [LogHandler], follows the body of Success, Fail and ExitStatus. [Job.Run] passes such a context to the job.
func (r *Run) Context(ctx context.Context) context.Context {
	return context.WithValue(ctx, runKey{}, r)
}

// Success reports that the run succeeded. The body may be nil.
func (r *Run) Success(ctx context.Context, body []byte) error {
	return r.ping(ctx, pings.Signal{Kind: pings.Success, Body: r.withOutput(ctx, body)})
}

// Fail reports that the run failed. The body may be nil.
func (r *Run) Fail(ctx context.Context, body []byte) error {
	return r.ping(ctx, pings.Signal{Kind: pings.Failure, Body: r.withOutput(ctx, body)})
}

// Log adds an entry to the log of the check and changes no state.
func (r *Run) Log(ctx context.Context, body []byte) error {
	return r.ping(ctx, pings.Signal{Kind: pings.Log, Body: body})
}

// ExitStatus reports the exit status of the run, 0 to 255: 0 is a success, any other a failure. The body may be nil.
func (r *Run) ExitStatus(ctx context.Context, status int, body []byte) error {
	return r.ping(ctx, exitSignal(status, r.withOutput(ctx, body)))
}

func (r *Run) ping(ctx context.Context, s pings.Signal) error {
	s.RunID = uuid.NullUUID{UUID: r.id, Valid: true}
	return r.job.Ping(ctx, s)
}

// withOutput returns a body that is followed by as many of the last lines of the output as the receiver keeps.
func (r *Run) withOutput(ctx context.Context, body []byte) []byte {
	_, room := r.job.firstLine(ctx)
	if len(body) == 0 {
		return r.output.lastLines(room)
	}
	const separator = "\n\n"
	lines := r.output.lastLines(room - len(body) - len(separator))
	if len(lines) == 0 {
		return body
	}
	return slices.Concat(body, []byte(separator), lines)
}

// goexitReport is the body of the ping for a job that called [runtime.Goexit].
const goexitReport = "the job called runtime.Goexit instead of returning"

// Run calls job and reports its start, then its success, or its failure with the text of the error as the body. It
// reports a panic as a failure with the stack and lets it continue. [runtime.Goexit] is a failure too. The last ping
// carries the [Output] of the run, after the error.
//
// Run returns the error of the job, unchanged, and the error of the pings, which a job may ignore. It calls job even if
// the first ping fails, and sends the last ping even if ctx has ended. Each of the two pings delays the job by at most
// the time that the Sender takes.
func (j *Job) Run(ctx context.Context, job func(ctx context.Context) error) (jobErr, pingErr error) {
	if j == nil {
		return job(ctx), nil
	}
	run, startErr := j.Start(ctx)
	after := context.WithoutCancel(ctx)
	returned := false
	defer func() {
		if returned {
			return
		}
		reason := recover()
		if reason == nil {
			_ = run.Fail(after, []byte(goexitReport))
			return
		}
		_ = run.Fail(after, j.panicBody(after, reason, debug.Stack()))
		panic(reason)
	}()
	jobErr = job(run.Context(ctx))
	returned = true
	var endErr error
	if jobErr == nil {
		endErr = run.Success(after, nil)
	} else {
		endErr = run.Fail(after, fmt.Append(nil, jobErr)) // also of a nil pointer
	}
	return jobErr, errors.Join(startErr, endErr)
}

// panicBody returns the report of a panic. It cuts the end, because the reason comes first.
func (j *Job) panicBody(ctx context.Context, reason any, stack []byte) []byte {
	body := fmt.Appendf(nil, "panic: %v\n\n%s", reason, stack)
	_, room := j.firstLine(ctx)
	return body[:min(len(body), room)]
}
