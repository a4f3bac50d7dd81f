// Package people manages the people of an installation: their passwords, second factors, roles in projects, one-time links and
// sessions. It needs neither HTTP nor a monitor. Package server/dashboard/accounts has its pages.
//
//	known, err := people.New(store, nil)
//	ann, link, err := known.Create(ctx, people.Spec{Email: "ann@example.org", Admin: true})
//	fmt.Println("https://rollcall.example.org/signin/" + link.Token)
//
// # Passwords
//
// Passwords have 12 to 256 characters and are neither common nor easy to guess. The database stores argon2id hashes (19 MiB, two
// passes). Django's hashes, argon2id and PBKDF2, verify too, and the first sign-in replaces them. At most Config.Hashing
// hashes are computed at once, so that a flood of sign-ins does not slow down pings.
//
// # Attacks
//
// Failed attempts are limited by network, an IPv4 address or an IPv6 /64, and by account. Networks and browsers from which the
// person has signed in have limits of their own, so nobody elsewhere can lock the person out. A one-time link, a passkey and
// an identity provider always work. Known and unknown accounts get the same answer after the same time, except an account
// whose hash is still Django's. Each refusal is logged once, without what was typed. Each server counts on its own.
//
// # Sessions
//
// Changing a password and resetting the second factors delete the sessions of the person in their transaction, and
// [Person].Revision refuses those of sign-ins that are still running. Nothing caches sessions, so they end at once on every server. A new role ends none: read the
// roles at each request.
//
// # Gains
//
// The creator of an invitation can use its link. So what an account gains ends what others may hold of it, in the transaction of
// the gain: its links, password, second factors and sessions. That is so when the person first signs in at a provider or by a
// trusted proxy, and when a role goes beyond the rights of the person who created the link. [audit.ActorOf] says who that was;
// links of programs and commands are trusted.
package people

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"runtime"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"
	"golang.org/x/sync/semaphore"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/audit"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
	"github.com/rollcall-dev/rollcall/checks/schedule"
)

// Role is what a person may do in a project.
type Role string

// The roles. Viewers see a project. Editors can also change checks, integrations and status pages. Owners can also manage keys
// and members, and delete the project.
const (
	Viewer Role = "viewer"
	Editor Role = "editor"
	Owner  Role = "owner"
)

// ParseRole reads the name of a role.
func ParseRole(text string) (Role, error) {
	switch r := Role(text); r {
	case Viewer, Editor, Owner:
		return r, nil
	}
	return "", &checks.FieldError{Field: "role", Reason: fmt.Sprintf("is unknown: %q; the roles are viewer, editor and owner", text)}
}

// Right returns the right of a person with the role: [checks.None] for a role that does not exist.
func (r Role) Right() checks.Right {
	switch r {
	case Viewer:
		return checks.Read
	case Editor:
		return checks.Edit
	case Owner:
		return checks.Own
	}
	return checks.None
}

// Person is somebody with an account.
type Person struct {
	ID          uuid.UUID
	Email, Name string
	// Admin makes the person the owner of every project, and lets them manage people.
	Admin bool
	// Roles are the roles by project, without what Admin adds.
	Roles                map[uuid.UUID]Role
	CreatedAt            time.Time
	HasPassword, HasTOTP bool
	// RecoveryCodes is how many are left.
	RecoveryCodes int
	Passkeys      []Passkey
	// Issuer is the identity provider that the person signs in at, or "".
	Issuer string
	// Unverified says that the provider has not verified the e-mail address, so that somebody else may own it.
	Unverified bool
	// Proved says that the person has signed in at a provider or by a trusted proxy, or used the link of [People.ProofLink]: a
	// password and second factors set since are their own.
	Proved bool
	// NeedsLink says that a new role has ended the links and credentials of the person, who needs a new link to sign in.
	NeedsLink bool
	// Revision changes with whatever ends the sign-ins in progress. A session is stored only with the revision that its sign-in
	// has read, and a passkey with the one that its owner was asked at.
	Revision int64
	// SignInsEndedAt is when Revision last changed. A sign-in that began before must start over.
	SignInsEndedAt time.Time
	Preferences    Preferences
}

// Role returns the role in a project: "" for none, [Owner] for an administrator.
func (p Person) Role(project uuid.UUID) Role {
	if p.Admin {
		return Owner
	}
	return p.Roles[project]
}

// Preferences are a person's own. The zero value of a field leaves the choice to the browser.
type Preferences struct {
	// Zone is an IANA time zone, and Clock is 12 or 24 hours.
	Zone  string `json:"zone,omitempty"`
	Clock int    `json:"clock,omitempty"`
	// FirstPage and Theme are words of the pages, of 100 bytes at most.
	FirstPage string `json:"first_page,omitempty"`
	Theme     string `json:"theme,omitempty"`
}

func (f Preferences) check() error {
	if f.Zone != "" {
		if _, err := schedule.LoadLocation(f.Zone); err != nil {
			return &checks.FieldError{Field: "time zone", Reason: "is unknown; use a name such as Europe/Berlin", Err: err}
		}
	}
	if f.Clock != 0 && f.Clock != 12 && f.Clock != 24 {
		return &checks.FieldError{Field: "clock", Reason: "must be 12 or 24"}
	}
	if len(f.FirstPage) > maxName || len(f.Theme) > maxName {
		return &checks.FieldError{Field: "first page", Reason: "and theme must be words of these pages"}
	}
	return nil
}

// Passkey is a credential of WebAuthn. Package people does not look into Credential.
type Passkey struct {
	ID         []byte          `json:"id"`
	Name       string          `json:"name"`
	AddedAt    time.Time       `json:"added_at"`
	Credential json.RawMessage `json:"credential"`
}

// ErrRefused is the error of a sign-in that failed, whatever the reason, so that it does not reveal whether an account exists.
var ErrRefused = errors.New("people: the sign-in was refused")

// ErrChanged is an [ErrRefused] of a sign-in during which what it was made with ended, or all sessions did.
var ErrChanged = fmt.Errorf("%w: the account has changed meanwhile", ErrRefused)

// ErrLastAdmin is the error of a change that would leave no administrator.
var ErrLastAdmin = &checks.FieldError{Field: "the last administrator", Reason: "must stay: make someone else an administrator first"}

// Config configures people. The zero value of a field selects its default.
type Config struct {
	// Now is the clock. Default: time.Now.
	Now func() time.Time
	// Logger receives refused sign-ins, without secrets. Default: slog.Default().
	Logger *slog.Logger
	// Audit adds changes to the audit log.
	Audit bool
	// Hashing is how many passwords are hashed at once; each takes 19 MiB, and one core for about 20 ms. Eight times as many
	// sign-ins from strange networks may wait; more are refused with a [*LimitedError]. Default: half of the cores, at most 4.
	Hashing int
}

// People is safe for concurrent use.
type People struct {
	db      store.Store
	now     func() time.Time
	log     *slog.Logger
	audit   bool
	hashing *semaphore.Weighted // passwords that are hashed
	waiting *semaphore.Weighted // those of strangers, and the strangers that wait
	limits  limits
}

// Store is the database of the people: a *sqlstore.Store, or a type that embeds one.
type Store interface {
	// Contract returns what package people calls. Its type is internal, and changes with every version.
	Contract() any
}

// New returns the people on a store whose schema is up to date. A nil config selects the defaults.
func New(s Store, c *Config) (*People, error) {
	if s == nil {
		return nil, errors.New("people: the store is nil")
	}
	db, ok := s.Contract().(store.Store)
	if !ok {
		return nil, errors.New("people: the store must be one of package sqlstore, of the same version")
	}
	if c == nil {
		c = &Config{}
	}
	if c.Hashing < 0 {
		return nil, errors.New("people: Hashing is negative")
	}
	n := int64(cmp.Or(c.Hashing, min(4, max(1, runtime.NumCPU()/2))))
	p := &People{
		db: db, now: c.Now, audit: c.Audit, hashing: semaphore.NewWeighted(n), waiting: semaphore.NewWeighted(9 * n),
	}
	if p.now == nil {
		p.now = time.Now
	}
	p.log = cmp.Or(c.Logger, slog.Default()).With(slog.Group("rollcall", "component", "people"))
	return p, nil
}

// The kinds of records.
const (
	kindPerson   = "person"
	kindEmail    = "email"
	kindLink     = "link"
	kindSession  = "session"
	kindIdentity = "identity"
	kindPasskey  = "passkey"
	kindSpent    = "spent"
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
	TOTP       string             `json:"totp,omitempty"`     // the secret
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

func (d *document) record() (store.Record, error) {
	text, err := json.Marshal(d)
	return store.Record{Kind: kindPerson, Key: d.ID.String(), Owner: d.ID, Value: text}, err
}

// pointer returns a record that refers to a person.
func pointer(kind, key string, to uuid.UUID) store.Record {
	return store.Record{Kind: kind, Key: key, Owner: to, Value: []byte(`{}`), New: true}
}

// one returns a record that has not ended.
func (p *People) one(ctx context.Context, kind, key string) (store.Record, error) {
	if !utf8.ValidString(key) || strings.ContainsRune(key, 0) { // PostgreSQL would refuse the query
		return store.Record{}, checks.ErrNotFound
	}
	found, err := p.db.Records(ctx, p.now(), store.RecordQuery{Kind: &kind, Key: &key})
	if err == nil && len(found) == 0 {
		err = checks.ErrNotFound
	}
	if err != nil {
		return store.Record{}, err
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

func parse(r store.Record) (*document, error) {
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

// ByEmail returns the person with an e-mail address, or [checks.ErrNotFound].
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
	found, err := p.db.Records(ctx, p.now(), store.RecordQuery{Kind: &kind})
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

// Members returns the people with a role in a project, by e-mail address. Administrators without one are none.
func (p *People) Members(ctx context.Context, project uuid.UUID) ([]Person, error) {
	list, err := p.List(ctx)
	return slices.DeleteFunc(list, func(q Person) bool { return q.Roles[project] == "" }), err
}

// note returns an entry of the audit log about a person.
func (p *People) note(ctx context.Context, project uuid.UUID, action, email string, changes ...audit.Change) audit.Entry {
	return audit.Entry{At: p.now(), Actor: audit.ActorOf(ctx), ProjectID: project, Action: action, Object: email, Changes: changes}
}

// endSignIns ends the sign-ins in progress.
func (p *People) endSignIns(d *document) { d.Revision, d.EndedAt = d.Revision+1, p.now().UTC() }

// change is a change of a person. It returns whether all sessions and the sign-ins in progress end, and what the audit log says.
type change func(ctx context.Context, tx store.Tx, d *document) (end bool, entries []audit.Entry, err error)

// update changes a person in a transaction.
func (p *People) update(ctx context.Context, id uuid.UUID, change change) error {
	return p.db.Update(ctx, func(ctx context.Context, tx store.Tx) error {
		d, err := p.lock(ctx, tx, id)
		if err != nil {
			return err
		}
		return p.apply(ctx, tx, d, change)
	})
}

// lock locks the record of a person and returns it. Code that stores or ends sessions of the person holds the lock.
func (p *People) lock(ctx context.Context, tx store.Tx, id uuid.UUID) (*document, error) {
	kind, key := kindPerson, id.String()
	found, err := tx.LockRecords(ctx, p.now(), store.RecordQuery{Kind: &kind, Key: &key})
	if err == nil && len(found) == 0 {
		err = checks.ErrNotFound
	}
	if err != nil {
		return nil, err
	}
	return parse(found[0])
}

// apply changes a person whose record is locked.
func (p *People) apply(ctx context.Context, tx store.Tx, d *document, change change) error {
	end, entries, err := change(ctx, tx, d)
	if err != nil {
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

func (p *People) saveAudit(ctx context.Context, tx store.Tx, entries ...audit.Entry) error {
	if !p.audit {
		return nil
	}
	return tx.SaveAudit(ctx, entries...)
}

// deleteOwned deletes the records of a kind that a person owns, but those that keep says to keep. It returns how many.
func (p *People) deleteOwned(ctx context.Context, tx store.Tx, kind string, owner uuid.UUID, keep func(store.Record) bool) (deleted int, err error) {
	found, err := tx.LockRecords(ctx, p.now(), store.RecordQuery{Kind: &kind, Owner: &owner})
	if err != nil {
		return 0, err
	}
	for _, r := range found {
		if keep != nil && keep(r) {
			continue
		}
		if err := tx.SaveRecords(ctx, p.now(), store.Record{Kind: r.Kind, Key: r.Key}); err != nil {
			return deleted, err
		}
		deleted++
	}
	return deleted, nil
}
