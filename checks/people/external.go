package people

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/audit"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
)

// SignInExternal returns the person of an account at a provider: by issuer and subject, or else by a verified e-mail address
// that no account at a provider has yet, or else a new one. It sets the roles if the provider decides on them. The error
// is [ErrRefused] if somebody has the address already and it is not verified or belongs to another account at a provider.
func (p *People) SignInExternal(ctx context.Context, e External) (Person, error) {
	known, err := p.by(ctx, kindIdentity, identity(e))
	if errors.Is(err, checks.ErrNotFound) {
		known, err = p.adopt(ctx, e)
	}
	if err != nil {
		return Person{}, err
	}
	if known.Unverified && e.EmailVerified && known.Email == foldEmail(e.Email) {
		err = p.update(ctx, known.ID, func(_ context.Context, _ store.Tx, d *document) (bool, []audit.Entry, error) {
			d.Unverified = false
			known = d.person()
			return false, nil, nil
		})
		if err != nil {
			return Person{}, err
		}
	}
	if !e.HasRoles {
		return known, nil
	}
	roles, err := p.rolesByID(ctx, e.Roles)
	if err != nil {
		return Person{}, err
	}
	if known.Admin == e.Admin && maps.Equal(known.Roles, roles) {
		return known, nil
	}
	err = p.update(ctx, known.ID, func(ctx context.Context, _ store.Tx, d *document) (bool, []audit.Entry, error) {
		ctx = audit.WithActor(ctx, audit.Actor{Kind: audit.Program, Name: e.Issuer, Address: audit.ActorOf(ctx).Address})
		var entries []audit.Entry
		if d.Admin != e.Admin {
			entries = append(entries, p.note(ctx, uuid.Nil, "person.admin", d.Email, audit.Change{Field: "admin", From: fmt.Sprint(d.Admin), To: fmt.Sprint(e.Admin)}))
		}
		both := maps.Clone(roles)
		maps.Copy(both, d.Roles)
		for project := range both {
			if before, after := d.Roles[project], roles[project]; before != after {
				entries = append(entries, p.note(ctx, project, "person.role", d.Email, audit.Change{Field: "role", From: string(before), To: string(after)}))
			}
		}
		d.Admin, d.Roles = e.Admin, roles
		known = d.person()
		return true, entries, nil
	})
	return known, err
}

// adopt finds or creates the person of an account at a provider that signs in for the first time.
func (p *People) adopt(ctx context.Context, e External) (Person, error) {
	if e.Issuer == "" || e.Subject == "" {
		return Person{}, p.refuse(ctx, "the provider names no account", "")
	}
	email, err := normalEmail(e.Email)
	if err != nil {
		return Person{}, p.refuse(ctx, "the provider gave no e-mail address", "")
	}
	found, err := p.ByEmail(ctx, email)
	if errors.Is(err, checks.ErrNotFound) {
		d, err := p.newDocument(Spec{Email: email, Name: e.Name})
		if err != nil {
			return Person{}, err
		}
		d.Issuer, d.Subject, d.Unverified = e.Issuer, e.Subject, !e.EmailVerified
		return d.person(), p.db.Update(ctx, func(ctx context.Context, tx store.Tx) error {
			return p.add(audit.WithActor(ctx, actorOf(ctx, d)), tx, d, pointer(kindIdentity, identity(e), d.ID))
		})
	}
	if err != nil {
		return Person{}, err
	}
	if !e.EmailVerified {
		return Person{}, p.refuse(ctx, "another account has the e-mail address, and the provider has not verified it", found.ID.String())
	}
	err = p.update(ctx, found.ID, func(ctx context.Context, tx store.Tx, d *document) (bool, []audit.Entry, error) {
		if d.Issuer != "" {
			return false, nil, p.refuse(ctx, "the e-mail address belongs to another account at a provider", d.ID.String())
		}
		d.Issuer, d.Subject = e.Issuer, e.Subject
		found = d.person()
		return false, []audit.Entry{p.note(audit.WithActor(ctx, actorOf(ctx, d)), uuid.Nil, "person.identity", d.Email, audit.Change{Field: "provider", To: e.Issuer})},
			tx.SaveRecords(ctx, p.now(), pointer(kindIdentity, identity(e), d.ID))
	})
	return found, err
}

// higher returns the role that allows more.
func higher(a, b Role) Role {
	if b.Right() > a.Right() {
		return b
	}
	return a
}

// rolesByID resolves the names of projects. Those that do not exist are left out.
func (p *People) rolesByID(ctx context.Context, byName map[string]Role) (map[uuid.UUID]Role, error) {
	roles := map[uuid.UUID]Role{}
	if len(byName) == 0 {
		return roles, nil
	}
	found, err := p.db.Find(ctx, store.Filter{Project: &store.ProjectFilter{}})
	for _, project := range found.Projects {
		if role := higher(byName[project.Name], byName["*"]); role != "" {
			roles[project.ID] = role
		}
	}
	return roles, err
}

// SavePasskey adds a passkey, or replaces the one with its ID. The error is [checks.ErrExists] if somebody else has it.
func (p *People) SavePasskey(ctx context.Context, id uuid.UUID, k Passkey) error {
	return p.update(ctx, id, func(ctx context.Context, tx store.Tx, d *document) (bool, []audit.Entry, error) {
		i := slices.IndexFunc(d.Passkeys, func(known Passkey) bool { return string(known.ID) == string(k.ID) })
		if i >= 0 {
			d.Passkeys[i] = k
			return false, nil, nil
		}
		d.Passkeys = append(d.Passkeys, k)
		return false, []audit.Entry{p.note(ctx, uuid.Nil, "person.passkey", d.Email, audit.Change{Field: "passkey", To: k.Name})},
			tx.SaveRecords(ctx, p.now(), pointer(kindPasskey, hex.EncodeToString(k.ID), id))
	})
}

// Spend reports whether this call is the first with a text in the whole installation. It stores a hash of the text until an instant.
func (p *People) Spend(ctx context.Context, text string, until time.Time) (first bool, err error) {
	err = p.db.Update(ctx, func(ctx context.Context, tx store.Tx) error {
		return tx.SaveRecords(ctx, p.now(), store.Record{Kind: kindSpent, Key: hashOf(text), Value: []byte(`{}`), Until: until, New: true})
	})
	if errors.Is(err, checks.ErrExists) {
		return false, nil
	}
	return err == nil, err
}

// DeletePasskey deletes a passkey of a person.
func (p *People) DeletePasskey(ctx context.Context, id uuid.UUID, key []byte) error {
	return p.update(ctx, id, func(ctx context.Context, tx store.Tx, d *document) (bool, []audit.Entry, error) {
		i := slices.IndexFunc(d.Passkeys, func(known Passkey) bool { return string(known.ID) == string(key) })
		if i < 0 {
			return false, nil, checks.ErrNotFound
		}
		name := d.Passkeys[i].Name
		d.Passkeys = slices.Delete(d.Passkeys, i, i+1)
		return false, []audit.Entry{p.note(ctx, uuid.Nil, "person.passkey", d.Email, audit.Change{Field: "passkey", From: name})},
			tx.SaveRecords(ctx, p.now(), store.Record{Kind: kindPasskey, Key: hex.EncodeToString(key)})
	})
}

// ByPasskey returns the person with a passkey, or [checks.ErrNotFound].
func (p *People) ByPasskey(ctx context.Context, key []byte) (Person, error) {
	return p.by(ctx, kindPasskey, hex.EncodeToString(key))
}
