package people

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/audit"
	"github.com/rollcall-dev/rollcall/checks/records"
)

// linkAge is how long a link can be used.
const linkAge = 72 * time.Hour

// Link lets one person choose a password, once. Anyone with the token can use it.
type Link struct {
	Token string
	// Person is who chooses a password, or the zero value for the link of [People.First].
	Person Person
	Until  time.Time
}

// newLink returns a link and its record, which has only a hash of the token.
func (p *People) newLink(q Person) (Link, records.Record) {
	l := Link{Token: rand.Text() + rand.Text(), Person: q, Until: p.now().Add(linkAge)}
	return l, records.Record{Kind: kindLink, Key: hashOf(l.Token), Owner: q.ID, Value: []byte(`{}`), Until: l.Until}
}

// First returns a link that creates the first administrator. The error is [checks.ErrExists] if there is one.
func (p *People) First(ctx context.Context) (Link, error) {
	if administered, err := p.administered(ctx); err != nil || administered {
		return Link{}, cmp.Or(err, checks.ErrExists)
	}
	link, record := p.newLink(Person{})
	return link, p.db.Update(ctx, func(ctx context.Context, tx records.Tx) error { return tx.SaveRecords(ctx, p.now(), record) })
}

// administered reports whether there is an administrator.
func (p *People) administered(ctx context.Context) (bool, error) {
	list, err := p.List(ctx)
	return slices.ContainsFunc(list, func(q Person) bool { return q.Admin }), err
}

// ResetPassword deletes the password, the sessions and the older links of a person, and returns a link to choose a new password.
// Second factors go too if they may be those of an inviter who is no administrator.
func (p *People) ResetPassword(ctx context.Context, id uuid.UUID) (link Link, err error) {
	err = p.update(ctx, id, func(ctx context.Context, tx records.Tx, d *document) (bool, []audit.Entry, error) {
		maker := makerOf(ctx, id)
		entries, err := p.gain(ctx, tx, d, func(inviter Person) bool { return inviter.Admin || maker == inviter.ID })
		if err != nil {
			return false, nil, err
		}
		if _, err := p.deleteOwned(ctx, tx, kindLink, id, nil); err != nil {
			return false, nil, err
		}
		d.Password, d.NeedsLink, d.Inviter = "", false, maker
		var record records.Record
		link, record = p.newLink(d.person())
		entries = append(entries, p.note(ctx, uuid.Nil, "person.password", d.Email, audit.Change{Field: "password", From: "(secret)"}))
		return true, entries, tx.SaveRecords(ctx, p.now(), record)
	})
	return link, err
}

// ProofLink returns a link for somebody with NeedsLink. Only the mailbox of the person may get it: using it proves the address.
// Older links end. The error is [checks.ErrNotFound] for a person who needs no link.
func (p *People) ProofLink(ctx context.Context, id uuid.UUID) (link Link, err error) {
	err = p.update(ctx, id, func(ctx context.Context, tx records.Tx, d *document) (bool, []audit.Entry, error) {
		if !d.NeedsLink {
			return false, nil, checks.ErrNotFound
		}
		if _, err := p.deleteOwned(ctx, tx, kindLink, id, nil); err != nil {
			return false, nil, err
		}
		var record records.Record
		link, record = p.newLink(d.person())
		record.Value = []byte(proofLink)
		return false, nil, tx.SaveRecords(ctx, p.now(), record)
	})
	return link, err
}

// proofLink is the value of the record of a link that only the mailbox of its person has.
const proofLink = `{"proof":true}`

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
		if by, err := p.ByID(ctx, d.Inviter); err != nil || !d.coveredBy(by) {
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
	if first {
		fresh.Password = hash
		err = p.db.Update(ctx, func(ctx context.Context, tx records.Tx) error {
			if _, err := p.takeLink(ctx, tx, token); err != nil {
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
	err = p.update(ctx, link.Person.ID, func(ctx context.Context, tx records.Tx, d *document) (bool, []audit.Entry, error) {
		if trusted, err := p.trusts(ctx, tx, d, d.coveredBy); err != nil || !trusted {
			return false, nil, cmp.Or(err, checks.ErrNotFound)
		}
		proof, err := p.takeLink(ctx, tx, token)
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

// takeLink uses a link up, and reports whether only the mailbox of its person has it.
func (p *People) takeLink(ctx context.Context, tx records.Tx, token string) (proof bool, err error) {
	kind, key := kindLink, hashOf(token)
	found, err := tx.LockRecords(ctx, p.now(), records.Query{Kind: &kind, Key: &key})
	if err == nil && len(found) == 0 {
		err = checks.ErrNotFound
	}
	if err != nil {
		return false, err
	}
	return string(found[0].Value) == proofLink, tx.SaveRecords(ctx, p.now(), records.Record{Kind: kind, Key: key})
}

// addFirst adds the first administrator, unless there is one meanwhile.
func (p *People) addFirst(ctx context.Context, tx records.Tx, d *document) error {
	// Two links may be used at once, and there may be no record to lock: the second insertion waits for the end of the first.
	gate := records.Record{Kind: kindLock, Key: "first administrator", Value: []byte("{}"), New: true}
	if err := tx.SaveRecords(ctx, p.now(), gate); err != nil {
		return err
	}
	if err := tx.SaveRecords(ctx, p.now(), records.Record{Kind: gate.Kind, Key: gate.Key}); err != nil {
		return err
	}
	kind := kindPerson
	all, err := tx.LockRecords(ctx, p.now(), records.Query{Kind: &kind})
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
