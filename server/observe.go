package server

import (
	"net/http"
	"slices"
	"time"
)

// Observer is told of the requests that were answered, for metrics; package server/metrics has one for Prometheus. Its
// method is called by many goroutines at once, and must return at once.
type Observer interface {
	// Answered tells which route a request was for, its method, the status of the answer, and how long it took. The
	// route is one of few, and never what the client has sent: the path of an endpoint with names for its parameters,
	// as in "/api/v3/checks/:id"; "/ping" or "/badge" for all pings and all badges; "/", "/livez" and "/readyz"; and
	// "other". The method is "other" where it is not one that HTTP defines.
	Answered(route, method string, status int, took time.Duration)
}

// The routes besides those of endpoints.
const (
	routePing  = "/ping"
	routeBadge = "/badge"
	routeHome  = "/"
	routeOther = "other"
)

// recorder is the answer to a request, with what is told of it.
type recorder struct {
	http.ResponseWriter
	route  string
	status int
	bytes  int64
}

// WriteHeader notes the status.
func (r *recorder) WriteHeader(status int) {
	if r.status == 0 && status >= http.StatusOK {
		r.status = status
	}
	r.ResponseWriter.WriteHeader(status)
}

// Write counts the bytes.
func (r *recorder) Write(p []byte) (int, error) {
	if r.status == 0 {
		r.status = http.StatusOK
	}
	n, err := r.ResponseWriter.Write(p)
	r.bytes += int64(n)
	return n, err
}

// Unwrap is for [http.ResponseController].
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }

// routed notes which route a request is for.
func routed(w http.ResponseWriter, route string) {
	if r, ok := w.(*recorder); ok {
		r.route = route
	}
}

// answered tells of a request. The log has its route and not its path: whoever knows the path of a ping or of a badge
// may use it.
func (s *Server) answered(r *http.Request, answer *recorder, begin time.Time) {
	if answer.status == 0 {
		return // it was cut off
	}
	took := time.Since(begin)
	method := r.Method
	if !slices.Contains([]string{
		http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete,
		http.MethodConnect, http.MethodOptions, http.MethodTrace,
	}, method) {
		method = "other"
	}
	if s.accessLog {
		addr, _ := s.proxies.origin(r)
		s.log.InfoContext(r.Context(), "request", "method", method, "route", answer.route, "status", answer.status,
			"bytes", answer.bytes, "duration", took, "remote_addr", addr)
	}
	if s.observer != nil {
		s.observer.Answered(answer.route, method, answer.status, took)
	}
}
