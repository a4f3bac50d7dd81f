package server

import (
	"fmt"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	"github.com/rollcall-dev/rollcall/server/internal/baseurl"
)

// handler answers a request. The path is what follows the base URL that the handler lives under, still escaped.
type handler func(w http.ResponseWriter, r *http.Request, path string)

// Handler returns one handler for everything: the management interface, the badges and the links to unsubscribe below
// Config.BaseURL, and the pings below Config.PingBaseURL. It takes the whole path of a request, so mount it without [http.StripPrefix].
//
// If PingBaseURL has no path, pings are all requests to its host. If that is also the host of BaseURL, pings are the
// requests that match nothing else. A reverse proxy must pass on host and path unchanged.
//
// On every host, GET /livez and GET /readyz report the health of the process. They answer 200 and "ok", or 503 and the
// part that fails. /readyz also needs the database, and fails after [Server.Drain].
func (s *Server) Handler() http.Handler {
	return s.guard(func(w http.ResponseWriter, r *http.Request, path string) {
		handle, rest := s.route(r.Host, path)
		handle(w, r, rest)
	})
}

// API returns the handler of the management interface: Config.BaseURL + /api/v3/. It takes the whole path of a request,
// so mount it there without [http.StripPrefix]. At /api/v3/ itself it shows a reference for people, and at
// /api/v3/openapi.json the OpenAPI document behind it. Neither needs a key.
func (s *Server) API() http.Handler { return s.guard(s.under(&s.base, s.api)) }

// Pings returns the handler for the pings of monitored jobs: Config.PingBaseURL + /<uuid> and + /<ping_key>/<slug>, each
// alone or followed by /start, /fail, /log or an exit status. It takes the whole path of a request, so mount it there
// without [http.StripPrefix].
func (s *Server) Pings() http.Handler { return s.guard(s.under(&s.ping, s.receive)) }

// Badges returns the handler of badges: Config.BaseURL + /badge/ and + /b/. It takes the whole path of a request, so
// mount it there without [http.StripPrefix].
func (s *Server) Badges() http.Handler { return s.guard(s.under(&s.base, s.badge)) }

// under returns a handler of the paths below a base URL.
func (s *Server) under(base *baseurl.URL, handle handler) handler {
	return func(w http.ResponseWriter, r *http.Request, path string) {
		rest, ok := below(path, base.Path)
		if !ok && base.Path != "" {
			s.notFound(w, r, path)
			return
		}
		handle(w, r, rest)
	}
}

// route returns the handler of a request and the path to pass to it. It alone decides which requests are pings.
func (s *Server) route(host, path string) (handler, string) {
	pingsShareRoot := s.ping.Path == "" && s.ping.Host == s.base.Host
	switch {
	case path == livePath:
		return s.live, path
	case path == readyPath:
		return s.ready, path
	case s.ping.Path != "":
		if rest, ok := below(path, s.ping.Path); ok {
			return s.receive, rest
		}
	case !pingsShareRoot && strings.EqualFold(host, s.ping.Host):
		return s.receive, path
	}
	if rest, ok := below(path, s.base.Path); ok {
		if handle := s.routeBelowBase(rest); handle != nil {
			return handle, rest
		}
	}
	if pingsShareRoot {
		return s.receive, path
	}
	return s.notFound, path
}

// routeBelowBase returns the handler of a path below Config.BaseURL, or nil.
func (s *Server) routeBelowBase(path string) handler {
	switch first, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/"); first {
	case "api":
		return s.api
	case "badge", "b":
		return s.badge
	case "unsubscribe":
		return s.unsubscribe
	}
	switch path {
	case livePath:
		return s.live
	case readyPath:
		return s.ready
	}
	switch {
	case s.dashboard != nil && isPage(path):
		return s.page
	case path == "/" || path == "":
		return s.home
	}
	return nil
}

// isPage reports whether a path below the base belongs to the dashboard. No ping has such a path: the first part of that
// of a ping is a UUID or a ping key.
func isPage(path string) bool {
	switch first, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/"); first {
	case "", "projects", "checks", "signin", "signout", "assets", "status", "push.js":
		return true
	}
	return false
}

// page lets the dashboard answer. Its pages have their own headers of security.
func (s *Server) page(w http.ResponseWriter, r *http.Request, _ string) {
	setRoute(w, routePages)
	s.dashboard.ServeHTTP(w, r)
}

// below returns what follows parent in a path, if path is parent or lies below it.
func below(path, parent string) (rest string, ok bool) {
	rest, ok = strings.CutPrefix(path, parent)
	return rest, ok && (rest == "" || rest[0] == '/')
}

// home answers at the root, so that a person who opens the address sees what runs there.
func (s *Server) home(w http.ResponseWriter, r *http.Request, _ string) {
	setRoute(w, routeHome)
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		s.fail(w, r, errMethod)
		return
	}
	writeText(w, http.StatusOK, "Rollcall, a dead man's switch for scheduled jobs.\nManagement interface: "+
		s.base.Text+"/api/v3/\nPings: "+s.ping.Text+"/\n")
}

func (s *Server) notFound(w http.ResponseWriter, r *http.Request, _ string) {
	s.fail(w, r, errNoPath)
}

// guard wraps every handler. It sets headers that keep browsers from sniffing, framing and caching an answer, and turns
// a panic into an answer. A handler that may allow more overrides the headers.
func (s *Server) guard(handle handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer := &response{ResponseWriter: w, route: routeOther}
		if hasBody(r) {
			// Otherwise net/http reads up to 256 kB of the body before it sends the first byte of the answer.
			_ = http.NewResponseController(w).EnableFullDuplex()
			defer drain(answer, r)
		}
		defer s.observe(r, answer, time.Now())
		h := w.Header()
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'; sandbox")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cache-Control", "no-store")
		if len(r.TransferEncoding) > 0 {
			// net/http silently drops a Content-Length beside chunks. To a proxy that went by the length, what follows is
			// part of this body, so it must not be read as a request.
			h.Set("Connection", "close")
		}
		defer func() {
			switch reason := recover(); {
			case reason == http.ErrAbortHandler:
				panic(reason)
			case reason != nil:
				// Handlers do all that can fail before they send the first byte, so an answer is still possible.
				s.fail(answer, r, fmt.Errorf("panic: %v\n%s", reason, debug.Stack()))
			}
		}()
		handle(answer, r, r.URL.EscapedPath())
	})
}
