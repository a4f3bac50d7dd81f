package server

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/rollcall-dev/rollcall/checks/monitor"
)

// Paths of the health of the process. They are at the root, whatever the path of Config.BaseURL is, because what
// probes a process asks it and not the proxy in front of it. No ping has such a path.
const (
	livePath  = "/livez"
	readyPath = "/readyz"
)

// partServer is the part of the service that this package is.
const partServer monitor.Part = "server"

// Drain makes /readyz answer that the server is shutting down, so that a load balancer sends no more requests. All
// requests are still answered.
func (s *Server) Drain() { s.draining.Store(true) }

// live tells whether the process works: it answers, and its watcher turns. The database does not matter, because
// starting the process anew would not bring it back.
func (s *Server) live(w http.ResponseWriter, r *http.Request, _ string) {
	watcher := s.mon.Live()
	if s.draining.Load() {
		watcher.Problem = "" // it may have stopped already, as it should
	}
	s.report(w, r, livePath, func() []monitor.Condition { return []monitor.Condition{watcher} })
}

// ready tells whether requests can be answered.
func (s *Server) ready(w http.ResponseWriter, r *http.Request, _ string) {
	s.report(w, r, readyPath, func() []monitor.Condition {
		self := monitor.Condition{Part: partServer}
		if s.draining.Load() {
			self.Problem = "is shutting down"
		}
		return []monitor.Condition{self, s.mon.Ready(r.Context())}
	})
}

// report answers with the health of parts: "ok", or 503 and those that are not healthy. With ?verbose it names all.
func (s *Server) report(w http.ResponseWriter, r *http.Request, route string, look func() []monitor.Condition) {
	routed(w, route)
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
		case !c.OK():
			status = http.StatusServiceUnavailable
			text.WriteString(string(c.Part) + ": " + c.Problem + "\n")
		case query.Has("verbose"):
			text.WriteString(string(c.Part) + ": ok\n")
		}
	}
	if text.Len() == 0 {
		text.WriteString("ok")
	}
	writeText(w, status, text.String())
}
