// Package session keeps viewers signed in, people and holders of API keys alike. It has the pages that sign in with a key and out,
// and those of API keys.
package session

import (
	"context"
	"crypto/rand"
	"embed"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/records"
	"github.com/rollcall-dev/rollcall/server"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/ui"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/words"
	"github.com/rollcall-dev/rollcall/server/internal/limit"
	"github.com/rollcall-dev/rollcall/server/internal/sessions"
)

//go:embed templates/*.html
var templates embed.FS

const (
	cookie = "rollcall_session"
	// Recheck is how often an open page asks whether its session has ended.
	Recheck = 5 * time.Second
	// maxKeys bounds the keys of a session, and so the projects that a viewer sees at once.
	maxKeys = 20
	// maxAgent bounds the name of a browser that a session keeps.
	maxAgent = 200
)

const (
	// Idle is how long the session of a person lasts after the last visit, and Lifetime how long in any case.
	Idle, Lifetime = 12 * time.Hour, 30 * 24 * time.Hour
	// pendingAge is how long a person has for the code after the password.
	pendingAge = 10 * time.Minute
	// keyIdle is how long a session with keys lasts after the last visit, and KeyLifetime how long a key signs in in any case.
	keyIdle, KeyLifetime = 14 * 24 * time.Hour, 90 * 24 * time.Hour
	// A visit is noted if the last one was noted so long ago, so that not every page writes.
	noted, keyNoted = 5 * time.Minute, 24 * time.Hour
)

// Sessions keeps viewers signed in. A browser has one session at a time. Each request looks it up, and the keys that it has, so that
// its end holds at once on every server.
type Sessions struct {
	// Ways are the ways to sign in that the page offers: with a key, or what accounts set.
	Ways func(context.Context) (Ways, error)

	site     *ui.Site
	store    *sessions.Store
	refusals limit.Repeats // limits the log lines about those who were not signed in
}

// New adds the pages of keys to a site, and returns its sessions.
func New(site *ui.Site) *Sessions {
	s := &Sessions{site: site, store: sessions.New(site.Mon)}
	s.Ways = func(context.Context) (Ways, error) { return Ways{Key: true}, nil }
	site.SignInPage = func(q *ui.Request, held string) error {
		return s.AskToSignIn(q, http.StatusUnauthorized, SignIn{Held: held})
	}
	site.AddTemplates(templates, nil)
	s.keyRoutes()
	return s
}

// ID returns the identifier of the session of a request.
func (s *Sessions) ID(r *http.Request) string { return sessions.ID(s.site.Kept(r, cookie)) }

// Current returns the session of a request, or [server.ErrSignedOut].
func (s *Sessions) Current(r *http.Request) (sessions.Session, error) {
	token := s.site.Kept(r, cookie)
	if token == "" {
		return sessions.Session{}, server.ErrSignedOut
	}
	found, err := s.store.Find(r.Context(), token)
	if errors.Is(err, checks.ErrNotFound) {
		err = server.ErrSignedOut
	}
	return found, err
}

// until returns when a session ends unless there is another visit.
func until(c sessions.Session) time.Time {
	switch {
	case c.Pending:
		return c.CreatedAt.Add(pendingAge)
	case len(c.Keys) > 0:
		return earlier(c.SeenAt.Add(keyIdle), c.Entered(c.Keys[0]).Add(KeyLifetime)) // the newest
	}
	return earlier(c.SeenAt.Add(Idle), c.CreatedAt.Add(Lifetime))
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// Start replaces the session of the browser by a new one, under a new token. If check fails in its transaction, Start changes nothing
// and returns that error.
func (s *Sessions) Start(q *ui.Request, fresh sessions.Session, check func(ctx context.Context, tx records.Tx) error) error {
	fresh.CreatedAt = q.Mon.Now()
	err := s.begin(q, fresh, s.store.Open, check)
	if err == nil && !fresh.Pending {
		s.log(q, "signed in", fresh)
	}
	return err
}

// log logs what has become of the session of a request, which names who has it.
func (s *Sessions) log(q *ui.Request, what string, of sessions.Session) {
	who := []any{"person", of.Person}
	if len(of.Keys) > 0 {
		who = []any{"key", of.Keys[0].Key, "project", of.Keys[0].Project}
	}
	s.site.Log.InfoContext(q.Ctx(), what, append(who, "session", s.ID(q.R), "address", q.Address(q.R))...)
}

// Prove lets the session of the browser go on under a new token, because its person has just proved who they are. The error is that of
// check in its transaction, or [server.ErrSignedOut] if the session has ended meanwhile.
func (s *Sessions) Prove(q *ui.Request, current sessions.Session, check func(ctx context.Context, tx records.Tx) error) error {
	current.ProvedAt = q.Mon.Now()
	err := s.begin(q, current, s.store.Replace, check)
	if errors.Is(err, checks.ErrNotFound) {
		err = server.ErrSignedOut
	}
	if err == nil {
		s.log(q, "confirmed a session", current)
	}
	return err
}

type opener func(ctx context.Context, token, former string, fresh sessions.Session, check func(ctx context.Context, tx records.Tx) error) error

// begin gives the browser a new token, which is that of the request from then on.
func (s *Sessions) begin(q *ui.Request, fresh sessions.Session, open opener, check func(ctx context.Context, tx records.Tx) error) error {
	now := q.Mon.Now()
	fresh.SeenAt, fresh.Address, fresh.Agent = now, q.Address(q.R), words.Cut(q.R.UserAgent(), maxAgent)
	fresh.Until = until(fresh)
	token := rand.Text() + rand.Text()
	if err := open(q.Ctx(), token, q.Kept(q.R, cookie), fresh, check); err != nil {
		return err
	}
	q.KeepNow(cookie, token, fresh.Until.Sub(now))
	return nil
}

// Renew notes a visit. What an open page asks for by itself is a visit of a key, for screens on walls, and none of a person.
func (s *Sessions) Renew(w http.ResponseWriter, r *http.Request, c sessions.Session) error {
	age, visit := noted, !AskedByPage(r)
	if len(c.Keys) > 0 {
		age, visit = keyNoted, !isStream(r)
	}
	now := s.site.Mon.Now()
	if !visit || now.Sub(c.SeenAt) < age {
		return nil
	}
	c.SeenAt, c.Address = now, s.site.Address(r)
	c.Until = until(c)
	token := s.site.Kept(r, cookie)
	if err := s.store.Renew(r.Context(), token, c); err != nil {
		return err
	}
	s.site.Keep(w, cookie, token, c.Until.Sub(now))
	return nil
}

// AskedByPage reports whether an open page asks by itself.
func AskedByPage(r *http.Request) bool { return r.Header.Get("Rollcall-Version") != "" || isStream(r) }

// isStream reports whether a request is for the stream of an open page, which renews no cookie.
func isStream(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, "/events") }

// End signs the sender of a request out.
func (s *Sessions) End(q *ui.Request) error {
	token := q.Kept(q.R, cookie)
	if token == "" {
		return nil
	}
	if err := s.store.End(q.Ctx(), token); err != nil {
		return err
	}
	q.Keep(q.W, cookie, "", -1)
	return nil
}

// access returns what the keys of the session of a request allow.
func (s *Sessions) access(w http.ResponseWriter, r *http.Request) (ui.Access, error) {
	current, err := s.Current(r)
	if err != nil {
		return ui.Access{}, err
	}
	return s.OfKeys(w, r, current)
}

// OfKeys returns what the keys of a session allow. The error is [server.ErrSignedOut] if none exists any more.
func (s *Sessions) OfKeys(w http.ResponseWriter, r *http.Request, current sessions.Session) (ui.Access, error) {
	now := s.site.Mon.Now()
	access := ui.Access{Keys: map[uuid.UUID]checks.Key{}, Entered: map[uuid.UUID]time.Time{}}
	known := map[uuid.UUID][]checks.Key{}
	var valid []sessions.Key
	for _, ref := range current.Keys {
		if known[ref.Project] == nil {
			list, err := s.site.Mon.Project(ref.Project).Keys(r.Context())
			if err != nil && !errors.Is(err, checks.ErrNotFound) {
				return ui.Access{}, err
			}
			known[ref.Project] = list
		}
		i := slices.IndexFunc(known[ref.Project], func(k checks.Key) bool { return k.ID == ref.Key })
		ref.At = current.Entered(ref)
		if i < 0 || known[ref.Project][i].Expired(now) || !now.Before(ref.At.Add(KeyLifetime)) {
			continue
		}
		valid = append(valid, ref)
		add(&access, known[ref.Project][i], ref.At)
	}
	if len(valid) == 0 {
		return ui.Access{}, server.ErrSignedOut
	}
	current.Keys = valid
	return access, s.Renew(w, r, current)
}

// add adds what a key allows, which was entered at an instant, to what others do. Of two keys of a project, the one that allows more
// counts.
func add(access *ui.Access, key checks.Key, at time.Time) {
	right := key.Scope.Right()
	if right <= access.Right(key.ProjectID) {
		return
	}
	access.Keys[key.ProjectID], access.Entered[key.ProjectID] = key, at
	i := slices.IndexFunc(access.Projects, func(p server.ProjectAccess) bool { return p.ProjectID == key.ProjectID })
	if i < 0 {
		i = len(access.Projects)
		access.Projects = append(access.Projects, server.ProjectAccess{ProjectID: key.ProjectID})
	}
	access.Projects[i].Right = right
}
