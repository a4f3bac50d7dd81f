package client

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/pings"
)

// Run is one run of a job. All its pings carry the same run identifier, by which the server tells runs that overlap
// from each other, and how long each took. [Pinger.Start] makes one.
type Run struct {
	pinger *Pinger
	id     uuid.UUID
}

// ID returns the run identifier.
func (r *Run) ID() uuid.UUID { return r.id }

// Success says that the run has succeeded. The body may be nil.
func (r *Run) Success(ctx context.Context, body []byte) error {
	return r.ping(ctx, pings.Signal{Kind: pings.Success, Body: body})
}

// Fail says that the run has failed. The body may be nil.
func (r *Run) Fail(ctx context.Context, body []byte) error {
	return r.ping(ctx, pings.Signal{Kind: pings.Fail, Body: body})
}

// Log adds a note to the log of the check, and changes no state.
func (r *Run) Log(ctx context.Context, body []byte) error {
	return r.ping(ctx, pings.Signal{Kind: pings.Log, Body: body})
}

// ExitStatus says that the run has ended with a status of 0 to 255: 0 is a success, all others are failures. The body
// may be nil.
func (r *Run) ExitStatus(ctx context.Context, status int, body []byte) error {
	return r.ping(ctx, exitSignal(status, body))
}

func (r *Run) ping(ctx context.Context, s pings.Signal) error {
	s.RunID = uuid.NullUUID{UUID: r.id, Valid: true}
	return r.pinger.Ping(ctx, s)
}

// errGoexit is what is reported of a job that left by [runtime.Goexit].
var errGoexit = errors.New("the goroutine of the job has ended before the job was done")

// Run calls job and reports it: its start, and then its success, or its failure with the text of the error as body. A
// panic is reported as a failure with its stack, and goes on.
//
// It returns two errors, so that what is wrong with monitoring is not taken for a failure of the job: the one that job
// has returned, as it is, and what went wrong with the pings, which is safe to ignore. The job is run in any case. The
// last ping is sent even when ctx has ended. Both pings together take up to twice Config.Timeout in addition to the job.
func (p *Pinger) Run(ctx context.Context, job func(ctx context.Context) error) (jobErr, pingErr error) {
	run, startErr := p.Start(ctx)
	after := context.WithoutCancel(ctx)
	returned := false
	defer func() {
		if returned {
			return
		}
		reason := recover()
		if reason == nil {
			_ = run.Fail(after, []byte(errGoexit.Error()))
			return
		}
		_ = run.Fail(after, p.panicBody(reason, debug.Stack()))
		panic(reason)
	}()
	jobErr = job(ctx)
	returned = true
	var endErr error
	if jobErr == nil {
		endErr = run.Success(after, nil)
	} else {
		endErr = run.Fail(after, []byte(jobErr.Error()))
	}
	return jobErr, errors.Join(startErr, endErr)
}

// panicBody is the report of a panic. If it is too long, its end is cut off, because the reason stands at its start.
func (p *Pinger) panicBody(reason any, stack []byte) []byte {
	body := fmt.Appendf(nil, "panic: %v\n\n%s", reason, stack)
	return body[:min(len(body), p.BodyLimit())]
}
