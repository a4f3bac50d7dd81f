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
	output *pings.Ends
	start  error // of the ping, until it is reported
}

// ID returns the run identifier.
func (r *Run) ID() uuid.UUID { return r.id }

// Context returns a context that belongs to the run. What is written to its [Output], or logged with it through a
// handler of [NewLogHandler], follows the body of Success, Failure and ExitStatus. [Job.Run] passes such a context to the job.
func (r *Run) Context(ctx context.Context) context.Context {
	return context.WithValue(ctx, runKey{}, r)
}

// Success reports that the run succeeded. The body may be nil.
func (r *Run) Success(ctx context.Context, body []byte) error {
	return r.end(ctx, pings.Signal{Kind: pings.Success, Body: body})
}

// Failure reports that the run failed. The body may be nil.
func (r *Run) Failure(ctx context.Context, body []byte) error {
	return r.end(ctx, pings.Signal{Kind: pings.Failure, Body: body})
}

// Log adds an entry to the log of the check and changes no state.
func (r *Run) Log(ctx context.Context, body []byte) error {
	return r.ping(ctx, pings.Signal{Kind: pings.Log, Body: body})
}

// ExitStatus reports the exit status of the run, 0 to 255: 0 is a success, any other a failure. The body may be nil.
func (r *Run) ExitStatus(ctx context.Context, status int, body []byte) error {
	return r.end(ctx, exitSignal(status, body))
}

func (r *Run) ping(ctx context.Context, s pings.Signal) error {
	s.RunID = uuid.NullUUID{UUID: r.id, Valid: true}
	return r.job.Ping(ctx, s)
}

// end sends a signal whose body is followed by the output.
func (r *Run) end(ctx context.Context, s pings.Signal) error {
	output, cut := r.output.Body()
	switch {
	case len(output) == 0:
	case len(s.Body) == 0:
		s.Body, s.BodyCut = output, cut
	default:
		s.Body = slices.Concat(s.Body, []byte("\n\n"), output)
		if cut > 0 { // in the middle of the output, so the middle of the body goes with it
			var more int64
			s.Body, more = pings.Cut(s.Body, len(output))
			s.BodyCut = cut + more
		}
	}
	return r.ping(ctx, s)
}

// goexitReport is the body of the ping for a job that called [runtime.Goexit].
const goexitReport = "the job called runtime.Goexit instead of returning"

// End reports the end of the run by the error of the job, as [Job.Run] does: a success if it is nil, otherwise what
// [Config].Classify makes of it, with the error as the body. It sends the ping even if ctx has ended. The errors of the
// pings, that of the start included, go to [Config].OnPingError.
func (r *Run) End(ctx context.Context, err error) {
	kind := r.job.classify(ctx, err)
	ctx = context.WithoutCancel(ctx)
	var body []byte
	if err != nil {
		body = fmt.Append(nil, err) // also of a nil pointer
	}
	failed := r.start
	r.start = nil
	if kind != "" {
		failed = errors.Join(failed, r.end(ctx, pings.Signal{Kind: kind, Body: body}))
	}
	r.job.report(ctx, failed)
}

// Run calls job and returns its error, unchanged. It reports the start of the job, then its success, or its failure with
// the text of the error as the body. It reports a panic as a failure with the stack and lets it continue.
// [runtime.Goexit] is a failure too. The last ping carries the [Output] of the run, after the error.
//
// If ctx was cancelled, such as by a program that stops, the error of the job is a log entry and not a failure, so that
// nobody is alerted; [Config].Classify may decide otherwise. A log entry ends nothing: the check still waits for the end
// of the run. If the job runs again and ends, all is well. If it does not within the max_runtime of the check, or its
// grace without that, the check goes down.
//
// The errors of the pings go to [Config].OnPingError. Run calls job even if the first ping fails, and sends the last ping
// even if ctx has ended. Each of the two pings delays the job by at most the time that the Sender takes.
func (j *Job) Run(ctx context.Context, job func(ctx context.Context) error) error {
	if j == nil {
		return job(ctx)
	}
	run, failed := j.Start(ctx)
	j.report(ctx, failed)
	run.start = nil
	after := context.WithoutCancel(ctx)
	returned := false
	defer func() {
		if returned {
			return
		}
		reason := recover()
		if reason == nil {
			j.report(after, run.Failure(after, []byte(goexitReport)))
			return
		}
		j.report(after, run.Failure(after, fmt.Appendf(nil, "panic: %v\n\n%s", reason, debug.Stack())))
		panic(reason)
	}()
	err := job(run.Context(ctx))
	returned = true
	run.End(ctx, err)
	return err
}
