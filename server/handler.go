package server

import (
	"fmt"
	"net/http"
	"net/url"
	"runtime/debug"
	"strings"
	"time"
)

// Handler returns one handler for everything: the management interface and the badges under the path of
// Config.BaseURL, and the pings under the path of Config.PingBaseURL. A PingBaseURL without a path gets all requests
// to its host if that is not the host of BaseURL, and otherwise those requests that are for nothing else. A proxy in
// front must pass the host and the paths on as they are.
//
// Whatever the host, GET /livez answers while the process works, and GET /readyz while the database does too and
// [Server.Drain] was not called: with 200 and "ok", or with 503 and the part that does not.
func (s *Server) Handler() http.Handler {
	api, badges := s.api(), http.HandlerFunc(s.badge)
	return s.guard(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		path := r.URL.EscapedPath()
		if rest, ok := s.pingPath(r, path); ok {
			s.receive(w, r, rest)
			return
		}
		switch path {
		case livePath:
			s.live(w, r)
			return
		case readyPath:
			s.ready(w, r)
			return
		}
		rest := path
		if s.base.path != "" {
			var found bool
			if rest, found = strings.CutPrefix(path, s.base.path); !found || rest != "" && rest[0] != '/' {
				rest = "?" // no path has it
			}
			r = strip(r, s.base.path)
		}
		switch {
		case under(rest, "/api"):
			api.ServeHTTP(w, r)
		case under(rest, "/badge"), under(rest, "/b"):
			badges.ServeHTTP(w, r)
		case rest == livePath:
			s.live(w, r)
		case rest == readyPath:
			s.ready(w, r)
		case rest == "/", rest == "":
			s.home(w, r)
		case s.ping.path == "" && s.ping.host == s.base.host:
			s.receive(w, r, r.URL.EscapedPath())
		default:
			s.fail(w, r, errNotFound)
		}
	}))
}

// IsPing reports whether [Server.Handler] takes a request for a ping by its address alone. Where pings have neither a path
// nor a host of their own, it does so for none.
func (s *Server) IsPing(r *http.Request) bool {
	_, ok := s.pingPath(r, r.URL.EscapedPath())
	return ok
}

// pingPath returns what comes below the path of Config.PingBaseURL, if a request with this path is for that.
func (s *Server) pingPath(r *http.Request, path string) (rest string, ok bool) {
	switch {
	case path == livePath, path == readyPath:
		return "", false
	case s.ping.path != "":
		return strings.TrimPrefix(path, s.ping.path), under(path, s.ping.path)
	}
	return path, s.ping.host != s.base.host && strings.EqualFold(r.Host, s.ping.host)
}

// API returns the handler of the management interface, for the paths that start with /api/v3/ (API-V3.md section 4).
// At /api/v3/ itself it shows a reference for people, and at /api/v3/openapi.json the OpenAPI document that the
// reference is made from. Neither needs a key.
func (s *Server) API() http.Handler { return s.guard(s.api()) }

// Pings returns the handler of what monitored jobs send. Its paths are those below {ping_base_url}: /<uuid> and
// /<ping_key>/<slug>, each alone or followed by /start, /fail, /log or an exit status.
func (s *Server) Pings() http.Handler {
	return s.guard(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { s.receive(w, r, r.URL.EscapedPath()) }))
}

// Badges returns the handler of badges, for the paths that start with /badge/ and /b/.
func (s *Server) Badges() http.Handler { return s.guard(http.HandlerFunc(s.badge)) }

// under reports whether a path is the given one or lies below it.
func under(path, parent string) bool {
	rest, found := strings.CutPrefix(path, parent)
	return found && (rest == "" || rest[0] == '/')
}

// strip returns a copy of the request with a prefix taken off its path. The prefix has no character that is ever
// escaped.
func strip(r *http.Request, prefix string) *http.Request {
	stripped := *r
	stripped.URL = new(url.URL)
	*stripped.URL = *r.URL
	stripped.URL.Path = strings.TrimPrefix(r.URL.Path, prefix)
	stripped.URL.RawPath = strings.TrimPrefix(r.URL.RawPath, prefix)
	return &stripped
}

// home answers at the root, so that a person who tries the address sees what it is.
func (s *Server) home(w http.ResponseWriter, r *http.Request) {
	routed(w, routeHome)
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		s.fail(w, r, errMethod)
		return
	}
	writeText(w, http.StatusOK, "Rollcall, a dead man's switch for scheduled jobs.\nManagement interface: "+
		s.base.text+"/api/v3/\nPings: "+s.ping.text+"/\n")
}

// guard wraps every handler: it sets the headers that keep a browser from taking an answer for something else, from
// showing it within another page and from keeping it, and turns a panic into an answer. Handlers that can allow more
// set their own.
func (s *Server) guard(next http.Handler) http.Handler {
	fixed := newHeaders(
		"X-Content-Type-Options", "nosniff",
		"Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'; sandbox",
		"Referrer-Policy", "no-referrer",
		"Cache-Control", "no-store",
	)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer := &recorder{ResponseWriter: w, route: routeOther}
		defer s.answered(r, answer, time.Now())
		w = answer
		h := w.Header()
		fixed.set(h)
		if len(r.TransferEncoding) > 0 {
			// The request may have had a length as well, which net/http drops without a word. A proxy that has gone
			// by it takes what follows for a part of this body, so nothing that follows is read as a request.
			h.Set("Connection", "close")
		}
		defer func() {
			switch reason := recover(); {
			case reason == http.ErrAbortHandler:
				panic(reason)
			case reason != nil:
				// What can go wrong has gone well before the first byte of an answer is sent, so this one is
				// still to come.
				s.fail(w, r, fmt.Errorf("panic: %v\n%s", reason, debug.Stack()))
			}
		}()
		next.ServeHTTP(w, r)
	})
}
