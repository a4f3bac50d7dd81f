package people

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/audit"
	"github.com/rollcall-dev/rollcall/checks/records"
	"github.com/rollcall-dev/rollcall/server/internal/sessions"
)

// The kinds of records.
const (
	kindPerson   = "person"
	kindEmail    = "email"
	kindLink     = "link"
	kindSession  = sessions.Kind
	kindIdentity = "identity"
	kindPasskey  = "passkey"
	kindLock     = "lock"
)

// document is the record of a person.
type document struct {
	ID         uuid.UUID          `json:"id"`
	Email      string             `json:"email"`
	Name       string             `json:"name,omitempty"`
	Admin      bool               `json:"admin,omitempty"`
	Roles      map[uuid.UUID]Role `json:"roles,omitempty"`
	CreatedAt  time.Time          `json:"created_at"`
	Password   string             `json:"password,omitempty"` // the hash
	TOTP       string             `json:"totp,omitempty"`     // the secret, encrypted: see sealers
	TOTPStep   int64              `json:"totp_step,omitempty"`
	Recovery   []string           `json:"recovery,omitempty"` // hashes
	Passkeys   []Passkey          `json:"passkeys,omitempty"`
	Issuer     string             `json:"issuer,omitempty"`
	Subject    string             `json:"subject,omitempty"`
	Unverified bool               `json:"unverified,omitempty"`
	Proved     bool               `json:"proved,omitempty"`
	NeedsLink  bool               `json:"needs_link,omitempty"`
	Revision   int64              `json:"revision,omitempty"`
	EndedAt    time.Time          `json:"sign_ins_ended_at,omitzero"`
	// Inviter is who created the newest link, and so may hold it or what was set with it. uuid.Nil is a program or a command.
	Inviter     uuid.UUID   `json:"inviter,omitzero"`
	Preferences Preferences `json:"preferences"`
	// Known lists the networks of the latest sign-ins, which the limit by account does not apply to.
	Known []string `json:"known,omitempty"`

	same bool // the change writes the same password or secret in another form
}

func (d *document) person() Person {
	roles := maps.Clone(d.Roles)
	if roles == nil {
		roles = map[uuid.UUID]Role{}
	}
	return Person{
		ID: d.ID, Email: d.Email, Name: d.Name, Admin: d.Admin, Roles: roles, CreatedAt: d.CreatedAt, HasPassword: d.Password != "", HasTOTP: d.TOTP != "",
		RecoveryCodes: len(d.Recovery), Passkeys: slices.Clone(d.Passkeys), Issuer: d.Issuer, Unverified: d.Unverified,
		Proved: d.Proved, NeedsLink: d.NeedsLink, Revision: d.Revision, SignInsEndedAt: d.EndedAt, Preferences: d.Preferences,
	}
}

func (d *document) record() (records.Record, error) {
	text, err := json.Marshal(d)
	return records.Record{Kind: kindPerson, Key: d.ID.String(), Owner: d.ID, Value: text}, err
}

// pointer returns a record that refers to a person.
func pointer(kind, key string, to uuid.UUID) records.Record {
	return records.Record{Kind: kind, Key: key, Owner: to, Value: []byte(`{}`), New: true}
}

// one returns a record that has not ended.
func (p *People) one(ctx context.Context, kind, key string) (records.Record, error) {
	if !utf8.ValidString(key) || strings.ContainsRune(key, 0) { // PostgreSQL would refuse the query
		return records.Record{}, checks.ErrNotFound
	}
	found, err := p.db.Records(ctx, p.now(), records.Query{Kind: &kind, Key: &key})
	if err == nil && len(found) == 0 {
		err = checks.ErrNotFound
	}
	if err != nil {
		return records.Record{}, err
	}
	return found[0], nil
}

func (p *People) document(ctx context.Context, id uuid.UUID) (*document, error) {
	r, err := p.one(ctx, kindPerson, id.String())
	if err != nil {
		return nil, err
	}
	return parse(r)
}

func parse(r records.Record) (*document, error) {
	d := new(document)
	if err := json.Unmarshal(r.Value, d); err != nil {
		return nil, fmt.Errorf("people: person %s: %w", r.Key, err)
	}
	return d, nil
}

// ByID returns a person, or [checks.ErrNotFound].
func (p *People) ByID(ctx context.Context, id uuid.UUID) (Person, error) {
	d, err := p.document(ctx, id)
	if err != nil {
		return Person{}, err
	}
	return d.person(), nil
}

// ByEmail returns the person with an e-mail address, or [checks.ErrNotFound]. It returns one who is Unverified only if there is no other.
func (p *People) ByEmail(ctx context.Context, email string) (Person, error) {
	return p.by(ctx, kindEmail, foldEmail(email))
}

// by returns the person that a pointer record refers to.
func (p *People) by(ctx context.Context, kind, key string) (Person, error) {
	r, err := p.one(ctx, kind, key)
	if err != nil {
		return Person{}, err
	}
	return p.ByID(ctx, r.Owner)
}

// List returns all people, by e-mail address.
func (p *People) List(ctx context.Context) ([]Person, error) {
	kind := kindPerson
	found, err := p.db.Records(ctx, p.now(), records.Query{Kind: &kind})
	list := make([]Person, len(found))
	for i, r := range found {
		d, err := parse(r)
		if err != nil {
			return nil, err
		}
		list[i] = d.person()
	}
	slices.SortFunc(list, func(a, b Person) int { return strings.Compare(a.Email, b.Email) })
	return list, err
}

// Members returns the people who can open a project, by e-mail address: those with a role in it, and all administrators.
func (p *People) Members(ctx context.Context, project uuid.UUID) ([]Person, error) {
	list, err := p.List(ctx)
	return slices.DeleteFunc(list, func(q Person) bool { return q.Roles[project] == "" && !q.Admin }), err
}

// note returns an entry of the audit log about a person.
func (p *People) note(ctx context.Context, project uuid.UUID, action, email string, changes ...audit.Change) audit.Entry {
	return audit.Entry{At: p.now(), Actor: audit.ActorOf(ctx), ProjectID: project, Action: action, Object: email, Changes: changes}
}

// endSignIns ends the sign-ins in progress.
func (p *People) endSignIns(d *document) { d.Revision, d.EndedAt = d.Revision+1, p.now().UTC() }

// change is a change of a person. It returns whether all sessions and the sign-ins in progress end, and what the audit log says.
type change func(ctx context.Context, tx records.Tx, d *document) (end bool, entries []audit.Entry, err error)

// update changes a person in a transaction.
func (p *People) update(ctx context.Context, id uuid.UUID, change change) error {
	defer p.wake()
	return p.db.Update(ctx, func(ctx context.Context, tx records.Tx) error {
		d, err := p.lock(ctx, tx, id)
		if err != nil {
			return err
		}
		return p.apply(ctx, tx, d, change)
	})
}

// lock locks the record of a person and returns it. Code that stores or ends sessions of the person holds the lock.
func (p *People) lock(ctx context.Context, tx records.Tx, id uuid.UUID) (*document, error) {
	kind, key := kindPerson, id.String()
	found, err := tx.LockRecords(ctx, p.now(), records.Query{Kind: &kind, Key: &key})
	if err == nil && len(found) == 0 {
		err = checks.ErrNotFound
	}
	if err != nil {
		return nil, err
	}
	return parse(found[0])
}

// apply changes a person whose record is locked.
func (p *People) apply(ctx context.Context, tx records.Tx, d *document, change change) error {
	before := d.credentials()
	end, entries, err := change(ctx, tx, d)
	if err != nil {
		return err
	}
	actor := audit.ActorOf(ctx)
	if len(entries) > 0 {
		actor = entries[0].Actor
	}
	if err := p.queueNotices(ctx, tx, before, d, actor); err != nil {
		return err
	}
	if end {
		p.endSignIns(d)
		if _, err := p.deleteOwned(ctx, tx, kindSession, d.ID, nil); err != nil {
			return err
		}
	}
	r, err := d.record()
	if err != nil {
		return err
	}
	if err := tx.SaveRecords(ctx, p.now(), r); err != nil {
		return err
	}
	return p.saveAudit(ctx, tx, entries...)
}

func (p *People) saveAudit(ctx context.Context, tx records.Tx, entries ...audit.Entry) error {
	if !p.audit {
		return nil
	}
	return tx.SaveAudit(ctx, entries...)
}

// deleteOwned deletes the records of a kind that a person owns, but those that keep says to keep. It returns how many.
func (p *People) deleteOwned(ctx context.Context, tx records.Tx, kind string, owner uuid.UUID, keep func(records.Record) bool) (deleted int, err error) {
	found, err := tx.LockRecords(ctx, p.now(), records.Query{Kind: &kind, Owner: &owner})
	if err != nil {
		return 0, err
	}
	for _, r := range found {
		if keep != nil && keep(r) {
			continue
		}
		if err := tx.SaveRecords(ctx, p.now(), records.Record{Kind: r.Kind, Key: r.Key}); err != nil {
			return deleted, err
		}
		deleted++
	}
	return deleted, nil
}
