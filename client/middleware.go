package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/rollcall-dev/rollcall/checks/job"
)

// Middleware makes each request to a handler a run of a job. Use it for handlers that an external scheduler calls, such
// as Cloud Scheduler or EventBridge:
//
//	mux.Handle("POST /nightly", client.Middleware(pinger)(http.HandlerFunc(nightly)))
//
// A response with a status below 400 is a success, any other a failure. So is a panic, which continues. The status is in
// the body of the last ping, with the [job.Output] of the request's context. Authenticate requests before Middleware
// sees them, so that strangers cannot report runs.
//
// The pings delay the response by at most twice PingerConfig.Timeout, which should leave the scheduler time to wait for it.
//
// The [http.ResponseWriter] of the handler supports flushing, hijacking and deadlines by [http.ResponseController]. With a nil
// reporter, the handler runs and nothing is reported.
func Middleware(reporter job.Reporter) func(http.Handler) http.Handler {
	if reporter == nil {
		reporter = (*job.Job)(nil)
	}
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			// That the caller has left does not make a failure an interruption, so the run does not see it.
			_ = reporter.Run(context.WithoutCancel(r.Context()), func(ctx context.Context) error {
				sw := &statusWriter{ResponseWriter: w, status: http.StatusOK}
				next.ServeHTTP(sw, r.WithContext(runContext{r.Context(), ctx}))
				line := strings.TrimSpace(fmt.Sprintf("status %d %s", sw.status, http.StatusText(sw.status)))
				if sw.status >= 400 {
					return errors.New(line)
				}
				fmt.Fprintln(job.Output(ctx), line)
				return nil
			})
		})
	}
}

// runContext is the context of a request with the values of its run.
type runContext struct {
	context.Context
	values context.Context
}

func (c runContext) Value(key any) any { return c.values.Value(key) }

// statusWriter notes the status of a response.
type statusWriter struct {
	http.ResponseWriter
	status int
	sent   bool
}

func (w *statusWriter) WriteHeader(status int) {
	// Any number of informational responses may precede the response. 101 is the last one.
	if !w.sent && (status >= 200 || status == http.StatusSwitchingProtocols) {
		w.status, w.sent = status, true
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *statusWriter) Write(p []byte) (int, error) {
	w.sent = true
	return w.ResponseWriter.Write(p)
}

// FlushError sends the header, if that has not happened yet.
func (w *statusWriter) FlushError() error {
	w.sent = true
	return http.NewResponseController(w.ResponseWriter).Flush()
}

// Unwrap is for [http.ResponseController].
func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
