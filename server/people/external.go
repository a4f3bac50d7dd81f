package people

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/audit"
	"github.com/rollcall-dev/rollcall/checks/records"
	"github.com/rollcall-dev/rollcall/server/internal/sessions"
)

// External is a person as an identity provider describes them.
type External struct {
	Issuer, Subject, Email, Name string
	EmailVerified                bool
	// Began is when the sign-in began, here. The zero value is never too early.
	Began time.Time
	// Age is how long ago the person proved to the provider who they are, in whole minutes, or 0 if it does not say.
	Age time.Duration
	// HasRoles says that the provider decides on Admin and Roles. Roles has names of projects; "*" is every project.
	HasRoles, Admin bool
	Roles           map[string]Role
}

// identity is the key of the record of an account at a provider.
func identity(e External) string {
	text, _ := json.Marshal([]string{e.Issuer, e.Subject})
	return hashOf(string(text))
}

// SignInExternal returns the person of an account at a provider: by issuer and subject, or else by a verified e-mail address
// that no account at a provider has yet, or else a new one. The first time, it ends what others may hold of the account. It sets the
// roles if the provider decides on them, but the last administrator stays one. The error is [ErrRefused] if a person who is not
// Unverified has the address already, and it is not verified or belongs to another account at a provider; [ErrAddress] if no
// account can have the address; and [ErrChanged] if the sign-ins of the person have ended since it began.
func (p *People) SignInExternal(ctx context.Context, e External) (Person, error) {
	known, err := p.by(ctx, kindIdentity, identity(e))
	if err == nil {
		err = p.since(ctx, e, known)
	}
	if errors.Is(err, checks.ErrNotFound) {
		if known, err = p.adopt(ctx, e); errors.Is(err, checks.ErrExists) { // another request was first
			return p.SignInExternal(ctx, e)
		}
	}
	if err != nil {
		return Person{}, err
	}
	roles := known.Roles
	if e.HasRoles {
		if roles, err = p.rolesByID(ctx, e.Roles); err != nil {
			return Person{}, err
		}
	} else {
		e.Admin = known.Admin
	}
	email := foldEmail(e.Email)
	claimed, _ := claimedEmail(email) // "" is nobody's
	verified := known.Unverified && e.EmailVerified && (known.Email == email || known.Email == claimed)
	if known.Proved && !verified && known.Admin == e.Admin && maps.Equal(known.Roles, roles) {
		return known, nil
	}
	signed, err := p.renew(ctx, e, known, roles, verified)
	if err != nil {
		return Person{}, err
	}
	if e.HasRoles && signed.Admin && !e.Admin {
		p.refusals.Log(p.log, slog.LevelWarn, signed.ID.String(), "kept the last administrator, whom the claims of the identity provider do not make one: make someone else an administrator, or correct the roles", "person", signed.ID)
	}
	return signed.person(), nil
}

// renew changes a person as a provider says: whether the address is verified, and the roles, if it decides on them. The last
// administrator stays one.
func (p *People) renew(ctx context.Context, e External, known Person, roles map[uuid.UUID]Role, verified bool) (signed *document, err error) {
	defer p.wake()
	err = p.db.Update(ctx, func(ctx context.Context, tx records.Tx) error {
		ctx = audit.WithActor(ctx, audit.Actor{Kind: audit.Program, Name: e.Issuer, Address: audit.ActorOf(ctx).Address})
		lock, admin := p.lock, e.Admin
		if e.HasRoles && !admin {
			lock = p.dispensable
		}
		d, err := lock(ctx, tx, known.ID)
		if errors.Is(err, ErrLastAdmin) {
			admin, err = true, nil
		}
		if err != nil {
			return err
		}
		signed = d
		return p.apply(ctx, tx, d, func(ctx context.Context, tx records.Tx, d *document) (bool, []audit.Entry, error) {
			if d.Revision != known.Revision {
				return false, nil, p.changed(ctx, d.ID)
			}
			if verified {
				if err := p.confirmAddress(ctx, tx, d, foldEmail(e.Email)); err != nil {
					return false, nil, err
				}
			}
			entries, err := p.prove(ctx, tx, d)
			if err != nil || !e.HasRoles {
				return false, entries, err
			}
			changes, more := p.takeRoles(ctx, d, admin, roles)
			entries = append(entries, changes...)
			if !more {
				return false, entries, nil
			}
			ended, err := p.gain(ctx, tx, d, d.coveredBy)
			return false, append(entries, ended...), err
		})
	})
	return signed, err
}

// confirmAddress gives a person the address that a provider has now verified, unless somebody else has it meanwhile.
func (p *People) confirmAddress(ctx context.Context, tx records.Tx, d *document, email string) error {
	if !d.Unverified {
		return nil
	}
	before := d.Email
	d.Unverified, d.Email = false, email
	err := p.claim(ctx, tx, d)
	if errors.Is(err, checks.ErrExists) {
		d.Unverified, d.Email, err = true, before, nil
	}
	if err == nil {
		_, err = p.deleteOwned(ctx, tx, kindEmail, d.ID, func(r records.Record) bool { return r.Key == d.Email })
	}
	return err
}

// since returns [ErrChanged] if the sign-ins of a person have ended since one began at a provider.
func (p *People) since(ctx context.Context, e External, q Person) error {
	if !e.Began.IsZero() && q.SignInsEndedAt.After(e.Began) {
		return p.changed(ctx, q.ID)
	}
	return nil
}

// takeRoles sets what the provider decides on. It returns what the audit log says, and whether the person has more rights than before.
func (p *People) takeRoles(ctx context.Context, d *document, admin bool, roles map[uuid.UUID]Role) (entries []audit.Entry, more bool) {
	if d.Admin != admin {
		more = admin
		entries = append(entries, p.note(ctx, uuid.Nil, "person.admin", d.Email, audit.Change{Field: "admin", From: fmt.Sprint(d.Admin), To: fmt.Sprint(admin)}))
	}
	both := maps.Clone(roles)
	maps.Copy(both, d.Roles)
	for project := range both {
		if before, after := d.Roles[project], roles[project]; before != after {
			more = more || after.Right() > before.Right()
			entries = append(entries, p.note(ctx, project, "person.role", d.Email, audit.Change{Field: "role", From: string(before), To: string(after)}))
		}
	}
	d.Admin, d.Roles = admin, roles
	return entries, more
}

// adopt finds or creates the person of an account at a provider that signs in for the first time.
func (p *People) adopt(ctx context.Context, e External) (Person, error) {
	if e.Issuer == "" || e.Subject == "" {
		return Person{}, p.refuse(ctx, "the provider names no account", "")
	}
	email, err := normalEmail(e.Email)
	stored := email
	if err == nil && !e.EmailVerified {
		stored, err = claimedEmail(email)
	}
	if err != nil {
		_ = p.refuse(ctx, "the provider gave no address that an account can have: "+err.Error(), "")
		return Person{}, ErrAddress
	}
	found, err := p.ByEmail(ctx, email)
	if errors.Is(err, checks.ErrNotFound) || err == nil && found.Unverified {
		d, err := p.newDocument(Spec{Email: stored, Name: cleanName(e.Name)})
		if err != nil {
			return Person{}, err
		}
		d.Issuer, d.Subject, d.Unverified, d.Proved = e.Issuer, e.Subject, !e.EmailVerified, true
		return d.person(), p.db.Update(ctx, func(ctx context.Context, tx records.Tx) error {
			return p.add(audit.WithActor(ctx, actorOf(ctx, d)), tx, d, pointer(kindIdentity, identity(e), d.ID))
		})
	}
	if err != nil {
		return Person{}, err
	}
	if !e.EmailVerified {
		return Person{}, p.refuse(ctx, "another account has the e-mail address, and the provider has not verified it", found.ID.String())
	}
	var adopted *document
	err = p.update(ctx, found.ID, func(ctx context.Context, tx records.Tx, d *document) (bool, []audit.Entry, error) {
		if d.Issuer != "" {
			return false, nil, p.refuse(ctx, "the e-mail address belongs to another account at a provider", d.ID.String())
		}
		if err := p.since(ctx, e, d.person()); err != nil {
			return false, nil, err
		}
		adopted, d.Issuer, d.Subject = d, e.Issuer, e.Subject
		ctx = audit.WithActor(ctx, actorOf(ctx, d))
		entries := []audit.Entry{p.note(ctx, uuid.Nil, "person.identity", d.Email, audit.Change{Field: "provider", To: e.Issuer})}
		ended, err := p.prove(ctx, tx, d)
		if err != nil {
			return false, nil, err
		}
		return false, append(entries, ended...), tx.SaveRecords(ctx, p.now(), pointer(kindIdentity, identity(e), d.ID))
	})
	if err != nil {
		return Person{}, err
	}
	return adopted.person(), nil
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
	projects, err := p.mon.Projects().List(ctx)
	for _, project := range projects {
		if role := higher(byName[project.Name], byName["*"]); role != "" {
			roles[project.ID] = role
		}
	}
	return roles, err
}

// AddPasskey adds a new passkey of a person. The error is [checks.ErrExists] if anybody has it already, [ErrManyPasskeys] for more
// than [MaxPasskeys], and [ErrChanged] if the person has another Revision by now: then the passkey was asked for in a session that
// has ended.
func (p *People) AddPasskey(ctx context.Context, who Person, k Passkey) error {
	return p.update(ctx, who.ID, func(ctx context.Context, tx records.Tx, d *document) (bool, []audit.Entry, error) {
		switch {
		case d.Revision != who.Revision:
			return false, nil, p.changed(ctx, d.ID)
		case d.passkey(k.ID) >= 0:
			return false, nil, checks.ErrExists
		case len(d.Passkeys) >= MaxPasskeys:
			return false, nil, ErrManyPasskeys
		}
		d.Passkeys = append(d.Passkeys, k)
		return false, []audit.Entry{p.note(ctx, uuid.Nil, "person.passkey", d.Email, audit.Change{Field: "passkey", To: k.Name})},
			tx.SaveRecords(ctx, p.now(), pointer(kindPasskey, hex.EncodeToString(k.ID), d.ID))
	})
}

// UsePasskey stores the counter of a passkey that a person has signed in with. The error is [ErrCloned] if the passkey has reached
// that counter meanwhile, on another server for example, and [ErrChanged] if the person has another Revision by now: then the
// passkey may have been removed.
func (p *People) UsePasskey(ctx context.Context, who Person, k Passkey) error {
	return p.update(ctx, who.ID, func(ctx context.Context, _ records.Tx, d *document) (bool, []audit.Entry, error) {
		i := d.passkey(k.ID)
		if i < 0 || d.Revision != who.Revision {
			return false, nil, p.changed(ctx, d.ID)
		}
		known := &d.Passkeys[i]
		if k.Counter <= known.Counter && known.Counter > 0 { // many authenticators always send 0
			return false, nil, ErrCloned
		}
		known.Counter, known.Credential = k.Counter, k.Credential
		return false, nil, nil
	})
}

// passkey returns the index of a passkey, or -1.
func (d *document) passkey(id []byte) int {
	return slices.IndexFunc(d.Passkeys, func(known Passkey) bool { return bytes.Equal(known.ID, id) })
}

// Spend reports whether this call is the first with a text in the whole installation. It stores a hash of the text until an instant.
func (p *People) Spend(ctx context.Context, text string, until time.Time) (first bool, err error) {
	return sessions.New(p.mon).Spend(ctx, text, until)
}

// DeletePasskey deletes a passkey of a person, and ends the sign-ins in progress. The error is [ErrLastFactor] for the last second factor
// of somebody who must have one.
func (p *People) DeletePasskey(ctx context.Context, id uuid.UUID, key []byte) error {
	return p.update(ctx, id, func(ctx context.Context, tx records.Tx, d *document) (bool, []audit.Entry, error) {
		i := d.passkey(key)
		if i < 0 {
			return false, nil, checks.ErrNotFound
		}
		name := d.Passkeys[i].Name
		d.Passkeys = slices.Delete(d.Passkeys, i, i+1)
		if q := d.person(); p.NeedsFactor(q) && !q.HasFactor() {
			return false, nil, ErrLastFactor
		}
		p.endSignIns(d)
		return false, []audit.Entry{p.note(ctx, uuid.Nil, "person.passkey", d.Email, audit.Change{Field: "passkey", From: name})},
			tx.SaveRecords(ctx, p.now(), records.Record{Kind: kindPasskey, Key: hex.EncodeToString(key)})
	})
}

// ByPasskey returns the person with a passkey, or [checks.ErrNotFound].
func (p *People) ByPasskey(ctx context.Context, key []byte) (Person, error) {
	return p.by(ctx, kindPasskey, hex.EncodeToString(key))
}
