package checks

import (
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks/gate"
)

// freeChecks is the check limit of the plan free.
const freeChecks = 20

// Project groups checks, integrations and keys. It belongs to an account. The check limit holds for all projects of an
// account together.
type Project struct {
	ID      uuid.UUID
	Name    string
	Account string
	// Plan is that of the account, "free" or "paid". A free account has at most 20 checks and 100 pings of each, a paid one
	// 1000 pings of each.
	Plan string
	// MaxChecks replaces the check limit of the plan, unless it is 0.
	MaxChecks int
	// BadgeKey identifies the project in the URLs of its badges.
	BadgeKey string
	// PingKey identifies the project in ping URLs with a slug. It is a secret of 22 lower-case letters and digits.
	PingKey string
	// Storm says when alerts leave together. A project is created with [gate.DefaultStorm]; the zero value is off.
	Storm     gate.Storm
	CreatedAt time.Time
}

// ProjectSpec describes a new project, for [Projects].Create. A server refuses First, NoKeys and PingKey.
type ProjectSpec struct {
	// Name must be new, 1 to 100 characters.
	Name string
	// Account is the account that the project belongs to. Default: "default". Projects with the same
	// account and plan share their limits.
	Account string
	// Plan is the account's plan, "free" or "paid". Default: "paid".
	Plan string
	// MaxChecks is the account's check limit. Default: the plan's.
	MaxChecks int
	// Storm says when alerts leave together, within the bounds of [ProjectUpdate]. 0 Checks with a Window are off.
	// Default: [gate.DefaultStorm].
	Storm gate.Storm
	// First asks for the first project of the installation: if there is one already, the error is [ErrExists]. If
	// several servers start at once, one of them creates it.
	First bool
	// NoKeys creates no API keys: CreateKey of a *monitor.Project adds them when they are needed.
	NoKeys bool
	// PingKey is the ping key, for a project that moves here from another database with the ping URLs of its jobs: 22
	// lower-case letters and digits. Default: a random one.
	PingKey string
}

// ProjectKeys are the texts of a new project's API keys. The database stores only their hashes, so nobody can read them again.
type ProjectKeys struct {
	ReadWrite string
	ReadOnly  string
}

// ProjectUpdate says what to change about a project. A nil field stays as it is.
type ProjectUpdate struct {
	// Name must be new, 1 to 100 characters.
	Name *string
	// StormChecks and StormWindow are the fields of [Project].Storm: 2 to 1000 checks, or 0 for off, and 10 seconds to an hour,
	// in whole seconds.
	StormChecks *int
	StormWindow *time.Duration
}

// The settings of a project.
var (
	stormChecks = Setting{Name: "storm_checks", Zero: 0, Min: gate.MinStormChecks, Max: gate.MaxStormChecks, Optional: true}
	stormWindow = Setting{Name: "storm_window", Zero: time.Duration(0), Min: int64(gate.MinStormWindow / time.Second), Max: int64(gate.MaxStormWindow / time.Second)}
)

// StormSettings describes the settings of [ProjectUpdate] to those who read them.
func StormSettings() (checks, window Setting) { return stormChecks, stormWindow }

// Of returns the project with the change. Error: *[FieldError].
func (c ProjectUpdate) Of(p Project) (Project, error) {
	if c.Name != nil {
		p.Name = *c.Name
		if err := ValidateProjectName(p.Name); err != nil {
			return Project{}, err
		}
	}
	if n := c.StormChecks; n != nil {
		if p.Storm.Checks = *n; *n != 0 {
			if err := stormChecks.validNumber(int64(*n)); err != nil {
				return Project{}, err
			}
		}
	}
	if d := c.StormWindow; d != nil {
		p.Storm.Window = *d
		if err := stormWindow.validPeriod(*d); err != nil {
			return Project{}, err
		}
	}
	if p.Storm.Checks > 0 && p.Storm.Window == 0 { // they were off from the beginning
		p.Storm.Window = gate.DefaultStorm().Window
	}
	return p, nil
}

// CheckLimit returns how many checks the account of the project may have, 0 for any number.
func (p Project) CheckLimit() int {
	switch {
	case p.MaxChecks > 0:
		return p.MaxChecks
	case p.Plan == "free":
		return freeChecks
	}
	return 0
}

// Right is what an actor may do in a project: an API key by its scope, a person by their role, and a user of an embedding program
// by what the program says. Each right includes those below it. The zero value is no right.
type Right uint8

// The rights, lowest first.
const (
	// None allows nothing. For those without a right, the project does not exist.
	None Right = iota
	// Read allows viewing the checks of the project, their history and their alerts.
	Read
	// Edit also allows changing checks and, on the pages, channels and status pages.
	Edit
	// Own allows everything, including managing the keys and members of the project, renaming it and deleting it.
	Own
)

// Edits reports whether the right includes [Edit].
func (r Right) Edits() bool { return r >= Edit }

// Owns reports whether the right includes [Own].
func (r Right) Owns() bool { return r >= Own }

// Scope says which [Right] an API key has in its project, and whether it sees identifiers. The zero value is no right.
type Scope string

// The scopes of API keys.
const (
	// ReadWrite has the right [Edit].
	ReadWrite Scope = "read-write"
	// ReadOnly has the right [Read], and does not see the identifiers and addresses that take pings.
	ReadOnly Scope = "read-only"
	// ReadIDs has the right [Read], and sees the identifiers and addresses that a ReadWrite key sees.
	ReadIDs Scope = "read-ids"
	// Admin has the right [Own]. A key of the installation has it in every project.
	Admin Scope = "admin"
)

// Scopes returns the scopes of API keys.
func Scopes() []Scope { return []Scope{ReadWrite, ReadOnly, ReadIDs, Admin} }

// Right returns the right of a key with the scope: [None] for a scope that does not exist.
func (s Scope) Right() Right {
	switch s {
	case ReadOnly, ReadIDs:
		return Read
	case ReadWrite:
		return Edit
	case Admin:
		return Own
	}
	return None
}

// SeesIDs reports whether a key with the scope sees the identifiers and addresses that take pings.
func (s Scope) SeesIDs() bool { return s.Right() >= Edit || s == ReadIDs }

// Key is an API key without its text, of which only the hash is stored.
type Key struct {
	ID uuid.UUID
	// ProjectID is the project of the key, or [uuid.Nil] for a key of the installation, whose scope is Admin.
	ProjectID uuid.UUID
	Scope     Scope
	// Hash is the SHA-256 of the key.
	Hash [32]byte
	// Hint is the start of the key, so that a person can tell keys apart.
	Hint      string
	CreatedAt time.Time
	// ExpiresAt is from when on the key is refused, or the zero time if it never ends by itself.
	ExpiresAt time.Time
}

const (
	// MaxKeyAge bounds how far ahead a key may expire.
	MaxKeyAge = 10 * 366 * 24 * time.Hour
	// KeyNotice is how long before its end people are warned of a key.
	KeyNotice = 7 * 24 * time.Hour
)

// ExpiresSoon reports whether the key expires within [KeyNotice] of an instant, and has not yet.
func (k Key) ExpiresSoon(now time.Time) bool { return k.Expired(now.Add(KeyNotice)) && !k.Expired(now) }

// Expired reports whether the key is refused at an instant because it has expired.
func (k Key) Expired(now time.Time) bool { return !k.ExpiresAt.IsZero() && !now.Before(k.ExpiresAt) }
