// Package sessions keeps who is signed in to the pages: a person, or the holder of API keys. A session is a record, named by the hash
// of a token that only the browser has. Nothing caches sessions, so that their ends hold on every server at once.
package sessions

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/records"
)

// Kind is the kind of the records. Their owner is the person, or the newest of the keys.
const Kind = "session"

// Most is how many sessions a person or a key has. One more ends the one that was seen least recently.
const Most = 1000

// Session is a browser that is signed in.
type Session struct {
	// Person is who has signed in, or uuid.Nil for the holder of Keys.
	Person uuid.UUID `json:"person,omitzero"`
	// Keys are the API keys of the session, newest first.
	Keys      []Key     `json:"keys,omitempty"`
	CreatedAt time.Time `json:"created_at"`
	SeenAt    time.Time `json:"seen_at"`
	Address   string    `json:"address"`
	Agent     string    `json:"agent"`
	// ProvedAt is when the person last proved to be who they are, if that was not at CreatedAt.
	ProvedAt time.Time `json:"proved_at,omitzero"`
	// Strong says that the person gave more than a password: a code, a passkey, or what a provider or a proxy asked for.
	Strong bool `json:"strong,omitempty"`
	// Pending says that the password was right and that the code is still missing.
	Pending bool `json:"pending,omitempty"`
	// Revision is people.Person.Revision as the sign-in has read it.
	Revision int64 `json:"revision,omitempty"`
	// ID names the session on pages: nobody can sign in with it. Until is when it ends.
	ID    string    `json:"-"`
	Until time.Time `json:"-"`
}

// Key names an API key of a project.
type Key struct {
	Project uuid.UUID `json:"project"`
	Key     uuid.UUID `json:"key"`
	// At is when it was entered.
	At time.Time `json:"at,omitzero"`
}

// ID returns the identifier of the session with a token.
func ID(token string) string { return hashOf(token)[:IDLength] }

// IDLength is the length of an identifier: the first characters of the key of a record.
const IDLength = 16

func hashOf(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}

// Parse returns the session of a record.
func Parse(r records.Record) (s Session, err error) {
	err = json.Unmarshal(r.Value, &s)
	s.ID, s.Until = r.Key[:IDLength], r.Until
	return s, err
}

// Proved returns when the person last proved to be who they are.
func (s *Session) Proved() time.Time {
	if s.ProvedAt.IsZero() {
		return s.CreatedAt
	}
	return s.ProvedAt
}

// Entered returns when a key of the session was entered.
func (s *Session) Entered(k Key) time.Time {
	if k.At.IsZero() { // by a version that did not note it
		return s.CreatedAt
	}
	return k.At
}

func (s *Session) record(token string) (records.Record, error) {
	value, err := json.Marshal(s)
	r := records.Record{Kind: Kind, Key: hashOf(token), Owner: s.Person, Value: value, Until: s.Until}
	if len(s.Keys) > 0 {
		r.Owner = s.Keys[0].Key
	}
	return r, err
}

// Store keeps the sessions of an installation.
type Store struct {
	db  records.Store
	now func() time.Time
}

// New returns the sessions of the installation of a monitor. It reads nothing.
func New(mon *monitor.Monitor) *Store { return &Store{mon.Installation().Records(), mon.Now} }

// Find returns the session with a token. The error is [checks.ErrNotFound] if there is none, or if it has ended.
func (s *Store) Find(ctx context.Context, token string) (Session, error) {
	found, err := s.db.Records(ctx, s.now(), records.Query{Kind: new(Kind), Key: new(hashOf(token))})
	if err == nil && len(found) == 0 {
		err = checks.ErrNotFound
	}
	if err != nil {
		return Session{}, err
	}
	return Parse(found[0])
}

// Open stores a new session, in place of the one with the token former, which may be "". If check fails in its transaction, Open
// changes nothing and returns that error.
func (s *Store) Open(ctx context.Context, token, former string, fresh Session, check func(ctx context.Context, tx records.Tx) error) error {
	r, err := fresh.record(token)
	if err != nil {
		return err
	}
	return s.db.Update(ctx, func(ctx context.Context, tx records.Tx) error {
		if check != nil {
			if err := check(ctx, tx); err != nil {
				return err
			}
		}
		if err := s.makeRoom(ctx, tx, r.Owner); err != nil {
			return err
		}
		return tx.SaveRecords(ctx, s.now(), records.Record{Kind: Kind, Key: hashOf(former)}, r)
	})
}

// Replace is Open for a session that goes on under a new token. If the one with the token former has ended, the error is
// [checks.ErrNotFound].
func (s *Store) Replace(ctx context.Context, token, former string, next Session, check func(ctx context.Context, tx records.Tx) error) error {
	return s.Open(ctx, token, former, next, func(ctx context.Context, tx records.Tx) error {
		if err := check(ctx, tx); err != nil {
			return err
		}
		found, err := tx.LockRecords(ctx, s.now(), records.Query{Kind: new(Kind), Key: new(hashOf(former))})
		if err == nil && len(found) == 0 {
			err = checks.ErrNotFound
		}
		return err
	})
}

// makeRoom ends the session of an owner that was seen least recently, if there are many.
func (s *Store) makeRoom(ctx context.Context, tx records.Tx, owner uuid.UUID) error {
	found, err := tx.LockRecords(ctx, s.now(), records.Query{Kind: new(Kind), Owner: &owner})
	if err != nil || len(found) < Most {
		return err
	}
	var oldest records.Record
	var seen time.Time
	for _, r := range found {
		known, err := Parse(r)
		if err != nil {
			return err
		}
		if oldest.Key == "" || known.SeenAt.Before(seen) {
			oldest, seen = r, known.SeenAt
		}
	}
	return tx.SaveRecords(ctx, s.now(), records.Record{Kind: Kind, Key: oldest.Key})
}

// Renew stores what a visit has changed. It does not revive a session that has ended.
func (s *Store) Renew(ctx context.Context, token string, seen Session) error {
	r, err := seen.record(token)
	if err != nil {
		return err
	}
	return s.db.Update(ctx, func(ctx context.Context, tx records.Tx) error {
		found, err := tx.LockRecords(ctx, s.now(), records.Query{Kind: &r.Kind, Key: &r.Key})
		if err != nil || len(found) == 0 {
			return err
		}
		return tx.SaveRecords(ctx, s.now(), r)
	})
}

// End ends the session with a token.
func (s *Store) End(ctx context.Context, token string) error {
	return s.db.Update(ctx, func(ctx context.Context, tx records.Tx) error {
		return tx.SaveRecords(ctx, s.now(), records.Record{Kind: Kind, Key: hashOf(token)})
	})
}

// kindSpent is the kind of the records of what may be used once.
const kindSpent = "spent"

// Spend reports whether this call is the first with a text in the whole installation. It stores a hash of the text until an instant.
func (s *Store) Spend(ctx context.Context, text string, until time.Time) (first bool, err error) {
	err = s.db.Update(ctx, func(ctx context.Context, tx records.Tx) error {
		return tx.SaveRecords(ctx, s.now(), records.Record{Kind: kindSpent, Key: hashOf(text), Value: []byte(`{}`), Until: until, New: true})
	})
	if errors.Is(err, checks.ErrExists) {
		return false, nil
	}
	return err == nil, err
}
