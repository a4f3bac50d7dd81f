package server

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/schedule"
	"github.com/rollcall-dev/rollcall/server/internal/limit"
)

// Paths of the health probes. They also answer at the root when Config.BaseURL has a path, because probes reach the
// process directly and not through its proxy. No ping has such a path.
const (
	livePath  = "/livez"
	readyPath = "/readyz"
)

// partServer names this package in reports.
const partServer = "server"

// Drain makes /readyz fail, so that a load balancer sends no more requests. The server still answers all requests.
func (s *Server) Drain() { s.draining.Store(true) }

// live reports whether the process works: it answers, its watcher runs, and pings are not stuck. It ignores the database,
// because restarting the process would not bring it back.
func (s *Server) live(w http.ResponseWriter, r *http.Request, _ string) {
	c := s.mon.Live()
	if c.Part == "watcher" && s.draining.Load() {
		c.Problem = "" // it stops before the last request is answered
	}
	s.report(w, r, livePath, func() []monitor.Condition { return []monitor.Condition{c} })
}

// ready reports whether the server can answer requests.
func (s *Server) ready(w http.ResponseWriter, r *http.Request, _ string) {
	r, cancel := limit.Detach(r)
	defer cancel()
	s.report(w, r, readyPath, func() []monitor.Condition {
		self := monitor.Condition{Part: partServer, Detail: "time zone data " + schedule.Zoneinfo().Version}
		if s.draining.Load() {
			self.Problem = "is shutting down"
		}
		list := append([]monitor.Condition{self}, s.mon.Ready(r.Context())...)
		if query, _ := url.ParseQuery(r.URL.RawQuery); query.Has("verbose") {
			list = append(list, s.mon.Warnings(r.Context())...)
		}
		return list
	})
}

// report answers "ok", or 503 and the parts that are not healthy. With ?verbose it names all parts and warnings.
func (s *Server) report(w http.ResponseWriter, r *http.Request, route string, look func() []monitor.Condition) {
	setRoute(w, route)
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		s.fail(w, r, errMethod)
		return
	}
	query, _ := url.ParseQuery(r.URL.RawQuery)
	status := http.StatusOK
	var text strings.Builder
	for _, c := range look() {
		switch {
		case c.Warning && query.Has("verbose"):
			text.WriteString(c.Part + ": warning, " + c.Problem + "\n")
		case c.Warning:
		case !c.OK():
			status = http.StatusServiceUnavailable
			text.WriteString(c.Part + ": " + c.Problem + "\n")
		case query.Has("verbose") && c.Err != nil:
			text.WriteString(c.Part + ": " + c.Detail + "\n")
		case query.Has("verbose") && c.Detail != "":
			text.WriteString(c.Part + ": ok, " + c.Detail + "\n")
		case query.Has("verbose"):
			text.WriteString(c.Part + ": ok\n")
		}
	}
	if text.Len() == 0 {
		text.WriteString("ok")
	}
	writeText(w, status, text.String())
}
