package accounts

import (
	"errors"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/audit"
	"github.com/rollcall-dev/rollcall/server"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/session"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/ui"
	"github.com/rollcall-dev/rollcall/server/internal/limit"
	"github.com/rollcall-dev/rollcall/server/internal/sessions"
	"github.com/rollcall-dev/rollcall/server/people"
)

// header is the trust in a header by which a proxy says who sends a request.
type header struct {
	name string
	// lies and mistakes limit the lines about headers of strangers, and of proxies that send something else.
	lies, mistakes limit.Lines
}

func newHeader(name string) *header {
	return &header{name: name, lies: limit.Lines{Interval: time.Minute}, mistakes: limit.Lines{Interval: time.Minute}}
}

// errNobody is the page while there are no accounts.
var errNobody = ui.Refusal{
	Status: http.StatusForbidden, Title: "Nobody has an account yet",
	Text: "Create the first administrator before the proxy signs people in. Open the link that the server printed when it first started, or run: rollcall user create EMAIL --admin",
}

// email returns the address that a trusted proxy sends, or "".
func (a *Accounts) email(r *http.Request) string {
	values := r.Header.Values(a.header.name)
	if len(values) == 0 {
		return ""
	}
	now := a.site.Mon.Now()
	if !a.site.Proxies.Trusts(r) {
		if unlogged, ok := a.header.lies.Pass(now); ok {
			a.site.Log.WarnContext(r.Context(), "ignored the header that signs people in: it was not sent by one of the trusted proxies",
				"header", a.header.name, "peer", r.RemoteAddr, "unlogged", unlogged)
		}
		return ""
	}
	email := strings.TrimSpace(values[0])
	unknown := !utf8.ValidString(email) || strings.ContainsRune(email, utf8.RuneError) // whom it names
	if len(values) > 1 || email != "" && !strings.Contains(email, "@") || unknown {
		a.mistaken(r, len(values))
		return ""
	}
	return email
}

// mistaken logs that a proxy sends something else than an address.
func (a *Accounts) mistaken(r *http.Request, values int) {
	if unlogged, ok := a.header.mistakes.Pass(a.site.Mon.Now()); ok {
		a.site.Log.WarnContext(r.Context(), "ignored the header that signs people in: it must have one value, an e-mail address in UTF-8; let the proxy replace what clients send",
			"header", a.header.name, "values", values, "unlogged", unlogged)
	}
}

// byHeader returns who sends a request by the word of a trusted proxy. The error is [server.ErrSignedOut] if the proxy says
// nothing. The page gets a session, so that a request that the proxy does not mark does not end it.
func (a *Accounts) byHeader(w http.ResponseWriter, r *http.Request) (people.Person, error) {
	email := a.email(r)
	if email == "" {
		return people.Person{}, server.ErrSignedOut
	}
	person, err := a.people.ByEmail(r.Context(), email)
	if errors.Is(err, checks.ErrNotFound) || err == nil && person.Unverified {
		person, err = a.createByHeader(r, email)
	}
	before, q := person, &ui.Request{Site: a.site, W: w, R: r}
	if err == nil && (!person.Proved || person.NeedsLink) {
		ctx := audit.WithActor(from(r).Context(), audit.Actor{Kind: audit.Person, Address: a.site.Address(r)})
		person, err = a.people.Prove(ctx, person.ID)
	}
	if err != nil {
		return people.Person{}, err
	}
	sayEnded(q, before, person)
	current, err := a.sessions.Current(r)
	switch {
	case err != nil && !errors.Is(err, server.ErrSignedOut):
		return people.Person{}, err
	case err == nil && current.Person == person.ID && !current.Pending:
		return person, a.sessions.Renew(w, r, current)
	case session.AskedByPage(r):
		return person, nil
	}
	if err := a.start(q, person, strong); !errors.Is(err, people.ErrChanged) {
		return person, err
	}
	return person, nil // the next request begins the session
}

// createByHeader creates an account, without roles, for a person that the proxy names.
func (a *Accounts) createByHeader(r *http.Request, email string) (people.Person, error) {
	ctx := r.Context()
	all, err := a.people.List(ctx)
	if err != nil {
		return people.Person{}, err
	}
	if len(all) == 0 {
		return people.Person{}, errNobody
	}
	ctx = audit.WithActor(ctx, audit.Actor{Kind: audit.Person, Name: email, Address: a.site.Address(r)})
	person, _, err := a.people.Create(ctx, people.Spec{Email: email})
	if errors.Is(err, checks.ErrExists) { // another request was first
		return a.people.ByEmail(ctx, email)
	}
	if _, ok := errors.AsType[*checks.FieldError](err); ok {
		a.mistaken(r, 1)
		return people.Person{}, server.ErrSignedOut
	}
	return person, err
}

// personOf returns the person of a session. The error is [server.ErrSignedOut] for one that began with a password alone although the
// person must use a second factor, and has one.
func (a *Accounts) personOf(w http.ResponseWriter, r *http.Request, current sessions.Session) (people.Person, error) {
	if current.Pending || current.Person == uuid.Nil {
		return people.Person{}, server.ErrSignedOut
	}
	person, err := a.people.ByID(r.Context(), current.Person)
	if errors.Is(err, checks.ErrNotFound) {
		err = server.ErrSignedOut
	}
	if err != nil {
		return people.Person{}, err
	}
	if !current.Strong && a.people.NeedsFactor(person) && person.HasFactor() {
		return people.Person{}, server.ErrSignedOut
	}
	return person, a.sessions.Renew(w, r, current)
}
