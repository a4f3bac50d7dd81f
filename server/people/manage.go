package people

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/audit"
	"github.com/rollcall-dev/rollcall/checks/records"
)

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

func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
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
func (p *People) add(ctx context.Context, tx records.Tx, d *document, more ...records.Record) error {
	if err := p.claim(ctx, tx, d); err != nil {
		return err
	}
	r, err := d.record()
	if err != nil {
		return err
	}
	if err := tx.SaveRecords(ctx, p.now(), append([]records.Record{r}, more...)...); err != nil {
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

// claim lets a person be found by their address. One who is Unverified gives way, and does without it if somebody else has it. The
// error is [checks.ErrExists] if the address is taken.
func (p *People) claim(ctx context.Context, tx records.Tx, d *document) error {
	own := pointer(kindEmail, d.Email, d.ID)
	found, err := tx.LockRecords(ctx, p.now(), records.Query{Kind: &own.Kind, Key: &own.Key})
	if err != nil {
		return err
	}
	if len(found) > 0 && found[0].Owner != d.ID {
		holder, err := p.lock(ctx, tx, found[0].Owner)
		switch {
		case err != nil:
			return err
		case !holder.Unverified:
			return checks.ErrExists
		case d.Unverified:
			return nil
		}
	}
	own.New = len(found) == 0
	return tx.SaveRecords(ctx, p.now(), own)
}

// Create adds a person, who chooses a password by the link. The actor of the context is the inviter; see the package. The error is
// [checks.ErrExists] for an e-mail address that somebody has who is not Unverified, or a *[checks.FieldError].
func (p *People) Create(ctx context.Context, s Spec) (Person, Link, error) {
	d, err := p.newDocument(s)
	if err != nil {
		return Person{}, Link{}, err
	}
	d.Inviter = makerOf(ctx, d.ID)
	link, record := p.newLink(d.person())
	err = p.db.Update(ctx, func(ctx context.Context, tx records.Tx) error { return p.add(ctx, tx, d, record) })
	if err != nil {
		return Person{}, Link{}, err
	}
	return d.person(), link, nil
}

// SetRole gives a person a role in a project, or removes it with "". A role that the inviter of the person could not give ends
// what others may hold of the account, and sets NeedsLink.
func (p *People) SetRole(ctx context.Context, id, project uuid.UUID, role Role) error {
	if role != "" {
		if _, err := ParseRole(string(role)); err != nil {
			return err
		}
	}
	return p.update(ctx, id, func(ctx context.Context, tx records.Tx, d *document) (bool, []audit.Entry, error) {
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
		ended, err := p.gain(ctx, tx, d, d.coveredBy)
		return false, append(entries, ended...), err
	})
}

// forgetProjects removes the roles in projects that were deleted.
func (p *People) forgetProjects(ctx context.Context) error {
	list, err := p.List(ctx)
	if err != nil {
		return err
	}
	projects, err := p.mon.Projects().List(ctx) // after the people: a role is younger than its project
	if err != nil {
		return err
	}
	for _, q := range list {
		for _, project := range projects {
			delete(q.Roles, project.ID)
		}
		if len(q.Roles) == 0 {
			continue
		}
		err := p.update(ctx, q.ID, func(_ context.Context, _ records.Tx, d *document) (bool, []audit.Entry, error) {
			maps.DeleteFunc(d.Roles, func(project uuid.UUID, _ Role) bool { return q.Roles[project] != "" })
			return false, nil, nil
		})
		if err != nil && !errors.Is(err, checks.ErrNotFound) {
			return err
		}
	}
	return nil
}

// SetAdmin makes a person an administrator, or revokes that. Unless the inviter of the person is an administrator, the gain ends what
// others may hold of the account, and sets NeedsLink. The error is [ErrLastAdmin] for the last administrator.
func (p *People) SetAdmin(ctx context.Context, id uuid.UUID, on bool) error {
	change := func(ctx context.Context, tx records.Tx, d *document) (bool, []audit.Entry, error) {
		if d.Admin == on {
			return false, nil, nil
		}
		d.Admin = on
		entries := []audit.Entry{p.note(ctx, uuid.Nil, "person.admin", d.Email, audit.Change{Field: "admin", From: fmt.Sprint(!on), To: fmt.Sprint(on)})}
		if !on {
			return false, entries, nil
		}
		ended, err := p.gain(ctx, tx, d, d.coveredBy)
		return false, append(entries, ended...), err
	}
	if on {
		return p.update(ctx, id, change)
	}
	return p.db.Update(ctx, func(ctx context.Context, tx records.Tx) error {
		d, err := p.dispensable(ctx, tx, id)
		if err != nil {
			return err
		}
		return p.apply(ctx, tx, d, change)
	})
}

// dispensable locks all people, so that two administrators cannot leave at once, and returns a person. The error is
// [ErrLastAdmin] for the only administrator, who is returned too.
func (p *People) dispensable(ctx context.Context, tx records.Tx, id uuid.UUID) (*document, error) {
	kind := kindPerson
	all, err := tx.LockRecords(ctx, p.now(), records.Query{Kind: &kind})
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
		return found, ErrLastAdmin
	}
	return found, nil
}

// Delete deletes a person with everything that leads to them. The error is [ErrLastAdmin] for the last administrator.
func (p *People) Delete(ctx context.Context, id uuid.UUID) error {
	return p.db.Update(ctx, func(ctx context.Context, tx records.Tx) error {
		d, err := p.dispensable(ctx, tx, id)
		if err != nil {
			return err
		}
		owned, err := tx.LockRecords(ctx, p.now(), records.Query{Owner: &id})
		if err != nil {
			return err
		}
		for _, r := range owned {
			if err := tx.SaveRecords(ctx, p.now(), records.Record{Kind: r.Kind, Key: r.Key}); err != nil {
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
	return p.update(ctx, id, func(ctx context.Context, _ records.Tx, d *document) (bool, []audit.Entry, error) {
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
	return p.update(ctx, id, func(_ context.Context, _ records.Tx, d *document) (bool, []audit.Entry, error) {
		d.Preferences = prefs
		return false, nil, nil
	})
}

// ResetMFA removes the authenticator app, the recovery codes and the passkeys of a person, and ends the sessions.
func (p *People) ResetMFA(ctx context.Context, id uuid.UUID) error {
	return p.update(ctx, id, func(ctx context.Context, tx records.Tx, d *document) (bool, []audit.Entry, error) {
		d.TOTP, d.Recovery, d.Passkeys = "", nil, nil
		_, err := p.deleteOwned(ctx, tx, kindPasskey, id, nil)
		return true, []audit.Entry{p.note(ctx, uuid.Nil, "person.mfa", d.Email, audit.Change{Field: "second factors", From: "(secret)"})}, err
	})
}

// actorOf returns a person as the actor of their own change, at the address of the context.
func actorOf(ctx context.Context, d *document) audit.Actor {
	return audit.Actor{Kind: audit.Person, ID: d.ID.String(), Name: d.Email, Address: audit.ActorOf(ctx).Address}
}
