// Package people manages the people of an installation: their passwords, second factors, roles in projects, one-time links and
// sessions. It needs no HTTP. Package server/dashboard/accounts has its pages.
//
//	known, err := people.New(mon, nil)
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
// [People.Unchanged] refuses those of sign-ins that are still running. Nothing caches sessions, so they end at once on every server. A new role ends none: read the
// roles at each request.
//
// # Gains
//
// The creator of an invitation can use its link. So what an account gains ends what others may hold of it, in the transaction of
// the gain: its links, password, second factors and sessions. That is so when the person first signs in at a provider or by a
// trusted proxy, and when a role goes beyond the rights of the person who created the link. [audit.ActorOf] says who that was;
// links of programs and commands are trusted.
//
// # Mails about changes
//
// Whatever changes how a person signs in queues a mail to them, in its transaction: see [Config].Mail. A program without HTTP sets
// it and calls [People.Run]. [audit.WithActor] and [WithBrowser] say what the mail tells of who made the change.
//
// # Secrets
//
// Passwords and recovery codes are stored as hashes, and links and sessions as hashes of their tokens. The secrets of authenticator
// apps must be read, so they are encrypted by AES-256-GCM with the first of Config.Keys, each for its person. Run renews those that
// another of the keys has encrypted.
package people

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/semaphore"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/records"
	"github.com/rollcall-dev/rollcall/checks/schedule"
	"github.com/rollcall-dev/rollcall/server/internal/limit"
	"github.com/rollcall-dev/rollcall/server/internal/secret"
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
	// Unverified says that the provider has not verified the e-mail address. It is no more than a claim: whoever proves to own the
	// address, or is invited by it, gets an account of their own, and is then whom [People.ByEmail] finds. Its domain is in ASCII.
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
	// Counter is the number of the last signature. It stays 0 with many authenticators.
	Counter uint32 `json:"counter,omitempty"`
}

// MaxPasskeys bounds the passkeys of a person.
const MaxPasskeys = 20

// ErrManyPasskeys is the error of a passkey beyond [MaxPasskeys].
var ErrManyPasskeys = &checks.FieldError{Field: "passkeys", Reason: fmt.Sprintf("are limited to %d: delete one first", MaxPasskeys)}

// ErrRefused is the error of a sign-in that failed, whatever the reason, so that it does not reveal whether an account exists.
var ErrRefused = errors.New("people: the sign-in was refused")

// ErrAddress is an [ErrRefused] of a sign-in at a provider without an e-mail address that an account can have.
var ErrAddress = fmt.Errorf("%w: no usable e-mail address", ErrRefused)

// ErrChanged is an [ErrRefused] of a sign-in during which what it was made with ended, or all sessions did.
var ErrChanged = fmt.Errorf("%w: the account has changed meanwhile", ErrRefused)

// ErrCloned is an [ErrRefused] of a passkey whose counter did not go up: another person may have copied it.
var ErrCloned = fmt.Errorf("%w: the counter of the passkey did not go up, so there may be a copy of it", ErrRefused)

// ErrLastAdmin is the error of a change that would leave no administrator.
var ErrLastAdmin = &checks.FieldError{Field: "the last administrator", Reason: "must stay: make someone else an administrator first"}

// Config configures people. The zero value of a field selects its default.
type Config struct {
	// Logger receives refused sign-ins, without secrets. Default: slog.Default().
	Logger *slog.Logger
	// Hashing is how many passwords are hashed at once; each takes 19 MiB, and one core for about 20 ms. Eight times as many
	// sign-ins from strange networks may wait; more are refused with a [*LimitedError]. Default: half of the cores, at most 4.
	Hashing int
	// Keys returns the keys, each of 16 bytes or more, that encrypt the secrets of authenticator apps: the first encrypts, and all
	// decrypt. It is called when a secret is needed. With create, it may create the first one: a secret is about to be stored. All
	// servers on a database need the same. Default: a key in the database, beside what it encrypts.
	Keys func(ctx context.Context, create bool) ([][]byte, error)
	// Mail sends a message to the address of a person whose password, authenticator app, passkeys or other credentials have
	// changed. [People.Run] calls it, never the change itself: mails wait in the database, also those about the changes of
	// other programs, and are tried again for 72 hours. Five go to an address within an hour; further changes leave in
	// one mail. Default: none, and mails that nobody sends end after three days.
	Mail func(ctx context.Context, address, subject, text string) error
	// URL is where people sign in. Mails name it. Default: none.
	URL string
	// SecondFactor says whose password alone is not enough to sign in. Default: nobody's.
	SecondFactor Demand
}

// Demand says who must use a second factor: an authenticator app or a passkey. What an identity provider or a proxy asks for is theirs.
type Demand string

// The demands.
const (
	OfNobody Demand = ""
	OfAdmins Demand = "admins"
	OfAll    Demand = "all"
)

// ErrLastFactor is the error of a change that would leave a person without the second factor that they must have.
var ErrLastFactor = &checks.FieldError{Field: "second factor", Reason: "is required on this server: add another one first"}

// NeedsFactor reports whether a person must use a second factor: a passkey, a provider and a proxy need no other.
func (p *People) NeedsFactor(q Person) bool {
	return q.HasPassword && (p.demand == OfAll || p.demand == OfAdmins && q.Admin)
}

// HasFactor reports whether the person has an authenticator app or a passkey.
func (p Person) HasFactor() bool { return p.HasTOTP || len(p.Passkeys) > 0 }

// People is safe for concurrent use.
type People struct {
	mon     *monitor.Monitor
	db      records.Store
	now     func() time.Time
	log     *slog.Logger
	audit   bool
	hashing *semaphore.Weighted // passwords that are hashed
	waiting *semaphore.Weighted // those of strangers, and the strangers that wait
	limits  limits
	// refusals are the sign-ins that were refused.
	refusals limit.Repeats

	keys   func(ctx context.Context, create bool) ([][]byte, error)
	ownKey *secret.Secret // the key in the database
	mail   func(ctx context.Context, address, subject, text string) error
	url    string
	queued atomic.Bool   // a change has queued a mail
	woken  chan struct{} // wakes Run
	demand Demand
}

// New returns the people of the installation of a monitor, whose clock they go by. They write the audit log if the monitor does. A
// nil config selects the defaults.
func New(mon *monitor.Monitor, c *Config) (*People, error) {
	if mon == nil {
		return nil, errors.New("people: the monitor is nil")
	}
	if c == nil {
		c = &Config{}
	}
	if c.Hashing < 0 {
		return nil, errors.New("people: Hashing is negative")
	}
	if c.SecondFactor != OfNobody && c.SecondFactor != OfAdmins && c.SecondFactor != OfAll {
		return nil, fmt.Errorf("people: SecondFactor is unknown: %q", c.SecondFactor)
	}
	n := int64(cmp.Or(c.Hashing, min(4, max(1, runtime.NumCPU()/2))))
	return &People{
		mon: mon, db: mon.Installation().Records(), now: mon.Now, audit: mon.Installation().Audits(),
		log:  cmp.Or(c.Logger, slog.Default()).With(slog.Group("rollcall", "component", "people")),
		keys: c.Keys, ownKey: secret.New(mon.Installation().Secret, "totp"), mail: c.Mail, url: c.URL, woken: make(chan struct{}, 1),
		hashing: semaphore.NewWeighted(n), waiting: semaphore.NewWeighted(9 * n), demand: c.SecondFactor,
	}, nil
}
