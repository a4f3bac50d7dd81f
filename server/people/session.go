package people

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/audit"
	"github.com/rollcall-dev/rollcall/checks/records"
	"github.com/rollcall-dev/rollcall/server/internal/sessions"
)

// Session is a browser in which a person is signed in. Nobody can sign in with its ID.
type Session struct {
	ID                       string
	CreatedAt, SeenAt, Until time.Time
	Address, Agent           string
}

// Sessions returns the sessions of a person that have not ended.
func (p *People) Sessions(ctx context.Context, person uuid.UUID) ([]Session, error) {
	found, err := p.db.Records(ctx, p.now(), records.Query{Kind: new(kindSession), Owner: &person})
	list := []Session{}
	for _, r := range found {
		s, err := sessions.Parse(r)
		if err != nil {
			return nil, err
		}
		if !s.Pending {
			list = append(list, Session{ID: s.ID, CreatedAt: s.CreatedAt, SeenAt: s.SeenAt, Until: s.Until, Address: s.Address, Agent: s.Agent})
		}
	}
	return list, err
}

// EndSession ends a session of a person. The error is [checks.ErrNotFound] if there is none with the identifier.
func (p *People) EndSession(ctx context.Context, person uuid.UUID, id string) error {
	if len(id) != sessions.IDLength {
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

// Unchanged returns [ErrChanged] unless a person exists and has the Revision that was read: otherwise what somebody signed in with has
// ended meanwhile. It locks the person until the transaction ends.
func (p *People) Unchanged(ctx context.Context, tx records.Tx, read Person) error {
	d, err := p.lock(ctx, tx, read.ID)
	if errors.Is(err, checks.ErrNotFound) || err == nil && d.Revision != read.Revision {
		return p.changed(ctx, read.ID)
	}
	return err
}
