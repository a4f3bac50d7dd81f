// Package accounts lets people sign in to the dashboard with accounts of the installation, and manage them there: their
// passwords, sessions and preferences, the members of projects, and all people.
//
//	known, err := people.New(mon, nil)
//	config := &dashboard.Config{Accounts: accounts.New(known, &accounts.Config{KeySignIn: true})}
//
// A session ends after [Idle] without a visit and after [Lifetime] in any case, at sign-out, and when the password changes or
// the second factors are reset. The database keeps it, so it outlives the server, and each page looks it up, so its end holds on every server at
// once. A new role takes effect at the next request. The stream of an open page asks for both every five seconds.
package accounts

import (
	"context"
	"embed"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/audit"
	"github.com/rollcall-dev/rollcall/server"
	"github.com/rollcall-dev/rollcall/server/dashboard"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/session"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/ui"
	"github.com/rollcall-dev/rollcall/server/internal/limit"
	"github.com/rollcall-dev/rollcall/server/people"
)

//go:embed templates/*.html
var templates embed.FS

// Config configures accounts. The zero value of a field selects its default.
type Config struct {
	// KeySignIn lets people also sign in with API keys.
	KeySignIn bool
	// Provider signs people in elsewhere. Default: none.
	Provider Provider
	// Passkeys lets people sign in with passkeys. Default: none.
	Passkeys Passkeys
	// Header is the HTTP header with the e-mail address of the person that a proxy has signed in. It counts only from
	// server.Config.TrustedProxies. Default: none.
	Header string
	// Mail sends a link to the e-mail address of its person. Default: only the page shows the link, to pass on. Mails about changes of
	// passwords and the like go out by people.Config.Mail.
	Mail func(ctx context.Context, address, subject, text string) error
}

// Accounts is the value of dashboard.Config.Accounts. It belongs to one server.
type Accounts struct {
	Config
	people   *people.People
	site     *ui.Site
	sessions *session.Sessions
	// someone says that the installation has people: then the page to sign in asks for a password first.
	someone atomic.Bool
	// invitations counts new links by the project whose owners create them, or by the administrator.
	invitations *limit.Requests[uuid.UUID]
	// header is nil without Config.Header.
	header *header
	// words are the handlers of /signin/WORD beside the links.
	words map[string]map[string]ui.Handler
}

var _ dashboard.Accounts = (*Accounts)(nil)

// New returns accounts of people. It reads nothing.
func New(p *people.People, c *Config) *Accounts {
	a := &Accounts{people: p}
	if c != nil {
		a.Config = *c
	}
	if a.Header != "" {
		a.header = newHeader(a.Header)
	}
	return a
}

// Contract returns what the dashboard calls. Its type is internal, and changes with every version.
func (a *Accounts) Contract() any { return registrar{a} }

// registrar is the contract of [Accounts].
type registrar struct{ *Accounts }

// Register adds the pages to a site.
func (r registrar) Register(site *ui.Site, sessions *session.Sessions) {
	a := r.Accounts
	a.site, a.sessions = site, sessions
	a.invitations = limit.NewRequests[uuid.UUID](invitationsPerMinute, invitationsAtOnce, site.Mon.Now)
	site.AddTemplates(templates, a.templateFuncs())
	site.Authorize, site.Recheck, sessions.Ways = a.authorize, session.Recheck, a.ways
	site.Prover = prover{a}
	site.LastPerson = func(r *http.Request) uuid.UUID { return a.device(r).Person }
	a.signInRoutes()
	a.accountRoutes()
	a.memberRoutes()
	a.peopleRoutes()
	a.passkeyRoutes()
	site.Look("GET /projects", a.projectsPage)
	site.Look("POST /projects", admin(ui.Recent(a.createProject)))
}

// ways says how people can sign in here. Without people, a key is all that anybody has.
func (a *Accounts) ways(ctx context.Context) (session.Ways, error) {
	ways := session.Ways{Key: a.KeySignIn}
	if a.Provider != nil {
		ways.Provider = a.Provider.Name()
	}
	if !a.someone.Load() {
		all, err := a.people.List(ctx)
		if err != nil {
			return ways, err
		}
		a.someone.Store(len(all) > 0)
	}
	ways.Nobody, ways.Passkey = !a.someone.Load(), a.Passkeys != nil && a.someone.Load()
	ways.Password = a.someone.Load() || !ways.Key && a.Provider == nil
	return ways, nil
}

// authorize says what the person or the key of a session may see and change.
func (a *Accounts) authorize(w http.ResponseWriter, r *http.Request) (ui.Access, error) {
	if a.header != nil {
		if person, err := a.byHeader(w, r); err == nil {
			access, err := a.access(r, person)
			access.Elsewhere = true
			return access, err
		} else if !errors.Is(err, server.ErrSignedOut) {
			return ui.Access{}, err
		}
	}
	current, err := a.sessions.Current(r)
	if err != nil {
		return ui.Access{}, err
	}
	if len(current.Keys) > 0 && a.KeySignIn {
		return a.sessions.OfKeys(w, r, current)
	}
	person, err := a.personOf(w, r, current)
	if err != nil {
		return ui.Access{}, err
	}
	access, err := a.access(r, person)
	access.Person.ProvedAt = current.Proved()
	if !current.Strong && a.people.NeedsFactor(person) {
		access.Projects, access.Person.Admin, access.Only = nil, false, factorPages
	}
	return access, err
}

// access returns what a person may see and change, the projects by name.
func (a *Accounts) access(r *http.Request, p people.Person) (ui.Access, error) {
	ctx := r.Context()
	access := ui.Access{Access: server.Access{Name: p.Email}, Person: &ui.Person{
		ID: p.ID, Name: p.Name, Email: p.Email, Admin: p.Admin,
		Zone: p.Preferences.Zone, Clock: p.Preferences.Clock, FirstPage: p.Preferences.FirstPage, Theme: p.Preferences.Theme,
	}}
	if !p.Admin && len(p.Roles) == 0 {
		return access, nil
	}
	if r.Method == http.MethodPost { // what colleagues will read
		known, err := a.known(ctx, p)
		if err != nil {
			return access, err
		}
		access.Person.Known = known
	}
	projects, err := a.site.Mon.Projects().List(ctx)
	for _, project := range projects {
		if right := p.Role(project.ID).Right(); right > checks.None {
			access.Projects = append(access.Projects, server.ProjectAccess{ProjectID: project.ID, Right: right})
		}
	}
	return access, err
}

// known is the name of a person, with the e-mail address if another one has the same name. It is "" for a person without a name.
func (a *Accounts) known(ctx context.Context, p people.Person) (string, error) {
	if p.Name == "" {
		return "", nil
	}
	all, err := a.people.List(ctx)
	if slices.ContainsFunc(all, func(other people.Person) bool { return other.ID != p.ID && strings.EqualFold(other.Name, p.Name) }) {
		return p.Name + " (" + p.Email + ")", err
	}
	return p.Name, err
}

// personal answers only people with accounts, not those who signed in with a key.
func personal(h ui.Handler) ui.Handler {
	return func(q *ui.Request) error {
		if q.Access.Person == nil {
			return ui.ErrForbidden
		}
		q.R = from(q.R)
		return h(q)
	}
}

// admin answers only administrators.
func admin(h ui.Handler) ui.Handler {
	return func(q *ui.Request) error {
		if q.Access.Person == nil || !q.Access.Person.Admin {
			return ui.ErrForbidden
		}
		q.R = from(q.R)
		return h(q)
	}
}

// public parses the form of a person who is not signed in, and says where the request comes from.
func public(h ui.Handler) ui.Handler {
	return func(q *ui.Request) error {
		q.R = from(q.R.WithContext(audit.WithActor(q.Ctx(), audit.Actor{Kind: audit.Person, Address: q.Address(q.R)})))
		if q.R.Method == http.MethodPost {
			if err := q.R.ParseForm(); err != nil {
				return ui.FormError(err)
			}
		}
		return h(q)
	}
}
