package server

import (
	"cmp"
	"fmt"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	"github.com/julienschmidt/httprouter"

	"github.com/rollcall-dev/rollcall/server/internal/request"
)

// handler answers a request. The path is what follows the address that the handler has, still escaped.
type handler func(w http.ResponseWriter, r *http.Request, path string)

// ServeHTTP answers all requests: to the management interface, the badges, the links to unsubscribe and to acknowledge, and the pages below
// Config.BaseURL, and pings below Config.PingBaseURL. It takes the whole path of a request, so mount it without
// [http.StripPrefix].
//
// If PingBaseURL has no path, or that of BaseURL, pings are all requests to its host. If that is also the host of BaseURL,
// pings are the requests that match nothing else. A reverse proxy must pass on host and path unchanged.
//
// On every host, GET /livez and GET /readyz report the health of the process. They answer 200 and "ok", or 503 and the
// part that fails. /readyz also needs the database, and fails after [Server.Drain].
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.handler.ServeHTTP(w, r) }

// API returns the handler of the management interface: Config.BaseURL + /api/v3/. It takes the whole path of a request,
// so mount it there without [http.StripPrefix]. At /api/v3/ itself it shows a reference for people, and at
// /api/v3/openapi.json the OpenAPI document behind it. Neither needs a key.
func (s *Server) API() http.Handler {
	return s.guard(s.under(s.base.Path, s.api))
}

// Pings returns the handler for the pings of monitored jobs: Config.PingBaseURL + /<uuid> and + /<ping_key>/<slug>, each
// alone or followed by /start, /fail, /log or an exit status. It takes the whole path of a request, so mount it there
// without [http.StripPrefix].
func (s *Server) Pings() http.Handler {
	return s.guard(s.under(s.ping.Path, s.receive))
}

// Badges returns the handler of badges: Config.BaseURL + /badge/ and + /b/. It takes the whole path of a request, so
// mount it there without [http.StripPrefix].
func (s *Server) Badges() http.Handler {
	m := s.newMux()
	m.addBadges()
	return s.guard(m.serve)
}

// Unsubscribe returns the handler of the addresses of [Server.UnsubscribeURL]: Config.BaseURL + /unsubscribe/. It takes
// the whole path of a request, so mount it there without [http.StripPrefix].
func (s *Server) Unsubscribe() http.Handler {
	m := s.newMux()
	m.below(s.base.Path, unsubscribePath, s.unsubscribe)
	return s.guard(m.serve)
}

// Acknowledge returns the handler of the addresses of [Server.AcknowledgeURL]: Config.BaseURL + /acknowledge/. It takes the whole
// path of a request, so mount it there without [http.StripPrefix].
func (s *Server) Acknowledge() http.Handler {
	m := s.newMux()
	m.below(s.base.Path, acknowledgePath, s.acknowledge)
	return s.guard(m.serve)
}

// Pages returns the handler of the pages that Config.Dashboard made, or nil. With package server/dashboard it is a
// *dashboard.Dashboard.
func (s *Server) Pages() http.Handler { return s.pages }

// Close ends the streams of open pages, for a program that shuts down. See [http.Server.RegisterOnShutdown].
func (s *Server) Close() {
	if pages, ok := s.pages.(interface{ Close() }); ok {
		pages.Close()
	}
}

func (s *Server) newHandler() http.Handler {
	all := s.newMux()
	all.addHealth("")
	if s.base.Path != "" {
		all.addHealth(s.base.Path)
	}
	all.below(s.base.Path, "/api", s.api)
	all.addBadges()
	all.below(s.base.Path, unsubscribePath, s.unsubscribe)
	all.below(s.base.Path, acknowledgePath, s.acknowledge)
	all.addPages()
	first, pings := all, (*mux)(nil)
	switch {
	case s.ping.Path != "" && s.ping.Path != s.base.Path: // pings come first, so their path may lie below that of anything
		first = s.newMux()
		first.below(s.ping.Path, "", s.receive)
		first.rest = all.serve
	case s.ping.Host == s.base.Host:
		all.rest = s.under(s.ping.Path, s.receive)
	default:
		pings = s.newMux()
		pings.addHealth("")
		pings.rest = s.under(s.ping.Path, s.receive)
	}
	return s.guard(func(w http.ResponseWriter, r *http.Request, path string) {
		if pings != nil && strings.EqualFold(r.Host, s.ping.Host) {
			pings.serve(w, r, path)
			return
		}
		first.serve(w, r, path)
	})
}

// under returns a handler of all that is below a path.
func (s *Server) under(parent string, handle handler) handler {
	return func(w http.ResponseWriter, r *http.Request, path string) {
		rest, ok := below(path, parent)
		if !ok && parent != "" {
			s.notFound(w, r, path)
			return
		}
		handle(w, r, rest)
	}
}

// mux routes requests by their escaped path, so that an escaped slash never separates segments. Its handlers answer all
// methods.
type mux struct {
	*Server
	router *httprouter.Router
	rest   handler // answers requests without a route
}

const anyMethod = "ANY"

func (s *Server) newMux() *mux { return &mux{Server: s, router: httprouter.New(), rest: s.notFound} }

// serve answers a request.
func (m *mux) serve(w http.ResponseWriter, r *http.Request, path string) {
	if handle, params, _ := m.router.Lookup(anyMethod, cmp.Or(path, "/")); handle != nil {
		handle(w, r, params)
		return
	}
	m.rest(w, r, path)
}

// at adds a route.
func (m *mux) at(path string, handle handler) {
	m.router.Handle(anyMethod, path, func(w http.ResponseWriter, r *http.Request, _ httprouter.Params) { handle(w, r, path) })
}

// below adds the routes of parent + path and of all below it. The handler gets what follows parent.
func (m *mux) below(parent, path string, handle handler) {
	route := func(w http.ResponseWriter, r *http.Request, _ httprouter.Params) {
		handle(w, r, r.URL.EscapedPath()[len(parent):])
	}
	m.router.Handle(anyMethod, parent+path, route)
	m.router.Handle(anyMethod, parent+path+"/*rest", route)
}

func (m *mux) addHealth(parent string) {
	m.at(parent+livePath, m.live)
	m.at(parent+readyPath, m.ready)
}

func (m *mux) addBadges() {
	m.below(m.base.Path, "/badge", m.badge)
	m.below(m.base.Path, "/b", m.badge)
}

// addPages adds the pages for people, or the words at the root that stand in for them.
func (m *mux) addPages() {
	root := m.home
	if m.pages != nil && m.pagesHere {
		root = m.page
		for _, path := range pagePaths() {
			m.below(m.base.Path, path, m.page)
		}
	}
	m.at(m.base.Path+"/", root)
	if m.base.Path != "" {
		m.at(m.base.Path, root)
	}
}

// pagePaths are the paths of the pages. No ping has such a path: it begins with a UUID or a ping key.
func pagePaths() []string {
	return []string{"/projects", "/checks", "/people", "/account", "/signin", "/signout", "/assets", "/status", "/push.js", "/favicon.ico"}
}

// page lets the dashboard answer. Its pages have their own headers of security.
func (s *Server) page(w http.ResponseWriter, r *http.Request, _ string) {
	setRoute(w, routePages)
	s.pages.ServeHTTP(w, r)
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

// notFound answers a request without a route: a browser gets a page. If the handler is mounted at another path than that of BaseURL,
// the log says so once.
func (s *Server) notFound(w http.ResponseWriter, r *http.Request, path string) {
	if s.base.Misplaced(r) {
		s.misplaced.Do(func() {
			s.log.WarnContext(r.Context(), "a request is not where BaseURL says: mount the handler at the path of BaseURL, without http.StripPrefix",
				"path", redactKeys(path), "mounted_at", r.Pattern, "base_url", s.base.Text)
		})
	} else if s.pages != nil && s.pagesHere && request.WantsPage(r) {
		s.page(w, r, path)
		return
	}
	s.fail(w, r, errNoPath)
}

// strictFor returns the value of Strict-Transport-Security for the host of a request, or "".
func (s *Server) strictFor(r *http.Request) string {
	if s.strict[0] != s.strict[1] && s.ping.Host != s.base.Host && strings.EqualFold(r.Host, s.ping.Host) {
		return s.strict[1]
	}
	return s.strict[0]
}

// guard wraps every handler. It sets headers that keep browsers from sniffing, framing and caching an answer, and turns
// a panic into an answer. A handler that may allow more overrides the headers.
func (s *Server) guard(handle handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer := &response{ResponseWriter: w, begin: time.Now(), route: routeOther}
		if hasBody(r) {
			// Otherwise net/http reads up to 256 kB of the body before it sends the first byte of the answer.
			_ = http.NewResponseController(w).EnableFullDuplex()
			defer drain(answer, r)
		}
		defer s.observe(r, answer)
		h := w.Header()
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'; sandbox")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cache-Control", "no-store")
		if strict := s.strictFor(r); strict != "" {
			h.Set("Strict-Transport-Security", strict)
		}
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
				s.fail(answer, r, fmt.Errorf("panic: %v\n%s", reason, debug.Stack()))
			}
		}()
		handle(answer, r, r.URL.EscapedPath())
	})
}
