package dashboard

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/verdict"
)

// routes registers all pages. Each file of pages has a function for its own.
func (d *Dashboard) routes() {
	d.mux.Handle("GET "+d.base+"/assets/{version}/{file}", d.assets)
	d.mux.HandleFunc("GET "+d.base+pushWorker, d.pushWorker)
	d.mux.Handle(d.base+"/status/", d.status)
	d.statusPageRoutes()
	d.boardRoutes()
	d.signInRoutes()
	d.public("GET /{$}", d.home)
	d.checksRoutes()
	d.editRoutes()
	d.integrationRoutes()
	d.deliveryRoutes()
	d.keyRoutes()
	d.settingsRoutes()
	d.badgeRoutes()
	d.importRoutes()
	d.checkRoutes()

	d.mux.HandleFunc(d.base+"/", func(w http.ResponseWriter, r *http.Request) {
		d.fail(&request{Dashboard: d, w: w, r: r}, checks.ErrNotFound)
	})
}

// request is a request that a page answers.
type request struct {
	*Dashboard
	w      http.ResponseWriter
	r      *http.Request
	access Access
	// route is the pattern of the path, for the log: the path itself may be a link that signs in.
	route string
	// project is the project of the page, and edit whether the viewer may change it. Both are unset on pages without a
	// project.
	project checks.Project
	edit    bool
	// live follows the project, and version is that from before anything was read. An open page that asks again is a
	// refresh.
	live    *live
	version string
	refresh bool
	// check is the check of the page, on pages below /checks/.
	check checks.Check
}

func (q *request) ctx() context.Context { return q.r.Context() }

// handler answers a request, or returns an error, which becomes a page. See [Dashboard.fail].
type handler func(q *request) error

// Errors that become pages. Those of the monitor and of package checks do as well.
var (
	errForbidden = errors.New("the viewer may not do this")
	errBadForm   = errors.New("the form cannot be read")
)

// public registers a page that needs no sign-in. The pattern is one of [http.ServeMux], with the path below the base.
func (d *Dashboard) public(pattern string, h handler) { d.handle(pattern, h) }

// look registers a page of a project, {project}, or of a check, {check}, for everybody who may see it.
func (d *Dashboard) look(pattern string, h handler) { d.handle(pattern, signedIn(h, false)) }

// change registers a page or an action of a project, {project}, or of a check, {check}, for those who may edit it.
func (d *Dashboard) change(pattern string, h handler) { d.handle(pattern, signedIn(h, true)) }

func (d *Dashboard) handle(pattern string, h handler) {
	method, path, _ := strings.Cut(pattern, " ")
	answer := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		q := &request{Dashboard: d, w: w, r: r, route: path}
		defer func() {
			switch reason := recover(); {
			case reason == http.ErrAbortHandler:
				panic(reason)
			case reason != nil:
				d.fail(q, fmt.Errorf("panic: %v\n%s", reason, debug.Stack()))
			}
		}()
		if r.Body != nil {
			r.Body = http.MaxBytesReader(w, r.Body, maxForm)
		}
		if err := h(q); err != nil {
			d.fail(q, err)
		}
	})
	d.mux.Handle(method+" "+d.base+path, d.protect.Handler(answer))
}

// maxForm bounds the body of a form in bytes.
const maxForm = 1 << 20

// signedIn finds out who sends the request, and loads the project and the check that its path names. A project that the
// viewer may not see does not exist for them.
func signedIn(h handler, edit bool) handler {
	page := counted(h)
	return func(q *request) (err error) {
		if q.access, err = q.authorize(); err != nil {
			return err
		}
		if text := q.r.PathValue("check"); text != "" {
			if err := q.openCheck(text); err != nil {
				return err
			}
		}
		if text := q.r.PathValue("project"); text != "" {
			id, err := uuid.Parse(text)
			if err != nil {
				return checks.ErrNotFound
			}
			if err := q.open(id); err != nil {
				return err
			}
		}
		if edit && !q.edit {
			return errForbidden
		}
		if q.r.Method == http.MethodGet && q.project.ID != uuid.Nil {
			q.live = q.lives.follow(q.project.ID)
			q.version = q.live.version()
			known := q.r.Header.Get("Rollcall-Version")
			if q.refresh = known != ""; known == q.version {
				q.w.WriteHeader(http.StatusNoContent)
				return nil
			}
			if q.refresh {
				return q.share(page)
			}
		}
		return page(q)
	}
}

// tooManyError reports that a viewer asks for more than Config.RateLimit pages.
type tooManyError struct{ wait time.Duration }

func (e tooManyError) Error() string { return "too many requests" }

// counted counts a page that is made.
func counted(h handler) handler {
	return func(q *request) error {
		wait := q.pages.Wait(countedBy{project: q.project.ID, key: q.access.keys[q.project.ID], name: q.access.Name})
		if wait > 0 {
			return tooManyError{wait}
		}
		return h(q)
	}
}

func (q *request) authorize() (Access, error) {
	if q.config.Authorize != nil {
		return q.config.Authorize(q.r)
	}
	return q.sessions.access(q.w, q.r)
}

// openCheck loads the check that a path names, by its unique key or its identifier. Pages link by the unique key
// (server/API.md section 2.1), because the identifier is part of the address that takes pings.
func (q *request) openCheck(text string) (err error) {
	if len(text) == 36 {
		id, err := uuid.Parse(text)
		if err != nil {
			return checks.ErrNotFound
		}
		if q.check, err = q.mon.Check(q.ctx(), id); err != nil {
			return err
		}
		return q.open(q.check.ProjectID)
	}
	for _, p := range q.access.Projects {
		q.check, err = q.mon.CheckByUniqueKey(q.ctx(), p.ProjectID, text)
		if err == nil {
			return q.open(p.ProjectID)
		}
		if !errors.Is(err, checks.ErrNotFound) {
			return err
		}
	}
	return checks.ErrNotFound
}

// open loads a project that the viewer may see.
func (q *request) open(id uuid.UUID) (err error) {
	access, ok := q.access.project(id)
	if !ok {
		return checks.ErrNotFound
	}
	q.edit = access.Edit
	q.project, err = q.mon.Project(q.ctx(), id)
	return err
}

// redirect leads the browser to a path below the base, with 303.
func (q *request) redirect(format string, args ...any) error {
	http.Redirect(q.w, q.r, q.base+fmt.Sprintf(format, args...), http.StatusSeeOther)
	return nil
}

// home leads to the first project.
func (d *Dashboard) home(q *request) error {
	access, err := q.authorize()
	if err != nil {
		return err
	}
	if len(access.Projects) == 0 {
		return errForbidden
	}
	return q.redirect("/projects/%s/", access.Projects[0].ProjectID)
}

// fail answers with the page of an error.
func (d *Dashboard) fail(q *request, err error) {
	status, title, text := http.StatusInternalServerError, "Something went wrong", "The server could not complete the request. See its log."
	var tooLarge *http.MaxBytesError
	var tooMany tooManyError
	switch {
	case q.r.Context().Err() != nil:
		return
	case errors.Is(err, ErrSignedOut):
		d.askToSignIn(q)
		return
	case errors.Is(err, checks.ErrNotFound):
		status, title, text = http.StatusNotFound, "Page not found", "This page does not exist, or you do not have access to it."
	case errors.Is(err, errForbidden):
		status, title, text = http.StatusForbidden, "Not allowed", "You can view this project but not change it. Sign in with a read-write key to make changes."
	case errors.As(err, &tooLarge):
		status, title, text = http.StatusRequestEntityTooLarge, "Too large", "The form is larger than 1 MB."
	case errors.As(err, &tooMany):
		seconds := int(math.Ceil(tooMany.wait.Seconds()))
		q.w.Header().Set("Retry-After", strconv.Itoa(seconds))
		status, title = http.StatusTooManyRequests, "Too many requests"
		text = "This key has requested too many pages. Try again in " + verdict.Count(seconds, "second") + "."
	case errors.Is(err, errBadForm):
		status, title, text = http.StatusBadRequest, "Bad request", "The form could not be read. Go back and try again."
	case errors.Is(err, monitor.ErrUnavailable):
		status, title, text = http.StatusServiceUnavailable, "Temporarily unavailable", "The database is not responding. Try again in a moment."
		d.logOutage(q, err)
	default:
		if field, ok := errors.AsType[*checks.FieldError](err); ok {
			status, title, text = http.StatusBadRequest, "Refused", field.Error()+"."
			break
		}
		d.log.ErrorContext(q.ctx(), "cannot answer a request", "route", q.route, "error", err)
	}
	q.renderStatus(status, "error", title, struct{ Title, Text string }{title, text})
}

// logOutage logs that the database is away. Every request fails then; one a second is logged.
func (d *Dashboard) logOutage(q *request, err error) {
	unlogged, ok := d.outageLog.Pass(d.mon.Now())
	if !ok {
		return
	}
	attributes := []any{"route", q.route, "error", err}
	if unlogged > 0 {
		attributes = append(attributes, "unlogged", unlogged)
	}
	d.log.ErrorContext(q.ctx(), "cannot answer a request", attributes...)
}
