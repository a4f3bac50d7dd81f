package people

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/audit"
	"github.com/rollcall-dev/rollcall/checks/records"
)

// makerOf returns who creates a link for a person: somebody who is signed in, or uuid.Nil.
func makerOf(ctx context.Context, person uuid.UUID) uuid.UUID {
	actor := audit.ActorOf(ctx)
	id, err := uuid.Parse(actor.ID)
	if actor.Kind != audit.Person || err != nil || id == person {
		return uuid.Nil
	}
	return id
}

// coveredBy reports whether a person may do all that the account allows.
func (d *document) coveredBy(q Person) bool {
	if q.Admin || d.Admin {
		return q.Admin
	}
	for project := range d.Roles {
		if !q.Role(project).Right().Owns() {
			return false
		}
	}
	return true
}

// trusts reports whether who created the newest link of a person still has an account with the rights for it. Programs and commands
// always have. It locks the record of the inviter until the transaction ends. The person is locked.
func (p *People) trusts(ctx context.Context, tx records.Tx, d *document, may func(inviter Person) bool) (bool, error) {
	if d.Inviter == uuid.Nil {
		return true, nil
	}
	by, err := p.lock(ctx, tx, d.Inviter)
	if errors.Is(err, checks.ErrNotFound) {
		return false, nil
	}
	return err == nil && may(by.person()), err
}

// gain expels others from an account that has got a right, unless its inviter is still trusted. The person is locked.
func (p *People) gain(ctx context.Context, tx records.Tx, d *document, may func(inviter Person) bool) ([]audit.Entry, error) {
	if trusted, err := p.trusts(ctx, tx, d, may); err != nil || trusted {
		return nil, err
	}
	d.NeedsLink = d.Issuer == ""
	return p.expel(ctx, tx, d)
}

// prove expels others from an account whose person has proved who they are, the first time. The person is locked.
func (p *People) prove(ctx context.Context, tx records.Tx, d *document) ([]audit.Entry, error) {
	d.NeedsLink = false
	if d.Proved {
		return nil, nil
	}
	d.Proved = true
	return p.expel(ctx, tx, d)
}

// expel ends what others may hold of an account: its links, password, second factors, sessions and sign-ins in progress.
func (p *People) expel(ctx context.Context, tx records.Tx, d *document) ([]audit.Entry, error) {
	var changes []audit.Change
	ended := func(field string, had bool) {
		if had {
			changes = append(changes, audit.Change{Field: field, From: "(secret)"})
		}
	}
	ended("password", d.Password != "")
	ended("authenticator app", d.TOTP != "")
	ended("passkeys", len(d.Passkeys) > 0)
	for _, kind := range []string{kindLink, kindPasskey, kindSession} {
		n, err := p.deleteOwned(ctx, tx, kind, d.ID, nil)
		if err != nil {
			return nil, err
		}
		switch kind {
		case kindLink:
			ended("link", n > 0)
		case kindSession:
			if n > 0 {
				changes = append(changes, audit.Change{Field: "sessions", From: fmt.Sprint(n), To: "ended"})
			}
		}
	}
	d.Password, d.TOTP, d.Recovery, d.Passkeys, d.Known, d.Inviter = "", "", nil, nil, nil, uuid.Nil
	p.endSignIns(d)
	if len(changes) == 0 {
		return nil, nil
	}
	return []audit.Entry{p.note(ctx, uuid.Nil, "person.credentials", d.Email, changes...)}, nil
}

// Prove notes that a trusted proxy has signed a person in. The first time, it ends what others may hold of the account.
func (p *People) Prove(ctx context.Context, id uuid.UUID) (Person, error) {
	var proved *document
	err := p.update(ctx, id, func(ctx context.Context, tx records.Tx, d *document) (bool, []audit.Entry, error) {
		proved = d
		entries, err := p.prove(audit.WithActor(ctx, actorOf(ctx, d)), tx, d)
		return false, entries, err
	})
	if err != nil {
		return Person{}, err
	}
	return proved.person(), nil
}
