package people

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
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

// linkAge is how long a link can be used.
const linkAge = 72 * time.Hour

// Spec is a new person.
type Spec struct {
	// Email is an address of 254 bytes at most, and Name has 100 characters at most.
	Email, Name string
	Admin       bool
	Roles       map[uuid.UUID]Role
	// PasswordHash is the hash of a password that the person has elsewhere: argon2id as a PHC string, or argon2 or
	// pbkdf2_sha256 of Django. Default: none, and the person chooses a password by the link.
	PasswordHash string
}

// Link lets one person choose a password, once. Anyone with the token can use it.
type Link struct {
	Token string
	// Person is who chooses a password, or the zero value for the link of [People.First].
	Person Person
	Until  time.Time
}

func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// newLink returns a link and its record, which has only a hash of the token.
func (p *People) newLink(q Person) (Link, store.Record) {
	l := Link{Token: rand.Text() + rand.Text(), Person: q, Until: p.now().Add(linkAge)}
	return l, store.Record{Kind: kindLink, Key: hashOf(l.Token), Owner: q.ID, Value: []byte(`{}`), Until: l.Until}
}

// newDocument checks a new person.
func (p *People) newDocument(s Spec) (*document, error) {
	email, err := normalEmail(s.Email)
	if err != nil {
		return nil, err
	}
	name, err := normalName(s.Name)
	if err != nil {
		return nil, err
	}
	if s.PasswordHash != "" {
		if _, err := parseHash(s.PasswordHash); err != nil {
			return nil, &checks.FieldError{Field: "password hash", Reason: "cannot be verified: it is " + err.Error(), Err: err}
		}
	}
	for _, role := range s.Roles {
		if _, err := ParseRole(string(role)); err != nil {
			return nil, err
		}
	}
	return &document{
		ID: uuid.New(), Email: email, Name: name, Admin: s.Admin, Roles: maps.Clone(s.Roles), Password: s.PasswordHash,
		CreatedAt: p.now().UTC().Truncate(time.Microsecond),
	}, nil
}

// add saves a new person, with more records. The error is [checks.ErrExists] if the address is taken.
func (p *People) add(ctx context.Context, tx store.Tx, d *document, more ...store.Record) error {
	r, err := d.record()
	if err != nil {
		return err
	}
	if err := tx.SaveRecords(ctx, p.now(), append([]store.Record{pointer(kindEmail, d.Email, d.ID), r}, more...)...); err != nil {
		return err
	}
	entries := []audit.Entry{p.note(ctx, uuid.Nil, "person.create", d.Email)}
	if d.Admin {
		entries[0].Changes = []audit.Change{{Field: "admin", To: "true"}}
	}
	for project, role := range d.Roles {
		entries = append(entries, p.note(ctx, project, "person.role", d.Email, audit.Change{Field: "role", To: string(role)}))
	}
	return p.saveAudit(ctx, tx, entries...)
}

// Create adds a person, who chooses a password by the link. Package people says what the actor of the context means for the link.
// The error is [checks.ErrExists] for an e-mail address that is
// taken, or a *[checks.FieldError].
func (p *People) Create(ctx context.Context, s Spec) (Person, Link, error) {
	d, err := p.newDocument(s)
	if err != nil {
		return Person{}, Link{}, err
	}
	d.Inviter = makerOf(ctx, d.ID)
	link, record := p.newLink(d.person())
	err = p.db.Update(ctx, func(ctx context.Context, tx store.Tx) error { return p.add(ctx, tx, d, record) })
	if err != nil {
		return Person{}, Link{}, err
	}
	return d.person(), link, nil
}

// First returns a link that creates the first administrator. The error is [checks.ErrExists] if there is one.
func (p *People) First(ctx context.Context) (Link, error) {
	if administered, err := p.administered(ctx); err != nil || administered {
		return Link{}, cmp.Or(err, checks.ErrExists)
	}
	link, record := p.newLink(Person{})
	return link, p.db.Update(ctx, func(ctx context.Context, tx store.Tx) error { return tx.SaveRecords(ctx, p.now(), record) })
}

// administered reports whether there is an administrator.
func (p *People) administered(ctx context.Context) (bool, error) {
	list, err := p.List(ctx)
	return slices.ContainsFunc(list, func(q Person) bool { return q.Admin }), err
}

// SetRole gives a person a role in a project, or removes it with "". A role that the inviter of the person could not give ends
// what others may hold of the account, and sets NeedsLink.
func (p *People) SetRole(ctx context.Context, id, project uuid.UUID, role Role) error {
	if role != "" {
		if _, err := ParseRole(string(role)); err != nil {
			return err
		}
	}
	inviter, err := p.inviter(ctx, id)
	if err != nil {
		return err
	}
	return p.update(ctx, id, func(ctx context.Context, tx store.Tx, d *document) (bool, []audit.Entry, error) {
		before := d.Roles[project]
		if before == role {
			return false, nil, nil
		}
		if d.Roles == nil {
			d.Roles = map[uuid.UUID]Role{}
		}
		if d.Roles[project] = role; role == "" {
			delete(d.Roles, project)
		}
		entries := []audit.Entry{p.note(ctx, project, "person.role", d.Email, audit.Change{Field: "role", From: string(before), To: string(role)})}
		if d.Admin || role.Right() <= before.Right() {
			return false, entries, nil
		}
		ended, err := p.gain(ctx, tx, d, inviter, inviter.covers(d))
		return false, append(entries, ended...), err
	})
}

// SetAdmin makes a person an administrator, or revokes that. Unless the inviter of the person is an administrator, the gain ends what
// others may hold of the account, and sets NeedsLink. The error is [ErrLastAdmin] for the last administrator.
func (p *People) SetAdmin(ctx context.Context, id uuid.UUID, on bool) error {
	inviter, err := p.inviter(ctx, id)
	if err != nil {
		return err
	}
	change := func(ctx context.Context, tx store.Tx, d *document) (bool, []audit.Entry, error) {
		if d.Admin == on {
			return false, nil, nil
		}
		d.Admin = on
		entries := []audit.Entry{p.note(ctx, uuid.Nil, "person.admin", d.Email, audit.Change{Field: "admin", From: fmt.Sprint(!on), To: fmt.Sprint(on)})}
		if !on {
			return false, entries, nil
		}
		ended, err := p.gain(ctx, tx, d, inviter, inviter.covers(d))
		return false, append(entries, ended...), err
	}
	if on {
		return p.update(ctx, id, change)
	}
	return p.db.Update(ctx, func(ctx context.Context, tx store.Tx) error {
		d, err := p.dispensable(ctx, tx, id)
		if err != nil {
			return err
		}
		return p.apply(ctx, tx, d, change)
	})
}

// dispensable locks all people, so that two administrators cannot leave at once, and returns a person. The error is
// [ErrLastAdmin] for the only administrator.
func (p *People) dispensable(ctx context.Context, tx store.Tx, id uuid.UUID) (*document, error) {
	kind := kindPerson
	all, err := tx.LockRecords(ctx, p.now(), store.RecordQuery{Kind: &kind})
	if err != nil {
		return nil, err
	}
	var found *document
	admins := 0
	for _, r := range all {
		d, err := parse(r)
		if err != nil {
			return nil, err
		}
		if d.Admin {
			admins++
		}
		if d.ID == id {
			found = d
		}
	}
	switch {
	case found == nil:
		return nil, checks.ErrNotFound
	case found.Admin && admins == 1:
		return nil, ErrLastAdmin
	}
	return found, nil
}

// Delete deletes a person with everything that leads to them. The error is [ErrLastAdmin] for the last administrator.
func (p *People) Delete(ctx context.Context, id uuid.UUID) error {
	return p.db.Update(ctx, func(ctx context.Context, tx store.Tx) error {
		d, err := p.dispensable(ctx, tx, id)
		if err != nil {
			return err
		}
		owned, err := tx.LockRecords(ctx, p.now(), store.RecordQuery{Owner: &id})
		if err != nil {
			return err
		}
		for _, r := range owned {
			if err := tx.SaveRecords(ctx, p.now(), store.Record{Kind: r.Kind, Key: r.Key}); err != nil {
				return err
			}
		}
		return p.saveAudit(ctx, tx, p.note(ctx, uuid.Nil, "person.delete", d.Email))
	})
}

// SetName changes the name that pages show.
func (p *People) SetName(ctx context.Context, id uuid.UUID, name string) error {
	name, err := normalName(name)
	if err != nil {
		return err
	}
	return p.update(ctx, id, func(ctx context.Context, _ store.Tx, d *document) (bool, []audit.Entry, error) {
		before := d.Name
		if d.Name = name; before == name {
			return false, nil, nil
		}
		return false, []audit.Entry{p.note(ctx, uuid.Nil, "person.name", d.Email, audit.Change{Field: "name", From: before, To: name})}, nil
	})
}

// SetPreferences changes the preferences of a person. The audit log does not record it.
func (p *People) SetPreferences(ctx context.Context, id uuid.UUID, prefs Preferences) error {
	if err := prefs.check(); err != nil {
		return err
	}
	return p.update(ctx, id, func(_ context.Context, _ store.Tx, d *document) (bool, []audit.Entry, error) {
		d.Preferences = prefs
		return false, nil, nil
	})
}

// ResetPassword deletes the password, the sessions and the older links of a person, and returns a link to choose a new password.
// Second factors go too if they may be those of an inviter who is no administrator.
func (p *People) ResetPassword(ctx context.Context, id uuid.UUID) (link Link, err error) {
	inviter, err := p.inviter(ctx, id)
	if err != nil {
		return Link{}, err
	}
	err = p.update(ctx, id, func(ctx context.Context, tx store.Tx, d *document) (bool, []audit.Entry, error) {
		maker := makerOf(ctx, id)
		entries, err := p.gain(ctx, tx, d, inviter, inviter.Admin || maker == inviter.ID)
		if err != nil {
			return false, nil, err
		}
		if _, err := p.deleteOwned(ctx, tx, kindLink, id, nil); err != nil {
			return false, nil, err
		}
		d.Password, d.NeedsLink, d.Inviter = "", false, maker
		var record store.Record
		link, record = p.newLink(d.person())
		entries = append(entries, p.note(ctx, uuid.Nil, "person.password", d.Email, audit.Change{Field: "password", From: "(secret)"}))
		return true, entries, tx.SaveRecords(ctx, p.now(), record)
	})
	return link, err
}

// ResetMFA removes the authenticator app, the recovery codes and the passkeys of a person, and ends the sessions.
func (p *People) ResetMFA(ctx context.Context, id uuid.UUID) error {
	return p.update(ctx, id, func(ctx context.Context, tx store.Tx, d *document) (bool, []audit.Entry, error) {
		d.TOTP, d.Recovery, d.Passkeys = "", nil, nil
		_, err := p.deleteOwned(ctx, tx, kindPasskey, id, nil)
		return true, []audit.Entry{p.note(ctx, uuid.Nil, "person.mfa", d.Email, audit.Change{Field: "second factors", From: "(secret)"})}, err
	})
}

// Link returns the link with a token, without using it up. The error is [checks.ErrNotFound] if it was used or has expired, or if
// who created it may do less by now than its person.
func (p *People) Link(ctx context.Context, token string) (Link, error) {
	r, err := p.one(ctx, kindLink, hashOf(token))
	if err != nil {
		return Link{}, err
	}
	l := Link{Token: token, Until: r.Until}
	if r.Owner != uuid.Nil {
		l.Person, err = p.linked(ctx, r.Owner)
	} else if administered, listErr := p.administered(ctx); listErr != nil || administered {
		err = cmp.Or(listErr, checks.ErrNotFound)
	}
	return l, err
}

// linked returns the person of a link whose creator may still do what the person may.
func (p *People) linked(ctx context.Context, id uuid.UUID) (Person, error) {
	d, err := p.document(ctx, id)
	if err != nil {
		return Person{}, err
	}
	if d.Inviter != uuid.Nil {
		if by, err := p.ByID(ctx, d.Inviter); err != nil || !by.covers(d) {
			return Person{}, cmp.Or(err, checks.ErrNotFound)
		}
	}
	return d.person(), nil
}

// UseLink stores the password that a person chose, ends their sessions, and uses the link up. email and name count only for
// the link of [People.First]. The error is a *[checks.FieldError] for what was typed, and [checks.ErrNotFound] for a link
// that was used or has expired.
func (p *People) UseLink(ctx context.Context, token, email, name, password string) (Person, error) {
	link, err := p.Link(ctx, token)
	if err != nil {
		return Person{}, err
	}
	first := link.Person.ID == uuid.Nil
	var fresh *document
	if first {
		if fresh, err = p.newDocument(Spec{Email: email, Name: name, Admin: true}); err != nil {
			return Person{}, err
		}
		link.Person = fresh.person()
	}
	hash, err := p.newPassword(ctx, password, link.Person.Email, link.Person.Name)
	if err != nil {
		return Person{}, err
	}
	kind, key := kindLink, hashOf(token)
	take := func(ctx context.Context, tx store.Tx) (proof bool, err error) {
		found, err := tx.LockRecords(ctx, p.now(), store.RecordQuery{Kind: &kind, Key: &key})
		if err == nil && len(found) == 0 {
			err = checks.ErrNotFound
		}
		if err != nil {
			return false, err
		}
		return string(found[0].Value) == proofLink, tx.SaveRecords(ctx, p.now(), store.Record{Kind: kind, Key: key})
	}
	if first {
		fresh.Password = hash
		err = p.db.Update(ctx, func(ctx context.Context, tx store.Tx) error {
			if _, err := take(ctx, tx); err != nil {
				return err
			}
			return p.addFirst(ctx, tx, fresh)
		})
		if errors.Is(err, checks.ErrExists) {
			err = &checks.FieldError{Field: "e-mail", Reason: "belongs to another account already"}
		}
		return fresh.person(), err
	}
	var used *document
	err = p.update(ctx, link.Person.ID, func(ctx context.Context, tx store.Tx, d *document) (bool, []audit.Entry, error) {
		proof, err := take(ctx, tx)
		if err != nil {
			return false, nil, err
		}
		used, d.Password, d.NeedsLink, d.Proved = d, hash, false, d.Proved || proof
		return true, []audit.Entry{p.note(audit.WithActor(ctx, actorOf(ctx, d)), uuid.Nil, "person.password", d.Email, audit.Change{Field: "password", To: "(secret)"})}, nil
	})
	if err != nil {
		return Person{}, err
	}
	return used.person(), nil
}

// addFirst adds the first administrator, unless there is one meanwhile.
func (p *People) addFirst(ctx context.Context, tx store.Tx, d *document) error {
	// Two links may be used at once, and there may be no record to lock: the second insertion waits for the end of the first.
	gate := store.Record{Kind: kindLock, Key: "first administrator", Value: []byte("{}"), New: true}
	if err := tx.SaveRecords(ctx, p.now(), gate); err != nil {
		return err
	}
	if err := tx.SaveRecords(ctx, p.now(), store.Record{Kind: gate.Kind, Key: gate.Key}); err != nil {
		return err
	}
	kind := kindPerson
	all, err := tx.LockRecords(ctx, p.now(), store.RecordQuery{Kind: &kind})
	if err != nil {
		return err
	}
	for _, r := range all {
		if known, err := parse(r); err != nil || known.Admin {
			return cmp.Or(err, checks.ErrNotFound)
		}
	}
	return p.add(audit.WithActor(ctx, actorOf(ctx, d)), tx, d)
}

// actorOf returns a person as the actor of their own change, at the address of the context.
func actorOf(ctx context.Context, d *document) audit.Actor {
	return audit.Actor{Kind: audit.Person, ID: d.ID.String(), Name: d.Email, Address: audit.ActorOf(ctx).Address}
}

// External is a person as an identity provider describes them.
type External struct {
	Issuer, Subject, Email, Name string
	EmailVerified                bool
	// HasRoles says that the provider decides on Admin and Roles. Roles has names of projects; "*" is every project.
	HasRoles, Admin bool
	Roles           map[string]Role
}

// identity is the key of the record of an account at a provider.
func identity(e External) string {
	text, _ := json.Marshal([]string{e.Issuer, e.Subject})
	return hashOf(string(text))
}
