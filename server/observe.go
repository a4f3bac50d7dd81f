package server

import (
	"net/http"
	"slices"
	"time"

	"github.com/rollcall-dev/rollcall/server/internal/limit"
)

// The routes other than those of endpoints.
const (
	routePing        = "/ping"
	routeBadge       = "/badge"
	routeHome        = "/"
	routeUnsubscribe = "/unsubscribe"
	routeAcknowledge = "/acknowledge"
	routePages       = "/pages"
	routeOther       = "other"
)

// response is the answer to a request, with what Config.Answered and the access log need of it.
type response struct {
	http.ResponseWriter
	begin  time.Time
	route  string
	status int
	bytes  int64
	logged bool // as a failure
}

// WriteHeader notes the status.
func (r *response) WriteHeader(status int) {
	if r.status == 0 && status >= http.StatusOK {
		r.status = status
	}
	r.ResponseWriter.WriteHeader(status)
}

// Write counts the bytes.
func (r *response) Write(p []byte) (int, error) {
	if r.status == 0 {
		r.status = http.StatusOK
	}
	n, err := r.ResponseWriter.Write(p)
	r.bytes += int64(n)
	return n, err
}

// Unwrap is for [http.ResponseController].
func (r *response) Unwrap() http.ResponseWriter { return r.ResponseWriter }

// setRoute notes the route of a request.
func setRoute(w http.ResponseWriter, route string) {
	if r, ok := w.(*response); ok {
		r.route = route
	}
}

// observe reports a request to Config.Answered and to the access log. The log has the route, not the path: anyone who knows
// the path of a ping or a badge may use it.
func (s *Server) observe(r *http.Request, answer *response) {
	took := time.Since(answer.begin)
	if took >= limit.AnswerTime && !answer.logged && answer.route != routePages { // the dashboard logs its own
		s.logLate(r, answer, took)
	}
	if answer.status == 0 {
		return // the handler gave up without an answer
	}
	method := r.Method
	if !slices.Contains([]string{
		http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete,
		http.MethodConnect, http.MethodOptions, http.MethodTrace,
	}, method) {
		method = "other"
	}
	if s.accessLog {
		addr, _ := s.proxies.Of(r)
		s.log.InfoContext(r.Context(), "request", "method", method, "route", answer.route, "status", answer.status,
			"bytes", answer.bytes, "duration", took, "remote_addr", addr)
	}
	if s.answered != nil {
		s.answered(answer.route, method, answer.status, took)
	}
}

// logLate logs a request that has passed the time for an answer, if with an answer at all: it may be that nobody waited for it.
// Slow clients cause it too, so few are logged.
func (s *Server) logLate(r *http.Request, answer *response, took time.Duration) {
	if unlogged, ok := s.lateLog.Pass(s.mon.Now()); ok {
		s.log.WarnContext(r.Context(), "a request took too long", "method", r.Method, "route", answer.route, "status", answer.status,
			"bytes", answer.bytes, "duration", took, "unlogged", unlogged)
	}
}
