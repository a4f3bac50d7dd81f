package checks

import (
	"time"

	"github.com/google/uuid"
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
	PingKey   string
	CreatedAt time.Time
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

// Scope says what an API key may do. The zero value allows nothing but what a read-only key may.
type Scope string

// The scopes of API keys.
const (
	// ReadWrite may read and change the checks of the project.
	ReadWrite Scope = "read-write"
	// ReadOnly may read the checks of the project, without the identifiers and addresses that take pings.
	ReadOnly Scope = "read-only"
	// ReadIDs may do what ReadOnly may, and sees the identifiers and addresses that a ReadWrite key sees.
	ReadIDs Scope = "read-ids"
	// Admin may do what ReadWrite may, and also manages the channels, the status pages and the project itself. A key of the
	// installation may do so in every project.
	Admin Scope = "admin"
)

// Scopes returns the scopes of API keys.
func Scopes() []Scope { return []Scope{ReadWrite, ReadOnly, ReadIDs, Admin} }

// Edits reports whether a key with the scope may change checks.
func (s Scope) Edits() bool { return s == ReadWrite || s == Admin }

// SeesIDs reports whether a key with the scope sees the identifiers and addresses that take pings.
func (s Scope) SeesIDs() bool { return s.Edits() || s == ReadIDs }

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
}
