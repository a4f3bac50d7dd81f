package server

import (
	"errors"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"
	"github.com/julienschmidt/httprouter"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/audit"
	"github.com/rollcall-dev/rollcall/checks/gate"
	"github.com/rollcall-dev/rollcall/server/internal/limit"
	"github.com/rollcall-dev/rollcall/server/internal/request"
)

// access is the right that an endpoint needs, and how it refuses others. A read-only key gets 403, but 401 where server/API.md
// section 4 lists no 403 for it.
type access int

const (
	open access = iota // no key
	read
	scrape // also with the key as a bearer token
	write403
	write401
	byPingKey // as write403, or with the ping key
	admin     // otherwise 403
)

// rights are the rights that endpoints need.
var rights = [...]checks.Right{read: checks.Read, scrape: checks.Read, write403: checks.Edit, write401: checks.Edit, byPingKey: checks.Edit, admin: checks.Own}

// endpoint is one row of the table of server/API.md section 4.
type endpoint struct {
	method  string
	path    string // without the last slash
	access  access
	subject subject
	handle  func(*call) error
	added   bool // by Rollcall; only the current version has it
}

func endpoints() []endpoint {
	return []endpoint{
		{http.MethodGet, "/api/v3/checks", read, noCheck, (*call).listChecks, false},
		{http.MethodGet, "/api/v3/checks/:id", read, byUniqueKey, (*call).getCheck, false},
		{http.MethodPost, "/api/v3/checks", write401, noCheck, (*call).createCheck, false},
		{http.MethodPost, "/api/v3/checks/:id", write403, byUUID, (*call).updateCheck, false},
		{http.MethodPost, "/api/v3/checks/:id/pause", write403, byUUID, (*call).pauseCheck, false},
		{http.MethodPost, "/api/v3/checks/:id/resume", write403, byUUID, (*call).resumeCheck, false},
		{http.MethodDelete, "/api/v3/checks/:id", write403, byUUID, (*call).deleteCheck, false},
		{http.MethodGet, "/api/v3/checks/:id/pings", write403, byUUID, (*call).listPings, false},
		{http.MethodGet, "/api/v3/checks/:id/pings/:n/body", write403, byUUID, (*call).pingBody, false},
		{http.MethodGet, "/api/v3/checks/:id/flips", read, byUniqueKey, (*call).listFlips, false},
		{http.MethodGet, "/api/v3/channels", write401, noCheck, (*call).listChannels, false},
		{http.MethodGet, "/api/v3/badges", read, noCheck, (*call).listBadges, false},
		{http.MethodGet, "/api/v3/status", open, noCheck, (*call).status, false},
		// Beyond the specification.
		{http.MethodPost, "/api/v3/checks/:id/acknowledge", write403, byUUID, (*call).acknowledgeCheck, true},
		{http.MethodDelete, "/api/v3/checks/:id/acknowledge", write403, byUUID, (*call).unacknowledgeCheck, true},
		{http.MethodPost, "/api/v3/acknowledge", write403, noCheck, (*call).acknowledgeMany, true},
		{http.MethodGet, "/api/v3/checks/:id/stats", read, byUniqueKey, (*call).listStats, true},
		{http.MethodPost, "/api/v3/channels", admin, noCheck, (*call).createChannel, true},
		{http.MethodGet, "/api/v3/channels/:id", admin, byChannel, (*call).getChannel, true},
		{http.MethodPut, "/api/v3/channels/:id", admin, byChannel, (*call).replaceChannel, true},
		{http.MethodDelete, "/api/v3/channels/:id", admin, byChannel, (*call).deleteChannel, true},
		{http.MethodGet, "/api/v3/channel-kinds", read, noProject, (*call).listKinds, true},
		{http.MethodGet, "/api/v3/projects", admin, noProject, (*call).listProjects, true},
		{http.MethodPost, "/api/v3/projects", admin, noProject, (*call).createProject, true},
		{http.MethodGet, "/api/v3/projects/:id", admin, byProject, (*call).getProject, true},
		{http.MethodPut, "/api/v3/projects/:id", admin, byProject, (*call).updateProject, true},
		{http.MethodDelete, "/api/v3/projects/:id", admin, byProject, (*call).deleteProject, true},
		{http.MethodPost, "/api/v3/projects/:id/ping-key", admin, byProject, (*call).rotatePingKey, true},
		{http.MethodGet, "/api/v3/status-pages", admin, noCheck, (*call).listStatusPages, true},
		{http.MethodPost, "/api/v3/status-pages", admin, noCheck, (*call).createStatusPage, true},
		{http.MethodGet, "/api/v3/status-pages/:id", admin, byPage, (*call).getStatusPage, true},
		{http.MethodPut, "/api/v3/status-pages/:id", admin, byPage, (*call).replaceStatusPage, true},
		{http.MethodDelete, "/api/v3/status-pages/:id", admin, byPage, (*call).deleteStatusPage, true},
		{http.MethodGet, "/api/v3/escalation", write403, noCheck, (*call).getEscalation, true},
		{http.MethodPut, "/api/v3/escalation", admin, noCheck, (*call).setEscalation, true},
		{http.MethodGet, "/api/v3/windows", read, noCheck, (*call).listWindows, true},
		{http.MethodPost, "/api/v3/windows", byPingKey, noCheck, (*call).addWindow, true},
		{http.MethodGet, "/api/v3/windows/:id", read, byWindow, (*call).getWindow, true},
		{http.MethodDelete, "/api/v3/windows/:id", byPingKey, byWindow, (*call).endWindow, true},
		{http.MethodGet, "/api/v3", open, noCheck, (*call).reference, true},
		{http.MethodGet, "/api/v3/openapi.json", open, noCheck, (*call).openAPI, true},
		{http.MethodGet, "/api/v3/metrics", scrape, noCheck, (*call).metrics, false},
	}
}

// newRouter returns the router of the management interface. Its errors are JSON documents.
func (s *Server) newRouter() *httprouter.Router {
	router := httprouter.New()
	router.RedirectTrailingSlash, router.RedirectFixedPath = false, false
	for _, version := range s.versions() {
		for _, e := range endpointsOf(version) {
			handle := func(w http.ResponseWriter, r *http.Request, params httprouter.Params) {
				setRoute(w, e.path)
				c := &call{Server: s, w: w, r: r, version: version, params: params, body: s.newBody(r)}
				defer c.body.release()
				if err := c.serve(e); err != nil {
					s.fail(w, r, err)
				}
			}
			router.Handle(e.method, e.path, handle)
			if e.method == http.MethodGet {
				router.Handle(http.MethodHead, e.path, handle)
			}
		}
	}
	router.NotFound = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { s.fail(w, r, errNoPath) })
	router.MethodNotAllowed = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { s.fail(w, r, errMethod) })
	router.GlobalOPTIONS = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if w.Header().Get("Access-Control-Allow-Origin") != "" {
			w.Header().Set("Access-Control-Allow-Methods", w.Header().Get("Allow"))
			w.Header().Set("Access-Control-Max-Age", "600")
		}
		w.WriteHeader(http.StatusNoContent)
	})
	return router
}

// api answers a request to the management interface. It routes by the escaped path, so that an escaped slash never
// separates segments.
func (s *Server) api(w http.ResponseWriter, r *http.Request, path string) {
	if s.authorize == nil || bringsKey(r) {
		w.Header().Set("Access-Control-Allow-Origin", "*")
		w.Header().Set("Access-Control-Allow-Headers", "X-Api-Key")
	}
	routed, cancel := limit.Detach(r)
	defer cancel()
	address := *r.URL
	address.Path, address.RawPath = strings.TrimSuffix(path, "/"), ""
	routed.URL = &address
	s.router.ServeHTTP(w, routed)
}

// call is one request to the management interface.
type call struct {
	*Server
	w       http.ResponseWriter
	r       *http.Request
	version int // of the management interface
	params  httprouter.Params

	key          checks.Key   // of someone who is signed in, only ID and ProjectID
	right        checks.Right // of the key or of who is signed in
	installation bool         // the key is one of the installation; its ProjectID is the project that the query names
	signed       bool         // in, by Config.Authorize: the request has no API key
	pingKeyed    bool         // the request has the ping key of the project, and no API key
	name         string       // of who is signed in

	// What the path names.
	check      checks.Check
	channel    channels.Channel
	statusPage checks.StatusPage
	project    checks.Project
	window     gate.Window

	body   *body
	parsed *request.Body // the parsed body, once parseBody has been called
}

// serve checks the key, the rate limit, the permission, the project and what the path names, in this order, and then calls
// the handler.
func (c *call) serve(e endpoint) error {
	if e.access != open {
		if err := c.authenticate(e.access); err != nil {
			return err
		}
		if err := c.limit(); err != nil {
			return err
		}
		c.r = c.r.WithContext(audit.WithActor(c.r.Context(), c.actor()))
		if err := c.permit(e.access); err != nil {
			return err
		}
		if e.subject.inProject {
			if err := c.chooseProject(); err != nil {
				return err
			}
		}
	}
	if e.subject.find != nil {
		if err := e.subject.find(c, c.params.ByName("id")); err != nil {
			return err
		}
	}
	return e.handle(c)
}

// permit checks whether the right of the key suffices for an endpoint.
func (c *call) permit(needed access) error {
	switch {
	case c.right >= rights[needed]:
		return nil
	case c.right == checks.None:
		return errWrongKey
	case needed == admin:
		return errNotAdmin
	case c.signed:
		return errViewer
	case needed == write403, needed == byPingKey:
		return errReadOnly
	}
	return errReadOnlyKey
}

// chooseProject finds the project of a request with a key of the installation. A key of a project has one already.
func (c *call) chooseProject() error {
	query := c.r.URL.Query()
	text := query.Get("project")
	id, ok := parseUUID(text, true)
	switch {
	case c.installation && text == "":
		return errNeedsProject
	case query.Has("project") && !ok:
		return errBadProject
	case !c.installation:
		return nil
	}
	project, err := c.mon.Projects().ByID(c.r.Context(), id)
	c.key.ProjectID = project.ID
	return err
}

// authenticate finds out whose request it is. A key in the header, even an empty one, wins over the sign-in of the
// program, and that over a key in the body. Some endpoints also take the key as a bearer token, or a ping key.
func (c *call) authenticate(to access) error {
	if values, present := c.r.Header["X-Api-Key"]; present {
		return c.identify(values[0])
	}
	if values, present := c.r.Header["X-Ping-Key"]; present && to == byPingKey {
		return c.identifyPingKey(values[0])
	}
	if c.authorize != nil {
		if err := c.askProgram(); !errors.Is(err, ErrSignedOut) {
			return err
		}
	}
	if to == scrape {
		return c.identify(bearer(c.r))
	}
	if c.r.Method != http.MethodPost {
		return errMissingKey
	}
	if err := c.readKeyless(); err != nil {
		return err
	}
	body, err := c.parseBody()
	if err != nil {
		return err
	}
	field, err := body.APIKey()
	if err != nil {
		return err
	}
	if field == nil {
		return errMissingKey
	}
	return c.identify(*field)
}

// readKeyless reads the part of the body that needs no key. If the body is longer, that part must have a valid key.
func (c *call) readKeyless() error {
	if c.r.ContentLength > maxBody {
		return errTooLarge
	}
	start, err := c.body.readTo(c.r.Context(), maxKeylessBody+1)
	if err != nil || len(start) <= maxKeylessBody {
		return err
	}
	key, found := keyInPrefix(start)
	if !found {
		return errLateKey
	}
	return c.identify(key)
}

// keyLength is the length of an API key in characters.
const keyLength = 32

// identify looks up an API key.
func (c *call) identify(text string) error {
	if utf8.RuneCountInString(text) != keyLength {
		return errMissingKey
	}
	key, err := c.mon.Projects().Authenticate(c.r.Context(), text)
	switch {
	case errors.Is(err, checks.ErrKeyExpired):
		return errExpiredKey
	case errors.Is(err, checks.ErrNotFound):
		return errWrongKey
	}
	c.key, c.right, c.installation = key, key.Scope.Right(), err == nil && key.ProjectID == uuid.Nil
	return err
}

// actor is who sends the request, for the audit log.
func (c *call) actor() audit.Actor {
	address, _ := c.proxies.Of(c.r)
	switch {
	case c.signed:
		return audit.Actor{Kind: audit.Person, Name: c.name, Address: address}
	case c.pingKeyed:
		return audit.Actor{Kind: audit.PingKey, Address: address}
	}
	return audit.Actor{Kind: audit.Key, ID: c.key.ID.String(), Name: c.key.Hint, Address: address}
}

func (c *call) limit() error {
	if delay := c.limiter.Wait(c.key.ID); delay > 0 {
		return tooMany(c.rateLimit, delay)
	}
	return nil
}

// requested reads the body of a request.
func requested[T any](c *call, read func(request.Body) (T, error)) (wanted T, err error) {
	body, err := c.parseBody()
	if err != nil {
		return wanted, err
	}
	return read(body)
}

// parseBody reads and parses the body of the request, once.
func (c *call) parseBody() (request.Body, error) {
	if c.parsed != nil {
		return *c.parsed, nil
	}
	if c.r.ContentLength > maxBody {
		return request.Body{}, errTooLarge
	}
	data, err := c.body.readTo(c.r.Context(), maxBody+1)
	if err != nil {
		return request.Body{}, err
	}
	if len(data) > maxBody {
		return request.Body{}, errTooLarge
	}
	parsed, err := request.Parse(data)
	if err != nil {
		return request.Body{}, err
	}
	c.parsed = &parsed
	return parsed, nil
}

// answer sends a JSON document.
func (c *call) answer(status int, document any) error {
	body, err := encode(document)
	if err != nil {
		return err
	}
	write(c.w, status, "application/json", body)
	return nil
}

// reference serves the reference for people.
func (c *call) reference() error {
	c.docs.ServePage(c.w, c.r)
	return nil
}

// openAPI serves the OpenAPI document.
func (c *call) openAPI() error {
	c.docs.ServeDocument(c.w, c.r)
	return nil
}

// parseUUID parses a UUID with its four hyphens: in lower case, the only form that paths may have, or in any case.
// [uuid.Parse] accepts other forms too.
func parseUUID(text string, anyCase bool) (id uuid.UUID, ok bool) {
	if len(text) != 36 || !anyCase && text != strings.ToLower(text) {
		return uuid.UUID{}, false
	}
	id, err := uuid.Parse(text)
	return id, err == nil
}

// isUniqueKey reports whether a text has the form of a unique_key: 40 hexadecimal digits in lower case.
func isUniqueKey(text string) bool {
	return len(text) == 40 && strings.Trim(text, "0123456789abcdef") == ""
}
