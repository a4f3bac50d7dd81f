// Package session has the pages that sign people in and out, and those of API keys.
package session

import (
	"context"
	"embed"
	"encoding/binary"
	"errors"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/server"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/ui"
)

//go:embed templates/*.html
var templates embed.FS

const (
	sessionCookie = "rollcall_session"
	// sessionAge is how long a session lasts after the last visit, to within renewAfter.
	sessionAge = 14 * 24 * time.Hour
	// renewAfter is the age at which a visit renews a session.
	renewAfter = 24 * time.Hour
	// maxSessionKeys bounds the keys of a session, and so the projects that a viewer sees at once.
	maxSessionKeys = 20
	// keysAge is how long the list of a project's keys is kept, and whether a session has ended. Another server refuses
	// revoked keys and sessions that were signed out within this time.
	keysAge = 5 * time.Second
)

// Sessions keeps viewers signed in by a signed cookie that names API keys. The server stores nothing for a session until
// somebody signs out. Signing out ends the session of one browser: all cookies that it ever got, and no other's. A key that
// is revoked takes no part in any session.
type Sessions struct {
	site  *ui.Site
	mu    sync.Mutex
	keys  map[uuid.UUID]knownKeys
	ended map[uuid.UUID]knownEnd
}

// knownEnd says whether a session had ended at an instant.
type knownEnd struct {
	ended bool
	at    time.Time
}

// maxKnownEnds bounds the sessions that are remembered.
const maxKnownEnds = 10_000

// knownKeys are the keys of a project, as they were at an instant.
type knownKeys struct {
	keys []checks.Key
	at   time.Time
}

// session is what the cookie says.
type session struct {
	id      uuid.UUID // the same for all cookies of a browser until it signs out
	expires time.Time
	keys    []keyRef
}

// keyRef names an API key of a project.
type keyRef struct{ project, key uuid.UUID }

// New adds the pages to a site, and returns its sessions.
func New(site *ui.Site) *Sessions {
	s := &Sessions{site: site, keys: map[uuid.UUID]knownKeys{}, ended: map[uuid.UUID]knownEnd{}}
	site.AddTemplates(templates, nil)
	s.keyRoutes()
	return s
}

// Access returns what the session of a request allows, and renews its cookie.
func (s *Sessions) Access(w http.ResponseWriter, r *http.Request) (ui.Access, error) {
	current, err := s.read(r)
	if err != nil {
		return ui.Access{}, err
	}
	access := ui.Access{Keys: map[uuid.UUID]checks.Key{}}
	valid := current.keys[:0]
	for _, ref := range current.keys {
		key, err := s.key(r.Context(), ref)
		if errors.Is(err, checks.ErrNotFound) {
			continue
		}
		if err != nil {
			return ui.Access{}, err
		}
		valid = append(valid, ref)
		right := key.Scope.Right()
		if right <= access.Right(ref.project) {
			continue
		}
		access.Keys[ref.project] = key
		i := slices.IndexFunc(access.Projects, func(p server.ProjectAccess) bool { return p.ProjectID == ref.project })
		if i < 0 {
			i = len(access.Projects)
			access.Projects = append(access.Projects, server.ProjectAccess{ProjectID: ref.project})
		}
		access.Projects[i].Right = right
	}
	if len(valid) == 0 {
		return ui.Access{}, server.ErrSignedOut
	}
	if now := s.site.Mon.Now(); current.expires.Sub(now) < sessionAge-renewAfter {
		if err := s.write(w, r, current.id, valid); err != nil {
			return ui.Access{}, err
		}
	}
	return access, nil
}

// add signs the sender of a request in with one more key.
func (s *Sessions) add(w http.ResponseWriter, r *http.Request, key checks.Key) error {
	current, err := s.read(r)
	if err != nil && !errors.Is(err, server.ErrSignedOut) {
		return err
	}
	ref := keyRef{project: key.ProjectID, key: key.ID}
	keys := slices.DeleteFunc(current.keys, func(k keyRef) bool { return k == ref })
	keys = append([]keyRef{ref}, keys...)
	if current.id == uuid.Nil {
		current.id = uuid.New()
	}
	return s.write(w, r, current.id, keys[:min(len(keys), maxSessionKeys)])
}

// End signs the sender of a request out.
func (s *Sessions) End(q *ui.Request) error {
	if q.Kept(q.R, sessionCookie) == "" {
		return nil
	}
	current, err := s.read(q.R)
	if err != nil && !errors.Is(err, server.ErrSignedOut) {
		return err
	}
	if err == nil {
		if err := s.site.Mon.Installation().EndSession(q.Ctx(), current.id, s.site.Mon.Now().Add(sessionAge)); err != nil {
			return err
		}
		s.note(current.id, true)
	}
	q.Keep(q.W, sessionCookie, "", -1)
	return nil
}

// hasEnded reports whether somebody has signed out of a session.
func (s *Sessions) hasEnded(ctx context.Context, id uuid.UUID) (bool, error) {
	s.mu.Lock()
	known, ok := s.ended[id]
	s.mu.Unlock()
	if ok && (known.ended || time.Since(known.at) <= keysAge) {
		return known.ended, nil
	}
	ended, err := s.site.Mon.Installation().SessionEnded(ctx, id)
	if err == nil {
		s.note(id, ended)
	}
	return ended, err
}

func (s *Sessions) note(id uuid.UUID, ended bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.ended) >= maxKnownEnds {
		clear(s.ended)
	}
	s.ended[id] = knownEnd{ended: ended, at: time.Now()}
}

// key returns a key that exists, or checks.ErrNotFound.
func (s *Sessions) key(ctx context.Context, ref keyRef) (checks.Key, error) {
	now := time.Now()
	s.mu.Lock()
	known, ok := s.keys[ref.project]
	s.mu.Unlock()
	if !ok || now.Sub(known.at) > keysAge {
		keys, err := s.site.Mon.Project(ref.project).Keys(ctx)
		if err != nil {
			return checks.Key{}, err
		}
		known = knownKeys{keys: keys, at: now}
		s.mu.Lock()
		s.keys[ref.project] = known
		s.mu.Unlock()
	}
	for _, key := range known.keys {
		if key.ID == ref.key {
			return key, nil
		}
	}
	return checks.Key{}, checks.ErrNotFound
}

// Forget makes the next request ask again for the keys of a project, and whether its session has ended.
func (s *Sessions) Forget(project uuid.UUID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.keys, project)
	clear(s.ended)
}

func (s *Sessions) read(r *http.Request) (session, error) {
	cookie := s.site.Kept(r, sessionCookie)
	if cookie == "" {
		return session{}, server.ErrSignedOut
	}
	body, err := s.site.Seals.Open(r.Context(), "session", cookie)
	if err != nil {
		return session{}, err
	}
	current, err := decodeSession(body, s.site.Mon.Now())
	if err != nil {
		return session{}, err
	}
	if ended, err := s.hasEnded(r.Context(), current.id); err != nil {
		return session{}, err
	} else if ended {
		return session{}, server.ErrSignedOut
	}
	return current, nil
}

func (s *Sessions) write(w http.ResponseWriter, r *http.Request, id uuid.UUID, keys []keyRef) error {
	body := binary.BigEndian.AppendUint64(nil, uint64(s.site.Mon.Now().Add(sessionAge).Unix()))
	body = append(body, id[:]...)
	for _, k := range keys {
		body = append(append(body, k.project[:]...), k.key[:]...)
	}
	text, err := s.site.Seals.Seal(r.Context(), "session", body)
	if err != nil {
		return err
	}
	s.site.Keep(w, sessionCookie, text, sessionAge)
	return nil
}

func decodeSession(body []byte, now time.Time) (session, error) {
	if len(body) < 24 || (len(body)-24)%32 != 0 {
		return session{}, server.ErrSignedOut
	}
	decoded := session{id: uuid.UUID(body[8:24]), expires: time.Unix(int64(binary.BigEndian.Uint64(body)), 0)}
	if !now.Before(decoded.expires) {
		return session{}, server.ErrSignedOut
	}
	for rest := body[24:]; len(rest) > 0; rest = rest[32:] {
		decoded.keys = append(decoded.keys, keyRef{project: uuid.UUID(rest[:16]), key: uuid.UUID(rest[16:32])})
	}
	return decoded, nil
}
