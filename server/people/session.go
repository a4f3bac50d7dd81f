package people

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/audit"
	"github.com/rollcall-dev/rollcall/checks/records"
)

// Session is a browser in which a person is signed in. Nobody can sign in with its ID.
type Session struct {
	ID                       string
	CreatedAt, SeenAt, Until time.Time
	Address, Agent           string
}

// SessionData is what the database keeps of a session.
type SessionData struct {
	Person    uuid.UUID `json:"person"`
	CreatedAt time.Time `json:"created_at"`
	SeenAt    time.Time `json:"seen_at"`
	Deadline  time.Time `json:"deadline"`
	Address   string    `json:"address"`
	Agent     string    `json:"agent"`
	// Pending says that the password was right and that the code is still missing.
	Pending bool `json:"pending,omitempty"`
	// Revision is [Person].Revision as the sign-in has read it.
	Revision int64 `json:"revision,omitempty"`
}

// idLength is the length of the identifier of a session: the first characters of the hash of its token.
const idLength = 16

// SessionID returns the identifier of the session with a token.
func SessionID(token string) string { return hashOf(token)[:idLength] }

// Sessions returns the sessions of a person that have not ended.
func (p *People) Sessions(ctx context.Context, person uuid.UUID) ([]Session, error) {
	kind := kindSession
	found, err := p.db.Records(ctx, p.now(), records.Query{Kind: &kind, Owner: &person})
	list := []Session{}
	for _, r := range found {
		var d SessionData
		if err := json.Unmarshal(r.Value, &d); err != nil {
			return nil, err
		}
		if !d.Pending {
			list = append(list, Session{ID: r.Key[:idLength], CreatedAt: d.CreatedAt, SeenAt: d.SeenAt, Until: r.Until, Address: d.Address, Agent: d.Agent})
		}
	}
	return list, err
}

// EndSession ends a session of a person. The error is [checks.ErrNotFound] if there is none with the identifier.
func (p *People) EndSession(ctx context.Context, person uuid.UUID, id string) error {
	if len(id) != idLength {
		return checks.ErrNotFound
	}
	return p.update(ctx, person, func(ctx context.Context, tx records.Tx, d *document) (bool, []audit.Entry, error) {
		n, err := p.deleteOwned(ctx, tx, kindSession, person, func(r records.Record) bool { return !strings.HasPrefix(r.Key, id) })
		if err == nil && n == 0 {
			err = checks.ErrNotFound
		}
		return false, []audit.Entry{p.noteEnded(ctx, d, n)}, err
	})
}

// EndSessions ends all sessions of a person and the sign-ins in progress, but the session with the identifier except, which may
// be "".
func (p *People) EndSessions(ctx context.Context, person uuid.UUID, except string) error {
	return p.update(ctx, person, func(ctx context.Context, tx records.Tx, d *document) (bool, []audit.Entry, error) {
		p.endSignIns(d)
		n, err := p.deleteOwned(ctx, tx, kindSession, person, func(r records.Record) bool { return except != "" && strings.HasPrefix(r.Key, except) })
		return false, []audit.Entry{p.noteEnded(ctx, d, n)}, err
	})
}

func (p *People) noteEnded(ctx context.Context, d *document, sessions int) audit.Entry {
	return p.note(ctx, uuid.Nil, "person.sessions", d.Email, audit.Change{Field: "sessions", From: fmt.Sprint(sessions), To: "ended"})
}

// SessionStore keeps sessions for a session manager such as that of github.com/alexedwards/scs/v2, whose CtxStore it is. The data
// of a session is a [SessionData] in JSON. The database stores hashes of tokens.
type SessionStore struct{ p *People }

// SessionStore returns the store of sessions.
func (p *People) SessionStore() *SessionStore { return &SessionStore{p} }

// FindCtx returns the data of a session, and whether there is one.
func (s *SessionStore) FindCtx(ctx context.Context, token string) ([]byte, bool, error) {
	kind, key := kindSession, hashOf(token)
	found, err := s.p.db.Records(ctx, s.p.now(), records.Query{Kind: &kind, Key: &key})
	if err != nil || len(found) == 0 {
		return nil, false, err
	}
	return found[0].Value, true, nil
}

// CommitCtx stores a session. The error of a new one is [ErrChanged] if the person has another Revision or is gone: what the session
// was opened with has ended meanwhile. A late visit does not revive a session that has ended.
func (s *SessionStore) CommitCtx(ctx context.Context, token string, data []byte, expiry time.Time) error {
	var d SessionData
	if err := json.Unmarshal(data, &d); err != nil {
		return err
	}
	// The session manager has no clock but the machine's.
	r := records.Record{Kind: kindSession, Key: hashOf(token), Owner: d.Person, Value: data, Until: s.p.now().Add(time.Until(expiry))}
	return s.p.db.Update(ctx, func(ctx context.Context, tx records.Tx) error {
		if d.SeenAt.Equal(d.CreatedAt) {
			person, err := s.p.lock(ctx, tx, d.Person)
			if errors.Is(err, checks.ErrNotFound) || err == nil && person.Revision != d.Revision {
				err = s.p.changed(ctx, d.Person)
			}
			if err != nil {
				return err
			}
		} else {
			found, err := tx.LockRecords(ctx, s.p.now(), records.Query{Kind: &r.Kind, Key: &r.Key})
			if err != nil || len(found) == 0 {
				return err
			}
		}
		return tx.SaveRecords(ctx, s.p.now(), r)
	})
}

// DeleteCtx ends a session.
func (s *SessionStore) DeleteCtx(ctx context.Context, token string) error {
	return s.p.db.Update(ctx, func(ctx context.Context, tx records.Tx) error {
		return tx.SaveRecords(ctx, s.p.now(), records.Record{Kind: kindSession, Key: hashOf(token)})
	})
}

// Find is FindCtx without a context.
func (s *SessionStore) Find(token string) ([]byte, bool, error) {
	return s.FindCtx(context.Background(), token)
}

// Commit is CommitCtx without a context.
func (s *SessionStore) Commit(token string, data []byte, expiry time.Time) error {
	return s.CommitCtx(context.Background(), token, data, expiry)
}

// Delete is DeleteCtx without a context.
func (s *SessionStore) Delete(token string) error { return s.DeleteCtx(context.Background(), token) }
