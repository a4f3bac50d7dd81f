package ui

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels/prose"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/audit"
	"github.com/rollcall-dev/rollcall/checks/schedule"
	"github.com/rollcall-dev/rollcall/server"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/live"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/words"
	"github.com/rollcall-dev/rollcall/server/internal/limit"
)

// request is a Request that a page answers.
type Request struct {
	*Site
	W      http.ResponseWriter
	R      *http.Request
	Access Access
	begin  time.Time
	// gone says that the client has closed its writing side, or the connection. Only streams end with it.
	gone <-chan struct{}
	// route is the pattern of the path, for the log: the path itself may be a link that signs in.
	route string
	// streaming says that the answer has no end, so no limit of time applies.
	streaming bool
	// Project is the project of the page, and Right the viewer's right in it. Both are zero on pages without a project.
	Project checks.Project
	Right   checks.Right
	// live follows the project, and Version is that from before anything was read. An open page that asks again is a
	// refresh.
	live    *live.Follower
	Version string
	Refresh bool
	// Check is the check of the page, on pages below /checks/.
	Check checks.Check
	// given is what the page "prove" has sent, or nil.
	given url.Values
}

// Ctx is the context of the request.
func (q *Request) Ctx() context.Context { return q.R.Context() }

// Handler answers a request, or returns an error, which becomes a page.
type Handler func(q *Request) error

// OrNew answers with fresh if a parameter of the path is "new".
func OrNew(param string, fresh, existing Handler) Handler {
	return func(q *Request) error {
		if q.R.PathValue(param) == "new" {
			return fresh(q)
		}
		return existing(q)
	}
}

// Errors that become pages. Those of the monitor and of package checks do as well.
var (
	ErrForbidden = errors.New("the viewer may not do this")
	ErrBadForm   = errors.New("the form cannot be read")
)

// Refusal is the error of a request that is refused, in the words of its page.
type Refusal struct {
	Status      int
	Title, Text string
}

func (r Refusal) Error() string { return r.Text }

// MaxForm bounds the body of a form in bytes.
const MaxForm = 1 << 20

// signedIn finds out who sends the request, and loads the project and the check that its path names. A project that the
// viewer may not see does not exist for them. Pages that need more than [checks.Read] belong to a project.
func signedIn(h Handler, least checks.Right) Handler {
	page := counted(h)
	return func(q *Request) (err error) {
		if q.Access, err = q.Authorize(q.W, q.R); err != nil {
			return err
		}
		if only := q.Access.Only; len(only) > 0 && !slices.Contains(only, q.route) {
			return q.restrict()
		}
		if text := q.R.PathValue("check"); text != "" {
			if err := q.openCheck(text); err != nil {
				return err
			}
		}
		if text := q.R.PathValue("project"); text != "" {
			id, err := uuid.Parse(text)
			if err != nil {
				return checks.ErrNotFound
			}
			if err := q.open(id); err != nil {
				return err
			}
		}
		if least > checks.Read && q.Right < least {
			return ErrForbidden
		}
		q.R = q.R.WithContext(audit.WithActor(q.Ctx(), q.Access.Actor(q.Project.ID, q.Address(q.R))))
		if q.R.Method == http.MethodGet && q.Project.ID != uuid.Nil {
			q.live = q.lives.Follow(q.Project.ID)
			q.Version = q.live.Version()
			known := q.R.Header.Get("Rollcall-Version")
			if q.Refresh = known != ""; known == q.Version {
				q.W.WriteHeader(http.StatusNoContent)
				return nil
			}
			if q.Refresh {
				return q.share(page)
			}
		}
		return page(q)
	}
}

// restrict leads a viewer who may open only some pages to the first of them. What they have sent is kept.
func (q *Request) restrict() error {
	to := q.Base + q.Access.Only[0]
	if q.R.Method != http.MethodPost {
		q.Lead(to)
		return nil
	}
	page := errorPage{Title: "Second factor required", Text: "This server requires a second factor. Set one up, and then send this again.", Held: q.held(), To: q.R.URL.RequestURI(), SignIn: to, SignInText: "Set it up in another tab"}
	return q.RenderStatus(http.StatusForbidden, "error", page.Title, page)
}

// tooManyError reports that a viewer asks for more than Config.RateLimit pages.
type tooManyError struct{ wait time.Duration }

func (e tooManyError) Error() string { return "too many requests" }

// counted counts a page that is made, and parses the form of an action.
func counted(h Handler) Handler {
	return func(q *Request) error {
		if wait := q.pages.Wait(q.countedBy()); wait > 0 {
			return tooManyError{wait}
		}
		if q.R.Method == http.MethodPost {
			if err := q.R.ParseForm(); err != nil {
				return FormError(err)
			}
			q.takeGiven()
			if err := q.takeHeld(); err != nil {
				return err
			}
		}
		return h(q)
	}
}

// openCheck loads the check that a path names, by its unique key or its identifier. Pages link by the unique key
// (server/API.md section 2.1), because the identifier is part of the address that takes pings.
func (q *Request) openCheck(text string) (err error) {
	if len(text) == 36 {
		id, err := uuid.Parse(text)
		if err != nil {
			return checks.ErrNotFound
		}
		if q.Check, err = q.Mon.Check(q.Ctx(), id); err != nil {
			return err
		}
		return q.open(q.Check.ProjectID)
	}
	for _, p := range q.Access.Projects {
		found, err := q.Mon.Project(p.ProjectID).CheckByUniqueKey(q.Ctx(), text)
		if err == nil {
			q.Check = *found.Check
			return q.open(p.ProjectID)
		}
		if !errors.Is(err, checks.ErrNotFound) {
			return err
		}
	}
	return checks.ErrNotFound
}

// open loads a project that the viewer may see.
func (q *Request) open(id uuid.UUID) (err error) {
	if q.Right = q.Access.Right(id); q.Right == checks.None {
		return checks.ErrNotFound
	}
	q.Project, err = q.Mon.Projects().ByID(q.Ctx(), id)
	return err
}

// Redirect leads the browser to a path below the base, with 303.
func (q *Request) Redirect(format string, args ...any) error {
	q.Lead(q.Base + fmt.Sprintf(format, args...))
	return nil
}

// fail answers with the page of an error.
func (s *Site) fail(q *Request, err error) {
	status, title, text := http.StatusInternalServerError, "Something went wrong", "The server could not complete the request. See its log."
	var tooLarge *http.MaxBytesError
	var tooMany tooManyError
	switch {
	case errors.Is(err, server.ErrSignedOut):
		q.askToSignIn()
		return
	case errors.Is(err, checks.ErrNotFound):
		status, title, text = http.StatusNotFound, "Page not found", "This page does not exist, or you do not have access to it."
	case errors.Is(err, ErrForbidden):
		status, title, text = http.StatusForbidden, "Not allowed", q.forbidden()
	case errors.As(err, &tooLarge):
		status, title, text = http.StatusRequestEntityTooLarge, "Too large", "The form is larger than 1 MB."
	case errors.As(err, &tooMany):
		seconds := int(math.Ceil(tooMany.wait.Seconds()))
		q.W.Header().Set("Retry-After", strconv.Itoa(seconds))
		status, title = http.StatusTooManyRequests, "Too many requests"
		text = "You have requested too many pages. Try again in " + prose.Count(seconds, "second") + "."
	case errors.Is(err, ErrBadForm):
		status, title, text = http.StatusBadRequest, "Bad request", "The form could not be read. Go back and try again."
	case errors.Is(err, checks.ErrBodyCorrupt): // the monitor has logged it
		status, title, text = http.StatusBadGateway, "Output altered", "The object storage returned something else than the job sent. See the log of the server."
	case errors.Is(err, checks.ErrBodyUnavailable):
		status, title, text = http.StatusServiceUnavailable, "Temporarily unavailable", "The object storage is not responding. Try again in a moment."
		s.logOutage(q, &s.storageLog, err)
	case errors.Is(err, checks.ErrUnavailable):
		status, title, text = http.StatusServiceUnavailable, "Temporarily unavailable", "The database is not responding. Try again in a moment."
		s.logOutage(q, &s.outageLog, err)
	case errors.Is(err, context.DeadlineExceeded):
		status, title, text = http.StatusServiceUnavailable, "Took too long", "The server stopped working on this request, because it took too long. Try again in a moment."
		s.logOutage(q, &s.outageLog, err)
	default:
		if refusal, ok := errors.AsType[Refusal](err); ok {
			status, title, text = refusal.Status, refusal.Title, refusal.Text
			break
		}
		if field, ok := errors.AsType[*checks.FieldError](err); ok {
			status, title, text = http.StatusBadRequest, "Refused", field.Error()+"."
			break
		}
		s.faultLog.Log(s.Log, slog.LevelError, q.route, "cannot answer a request", "route", q.route, "duration", time.Since(q.begin), "error", err)
	}
	page := errorPage{Title: title, Text: text}
	if status >= http.StatusInternalServerError || status == http.StatusTooManyRequests {
		page.Held, page.To = q.held(), q.R.URL.RequestURI()
	}
	q.RenderStatus(status, "error", title, page)
}

// errorPage is the data of the page of an error. Held is the form that can be sent again, and To where. SignIn is where the
// viewer signs in before, or "", with the words of that link.
type errorPage struct{ Title, Text, Held, To, SignIn, SignInText string }

// logOutage logs that the database or the object storage is unavailable. Every request fails then, so few are logged.
func (s *Site) logOutage(q *Request, lines *limit.Lines, err error) {
	unlogged, ok := lines.Pass(s.Mon.Now())
	if !ok {
		return
	}
	attributes := []any{"route", q.route, "duration", time.Since(q.begin), "error", err}
	if unlogged > 0 {
		attributes = append(attributes, "unlogged", unlogged)
	}
	s.Log.ErrorContext(q.Ctx(), "cannot answer a request", attributes...)
}

// logLate logs a request that was answered after its time, or not at all: it may be that nobody waited for it.
func (s *Site) logLate(q *Request) {
	took := time.Since(q.begin)
	if took < limit.AnswerTime || q.streaming {
		return
	}
	if unlogged, ok := s.lateLog.Pass(s.Mon.Now()); ok {
		s.Log.WarnContext(q.Ctx(), "a request took too long", "route", q.route, "duration", took, "unlogged", unlogged)
	}
}

// askToSignIn answers a request of a viewer who is not signed in.
func (q *Request) askToSignIn() {
	to := q.Config.SignInURL
	held := q.held()
	if q.Fetches() {
		if !q.Config.ForeignSignIn() {
			to = q.Base + "/signin"
		}
		q.W.Header().Set("Rollcall-Location", to)
		_ = q.RenderStatus(http.StatusUnauthorized, "error", "Not signed in", errorPage{Title: "Not signed in", Text: "Sign in to save this."})
		return
	}
	if held != "" && q.Config.ForeignSignIn() {
		text := "Sign in again, in another tab, and then send what you typed."
		_ = q.RenderStatus(http.StatusUnauthorized, "error", "Not signed in", errorPage{Title: "Not signed in", Text: text, Held: held, To: q.R.URL.RequestURI(), SignIn: to})
		return
	}
	if held != "" {
		if err := q.SignInPage(q, held); err != nil {
			q.Site.fail(q, err)
		}
		return
	}
	if !q.Config.ForeignSignIn() {
		to = q.Base + "/signin"
		if q.R.Method == http.MethodGet && q.R.URL.Path != q.Base+"/" {
			to += "?next=" + url.QueryEscape(q.R.URL.RequestURI())
		}
	}
	if to == "" {
		_ = q.RenderStatus(http.StatusUnauthorized, "error", "Not signed in", errorPage{Title: "Not signed in", Text: "Sign in to see this page."})
		return
	}
	q.Lead(to)
}

// forbidden says why the viewer may not do something, and who helps.
func (q *Request) forbidden() string {
	switch {
	case q.Config.ForeignSignIn():
		return "You do not have the right to do this in this project."
	case q.Access.Person == nil && q.Right == checks.Read:
		return "You can view this project but not change it. Sign in with a read-write key to make changes."
	case q.Access.Person == nil && q.Right == checks.Edit:
		return "You can edit this project but do not own it. Sign in with an admin key to manage its keys, rename it or delete it."
	case q.Access.Person == nil:
		return "This needs an account. Sign in with an e-mail address instead of a key."
	case q.Project.ID == uuid.Nil:
		return "Only administrators of this installation can open this page."
	}
	return "Your role in this project does not allow this. Ask one of its owners."
}

// FormError keeps the error of a form that is too large, and turns others into ErrBadForm.
func FormError(err error) error {
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return err
	}
	return ErrBadForm
}

// zoneCookie has the name of the viewer's time zone, which a script of ours sets.
const zoneCookie = "rollcall_zone"

// Clock returns the viewer's clock, of 24 hours unless the account says 12.
func (q *Request) Clock() words.Clock {
	p := q.Access.Person
	return words.Clock{Zone: q.zone(), TwelveHours: p != nil && p.Clock == 12}
}

// zone returns the viewer's time zone: that of the account, or that of the browser, or UTC until a script has said which.
func (q *Request) zone() *time.Location {
	if p := q.Access.Person; p != nil && p.Zone != "" {
		if zone, err := schedule.LoadLocation(p.Zone); err == nil {
			return zone
		}
	}
	if name := q.Kept(q.R, zoneCookie); name != "" && len(name) < 64 {
		if zone, err := schedule.LoadLocation(name); err == nil {
			return zone
		}
	}
	return time.UTC
}

// OwnZone returns the time zone of the check of the page, or the viewer's for a check without a schedule: an interval is the
// same in every zone.
func (q *Request) OwnZone() *time.Location {
	if q.Check.IsCron() {
		if zone, err := schedule.LoadLocation(q.Check.TZ); err == nil {
			return zone
		}
	}
	return q.zone()
}
