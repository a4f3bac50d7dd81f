package server

import (
	"net/http"
	"slices"
	"time"
)

// Observer receives the requests that were answered, for metrics; package server/metrics has one for Prometheus. Many
// goroutines call it at once, and it must not block.
type Observer interface {
	// Answered reports the route and the method of a request, the status of the answer, and how long it took. The route
	// is one of few, and never what the client sent: the path of an endpoint with names for its parameters, as in
	// "/api/v3/checks/:id"; "/ping", "/badge", "/unsubscribe" and "/pages" for all pings, badges, links to unsubscribe and pages of
	// the dashboard; "/", "/livez" and "/readyz"; or "other".
	// The method is "other" unless HTTP defines it.
	Answered(route, method string, status int, took time.Duration)
}

// The routes other than those of endpoints.
const (
	routePing        = "/ping"
	routeBadge       = "/badge"
	routeHome        = "/"
	routeUnsubscribe = "/unsubscribe"
	routePages       = "/pages"
	routeOther       = "other"
)

// response is the answer to a request, with what the observer and the access log need of it.
type response struct {
	http.ResponseWriter
	route  string
	status int
	bytes  int64
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

// observe reports a request to the observer and to the access log. The log has the route, not the path: anyone who knows
// the path of a ping or a badge may use it.
func (s *Server) observe(r *http.Request, answer *response, begin time.Time) {
	if answer.status == 0 {
		return // the handler gave up without an answer
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
		addr, _ := s.proxies.Of(r)
		s.log.InfoContext(r.Context(), "request", "method", method, "route", answer.route, "status", answer.status,
			"bytes", answer.bytes, "duration", took, "remote_addr", addr)
	}
	if s.observer != nil {
		s.observer.Answered(answer.route, method, answer.status, took)
	}
}
