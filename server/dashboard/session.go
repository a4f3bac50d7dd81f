package dashboard

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
)

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

// sessions keeps viewers signed in by a signed cookie that names API keys. The server stores nothing for a session until
// somebody signs out. Signing out ends the session of one browser: all cookies that it ever got, and no other's. A key that
// is revoked takes no part in any session.
type sessions struct {
	d      *Dashboard
	mu     sync.Mutex
	secret []byte
	keys   map[uuid.UUID]knownKeys
	ended  map[uuid.UUID]knownEnd
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

func (s *sessions) init(d *Dashboard) {
	s.d, s.keys, s.ended = d, map[uuid.UUID]knownKeys{}, map[uuid.UUID]knownEnd{}
}

// access returns what the session of a request allows, and renews its cookie.
func (s *sessions) access(w http.ResponseWriter, r *http.Request) (Access, error) {
	current, err := s.read(r)
	if err != nil {
		return Access{}, err
	}
	access := Access{keys: map[uuid.UUID]uuid.UUID{}}
	valid := current.keys[:0]
	for _, ref := range current.keys {
		key, err := s.key(r.Context(), ref)
		if errors.Is(err, checks.ErrNotFound) {
			continue
		}
		if err != nil {
			return Access{}, err
		}
		valid = append(valid, ref)
		access.keys[ref.project] = cmp.Or(access.keys[ref.project], ref.key)
		if known, ok := access.project(ref.project); !ok {
			access.Projects = append(access.Projects, ProjectAccess{ProjectID: ref.project, Edit: !key.ReadOnly})
		} else if !key.ReadOnly && !known.Edit {
			i := slices.IndexFunc(access.Projects, func(p ProjectAccess) bool { return p.ProjectID == ref.project })
			access.Projects[i].Edit = true
		}
	}
	if len(valid) == 0 {
		return Access{}, ErrSignedOut
	}
	if now := s.d.mon.Now(); current.expires.Sub(now) < sessionAge-renewAfter {
		if err := s.write(w, r, current.id, valid); err != nil {
			return Access{}, err
		}
	}
	return access, nil
}

// add signs the sender of a request in with one more key.
func (s *sessions) add(w http.ResponseWriter, r *http.Request, key checks.Key) error {
	current, err := s.read(r)
	if err != nil && !errors.Is(err, ErrSignedOut) {
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

// end signs the sender of a request out.
func (s *sessions) end(r *http.Request) error {
	current, err := s.read(r)
	if errors.Is(err, ErrSignedOut) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := s.d.mon.EndSession(r.Context(), current.id, s.d.mon.Now().Add(sessionAge)); err != nil {
		return err
	}
	s.note(current.id, true)
	return nil
}

// hasEnded reports whether somebody has signed out of a session.
func (s *sessions) hasEnded(ctx context.Context, id uuid.UUID) (bool, error) {
	s.mu.Lock()
	known, ok := s.ended[id]
	s.mu.Unlock()
	if ok && (known.ended || time.Since(known.at) <= keysAge) {
		return known.ended, nil
	}
	ended, err := s.d.mon.SessionEnded(ctx, id)
	if err == nil {
		s.note(id, ended)
	}
	return ended, err
}

func (s *sessions) note(id uuid.UUID, ended bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.ended) >= maxKnownEnds {
		clear(s.ended)
	}
	s.ended[id] = knownEnd{ended: ended, at: time.Now()}
}

// key returns a key that exists, or checks.ErrNotFound.
func (s *sessions) key(ctx context.Context, ref keyRef) (checks.Key, error) {
	now := time.Now()
	s.mu.Lock()
	known, ok := s.keys[ref.project]
	s.mu.Unlock()
	if !ok || now.Sub(known.at) > keysAge {
		keys, err := s.d.mon.Keys(ctx, ref.project)
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

// forget makes the next request ask for the keys of a project again.
func (s *sessions) forget(project uuid.UUID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.keys, project)
}

func (s *sessions) read(r *http.Request) (session, error) {
	cookie, err := r.Cookie(sessionCookie)
	if err != nil {
		return session{}, ErrSignedOut
	}
	body, err := s.open(r.Context(), "session", cookie.Value)
	if err != nil {
		return session{}, err
	}
	current, err := decodeSession(body, s.d.mon.Now())
	if err != nil {
		return session{}, err
	}
	if ended, err := s.hasEnded(r.Context(), current.id); err != nil {
		return session{}, err
	} else if ended {
		return session{}, ErrSignedOut
	}
	return current, nil
}

func (s *sessions) write(w http.ResponseWriter, r *http.Request, id uuid.UUID, keys []keyRef) error {
	body := binary.BigEndian.AppendUint64(nil, uint64(s.d.mon.Now().Add(sessionAge).Unix()))
	body = append(body, id[:]...)
	for _, k := range keys {
		body = append(append(body, k.project[:]...), k.key[:]...)
	}
	text, err := s.seal(r.Context(), "session", body)
	if err != nil {
		return err
	}
	http.SetCookie(w, s.d.cookie(sessionCookie, text, sessionAge))
	return nil
}

func decodeSession(body []byte, now time.Time) (session, error) {
	if len(body) < 24 || (len(body)-24)%32 != 0 {
		return session{}, ErrSignedOut
	}
	decoded := session{id: uuid.UUID(body[8:24]), expires: time.Unix(int64(binary.BigEndian.Uint64(body)), 0)}
	if !now.Before(decoded.expires) {
		return session{}, ErrSignedOut
	}
	for rest := body[24:]; len(rest) > 0; rest = rest[32:] {
		decoded.keys = append(decoded.keys, keyRef{project: uuid.UUID(rest[:16]), key: uuid.UUID(rest[16:32])})
	}
	return decoded, nil
}

// seal signs a message for one purpose, and open returns it. The error of open is [ErrSignedOut] for a message that was
// not sealed for that purpose by a server on this database.
func (s *sessions) seal(ctx context.Context, purpose string, message []byte) (string, error) {
	secret, err := s.signingKey(ctx)
	if err != nil {
		return "", err
	}
	encoded := base64.RawURLEncoding.EncodeToString(message)
	return encoded + "." + base64.RawURLEncoding.EncodeToString(sign(secret, purpose, encoded)), nil
}

func (s *sessions) open(ctx context.Context, purpose, sealed string) ([]byte, error) {
	secret, err := s.signingKey(ctx)
	if err != nil {
		return nil, err
	}
	encoded, signature, _ := strings.Cut(sealed, ".")
	given, err := base64.RawURLEncoding.DecodeString(signature)
	if err != nil || !hmac.Equal(given, sign(secret, purpose, encoded)) {
		return nil, ErrSignedOut
	}
	message, err := base64.RawURLEncoding.DecodeString(encoded)
	if err != nil {
		return nil, ErrSignedOut
	}
	return message, nil
}

func sign(secret []byte, purpose, encoded string) []byte {
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte(purpose + "\x00" + encoded))
	return mac.Sum(nil)
}

// signingKey returns the secret of the installation that signs sessions.
func (s *sessions) signingKey(ctx context.Context) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.secret == nil {
		text, err := s.d.mon.Secret(ctx, "dashboard_key")
		if err != nil {
			return nil, err
		}
		s.secret = []byte(text)
	}
	return s.secret, nil
}
