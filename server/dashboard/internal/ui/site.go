// Package ui has what the pages of the dashboard share: who sends a request and for which project, the layout of pages,
// their assets, and how checks are shown.
package ui

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"html/template"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/julienschmidt/httprouter"

	"github.com/rollcall-dev/rollcall/badges"
	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/server"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/live"
	"github.com/rollcall-dev/rollcall/server/internal/baseurl"
	"github.com/rollcall-dev/rollcall/server/internal/limit"
	"github.com/rollcall-dev/rollcall/server/internal/origin"
	"github.com/rollcall-dev/rollcall/server/internal/secret"
)

// Config is the configuration of the server, with what package dashboard adds for its pages.
type Config struct {
	server.Config
	PingEmailDomain string
	PushKey         string
	Kinds           []channels.Kind
	ImportClient    *http.Client
	SignInURL       string
	MaxStreams      int
	// RefreshStatusPages makes a change of a status page visible at once.
	RefreshStatusPages func()
}

// ForeignSignIn reports whether people sign in to the program, at SignInURL if it is set.
func (c *Config) ForeignSignIn() bool { return c.Authorize != nil }

// Site is the pages of a monitor. Packages add theirs with AddTemplates, Public, Look and Change.
type Site struct {
	Mon    *monitor.Monitor
	Config Config
	Log    *slog.Logger
	URL    string // BaseURL, without a slash at the end
	Base   string // its path: "" or "/…"
	Seals  Seals
	// Proxies say which address a request comes from.
	Proxies origin.Proxies
	// Busy bounds the actions of a project's viewers that make this server send requests: tests of integrations and imports.
	Busy *limit.Requests[uuid.UUID]
	// Authorize says what the sender of a request may see and change. It may renew a cookie.
	Authorize func(http.ResponseWriter, *http.Request) (Access, error)
	// LastPerson is who signed in to the browser of a request last, or nobody. It is nil without accounts.
	LastPerson func(*http.Request) uuid.UUID
	// Prover asks viewers who have not signed in recently who they are. It is nil if people sign in to the program.
	Prover Prover
	// SignInPage answers with the page to sign in, which keeps a held form. It is not called if people sign in to the program.
	SignInPage func(q *Request, held string) error
	// Recheck is how often the stream of an open page asks Authorize, also while nothing changes. 0 is never.
	Recheck time.Duration

	badgeSecret *secret.Secret // signs badges if Config.Signer is zero
	secure      bool           // BaseURL is https
	outageLog   limit.Lines    // of the database
	storageLog  limit.Lines    // of object storage
	lateLog     limit.Lines
	faultLog    limit.Repeats // of this program
	base        baseurl.URL
	misplaced   sync.Once
	router      *httprouter.Router
	// Patterns are the pages that packages have added.
	Patterns  []string
	protect   *http.CrossOriginProtection
	templates map[string]*template.Template // by the names of pages
	navs      map[string]string             // the entries of the navigation that pages belong to
	assets    *assetSet
	pages     *limit.Requests[countedBy] // nil without a limit
	lives     *live.Followers
	streams   *limit.Slots[countedBy]
	// asking holds a turn for each stream that asks Authorize. All streams ask at once when a project changes, and the queries of
	// a few must not keep pings waiting for the database.
	asking   chan struct{}
	undos    keptUndos
	failures failures
}

// New returns a site without pages. The caller sets Authorize.
func New(mon *monitor.Monitor, base baseurl.URL, c Config) (*Site, error) {
	proxies, err := origin.New(c.TrustedProxies)
	if err != nil {
		return nil, err
	}
	s := &Site{
		Mon: mon, Config: c, Proxies: proxies, base: base, URL: base.Text, Base: base.Path, secure: base.Scheme == "https", Seals: Seals{secret.New(mon.Installation().Secret, "dashboard_key")},
		badgeSecret: secret.New(mon.Installation().Secret, "secret_key"),
		Log:         c.Logger.With(slog.Group("rollcall", "component", "dashboard")),
		Busy:        limit.NewRequests[uuid.UUID](12, 10, mon.Now),

		router: httprouter.New(), protect: http.NewCrossOriginProtection(), templates: map[string]*template.Template{}, navs: map[string]string{},
	}
	if perMinute := c.RateLimit * limit.PagesPerRequest; perMinute > 0 {
		s.pages = limit.NewRequests[countedBy](perMinute, perMinute, mon.Now)
	}
	if err := s.protect.AddTrustedOrigin(base.Scheme + "://" + base.Host); err != nil {
		return nil, fmt.Errorf("dashboard: BaseURL: %w", err)
	}
	s.lives = live.New(mon, s.Log)
	s.streams, s.asking = limit.NewSlots[countedBy](c.MaxStreams, streamsOfEach(c.MaxStreams)), make(chan struct{}, maxAsking)
	s.assets = newAssets(s.Base)
	s.AddTemplates(templateFiles, nil)
	s.router.RedirectTrailingSlash, s.router.RedirectFixedPath, s.router.HandleMethodNotAllowed, s.router.HandleOPTIONS = false, false, false, false
	s.router.NotFound = http.HandlerFunc(s.notFound)
	s.get("/assets/:version/:file", s.assets)
	s.get(pushWorker, http.HandlerFunc(s.servePushWorker))
	s.get("/favicon.ico", http.HandlerFunc(s.serveIcon))
	s.Public("GET /", home)
	if s.Base != "" {
		s.Public("GET ", home)
	}
	s.Look("GET /projects/{project}/events", events)
	s.Change("POST /projects/{project}/undo", undo)
	return s, nil
}

// Signer returns what signs the addresses of badges.
func (s *Site) Signer(ctx context.Context) (badges.Signer, error) {
	return s.badgeSecret.Signer(ctx, s.Config.Signer)
}

// notFound answers a request that no page has. If the pages are mounted at another path than that of BaseURL, the answer and,
// once, the log say so.
func (s *Site) notFound(w http.ResponseWriter, r *http.Request) {
	if !s.base.Misplaced(r) {
		s.fail(&Request{Site: s, W: w, R: r}, checks.ErrNotFound)
		return
	}
	const remedy = "mount the handler at the path of BaseURL, without http.StripPrefix"
	s.misplaced.Do(func() {
		s.Log.WarnContext(r.Context(), "a request for a page is not where BaseURL says: "+remedy,
			"path", r.URL.Path, "mounted_at", r.Pattern, "base_url", s.URL)
	})
	text := fmt.Sprintf("no page at %q: BaseURL is %s", r.URL.Path, s.URL)
	if r.Pattern != "" {
		text += fmt.Sprintf(", and the handler is mounted at %q", r.Pattern)
	}
	http.Error(w, text+": "+remedy, http.StatusNotFound)
}

// Close ends the streams of open pages.
func (s *Site) Close() { s.lives.Close() }

// ServeHTTP answers a request for a page.
func (s *Site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; font-src 'self'; img-src 'self' data:; "+
		"connect-src 'self'; worker-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'")
	h.Set("X-Content-Type-Options", "nosniff")
	// "no-referrer" would make browsers send "Origin: null" with forms, which looks like another site.
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
	if strict := s.base.Strict(s.Config.HSTS); strict != "" {
		h.Set("Strict-Transport-Security", strict)
	}
	s.router.ServeHTTP(w, r)
}

// Public registers a page that needs no sign-in. The pattern is a method and a path below the base, with parameters in
// braces, which [http.Request.PathValue] returns.
func (s *Site) Public(pattern string, h Handler) { s.handle(pattern, h) }

// Look registers a page of a project, {project}, or of a check, {check}, for everybody who may see it.
func (s *Site) Look(pattern string, h Handler) { s.handle(pattern, signedIn(h, checks.Read)) }

// Change registers a page or an action of a project, {project}, or of a check, {check}, for those who may edit it.
func (s *Site) Change(pattern string, h Handler) { s.handle(pattern, signedIn(h, checks.Edit)) }

// Own registers a page or an action of a project, {project}, for its owners. Actions of owners need a recent sign-in: see [Recent].
func (s *Site) Own(pattern string, h Handler) {
	if strings.HasPrefix(pattern, http.MethodPost) {
		h = Recent(h)
	}
	s.handle(pattern, signedIn(h, checks.Own))
}

func (s *Site) handle(pattern string, h Handler) {
	s.Patterns = append(s.Patterns, pattern)
	method, path, _ := strings.Cut(pattern, " ")
	answer := s.protect.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		gone := r.Context().Done()
		r, cancel := limit.Detach(r)
		defer cancel()
		q := &Request{Site: s, W: w, R: r, begin: time.Now(), route: path, gone: gone}
		defer func() {
			switch reason := recover(); {
			case reason == http.ErrAbortHandler:
				panic(reason)
			case reason != nil:
				s.fail(q, fmt.Errorf("panic: %v\n%s", reason, debug.Stack()))
			}
		}()
		if r.Body != nil {
			r.Body = http.MaxBytesReader(w, r.Body, MaxForm)
		}
		if err := h(q); err != nil {
			s.fail(q, err)
			return
		}
		s.logLate(q)
	}))
	routed := func(w http.ResponseWriter, r *http.Request, params httprouter.Params) {
		for _, p := range params {
			r.SetPathValue(p.Key, p.Value)
		}
		answer.ServeHTTP(w, r)
	}
	path = s.Base + strings.NewReplacer("{", ":", "}", "").Replace(path)
	s.router.Handle(method, path, routed)
	if method == http.MethodGet {
		s.router.Handle(http.MethodHead, path, routed)
	}
}

// Mount lets a handler answer all methods at a path below the base. The path is one of httprouter.
func (s *Site) Mount(path string, h http.Handler) {
	for _, method := range []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"} {
		s.router.Handler(method, s.Base+path, h)
	}
}

func (s *Site) get(path string, h http.Handler) {
	s.router.Handler(http.MethodGet, s.Base+path, h)
	s.router.Handler(http.MethodHead, s.Base+path, h)
}

// FirstPages are the pages that a person may see first, as [Person].FirstPage names them. Without a choice it is the page of
// all projects, or the overview of the only one.
var FirstPages = []string{"projects", "overview", "checks", "board"}

// home leads to the first page of the viewer.
func home(q *Request) (err error) {
	if q.Access, err = q.Authorize(q.W, q.R); err != nil {
		return err
	}
	projects, page := q.Access.Projects, "overview"
	if p := q.Access.Person; p != nil {
		if page = p.FirstPage; page == "" && len(projects) == 1 {
			page = "overview"
		}
		if page == "projects" || page == "" || len(projects) == 0 {
			return q.Redirect("/projects")
		}
	}
	if len(projects) == 0 {
		return ErrForbidden
	}
	if page == "checks" {
		page = ""
	}
	return q.Redirect("/projects/%s/%s", projects[0].ProjectID, page)
}

const (
	// maxAsking is how many streams ask at once whether their viewers may still look, and maxAsk how long one waits for its turn.
	maxAsking, maxAsk = 2, 10 * time.Second
	// streamRetry is when a page should try again to open a stream that was refused. It refreshes itself meanwhile.
	streamRetry = 30 * time.Second
)

// streamsOfEach is how many of all streams one person or key may have: screens on walls share a key.
func streamsOfEach(all int) int { return min(all, max(10, all/5)) }

// events is the stream of a project's changes. It ends when the viewer no longer has the right that the page was made for, which
// the page names, because it may have changed before the stream began.
func events(q *Request) error {
	if q.R.Method == http.MethodHead {
		q.W.Header().Set("Content-Type", "text/event-stream")
		return nil
	}
	free, full := q.streams.Take(q.streamsBy())
	if full != 0 {
		q.refuseStream(full)
		return nil
	}
	defer free()
	q.streaming = true
	shown := cmp.Or(q.R.URL.Query().Get("right"), strconv.Itoa(int(q.Right)))
	q.lives.Follow(q.Project.ID).Stream(q.W, q.gone, q.Recheck, func() bool {
		select {
		case q.asking <- struct{}{}:
			defer func() { <-q.asking }()
		case <-q.gone:
			return false
		case <-time.After(maxAsk):
			return true // the database hangs, and nothing changes meanwhile
		}
		r, cancel := limit.Detach(q.R)
		defer cancel()
		access, err := q.Authorize(q.W, r)
		if err != nil {
			return errors.Is(err, checks.ErrUnavailable) || errors.Is(err, context.DeadlineExceeded) // nothing changes meanwhile
		}
		return strconv.Itoa(int(access.Right(q.Project.ID))) == shown
	})
	return nil
}

// refuseStream answers a request for one stream too many, which the page does not show.
func (q *Request) refuseStream(full limit.Full) {
	all, each := q.streams.Most()
	status, text := http.StatusServiceUnavailable, fmt.Sprintf("This server has %d streams of open pages, the maximum", all)
	if full == limit.FullEach {
		status, text = http.StatusTooManyRequests, fmt.Sprintf("You have %d streams of open pages, the maximum for a person or a key", each)
	}
	q.W.Header().Set("Retry-After", strconv.Itoa(int(streamRetry.Seconds())))
	http.Error(q.W, text+". Pages without one refresh themselves twice a minute.", status)
}
