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

// Key is an API key without its text, of which only the hash is stored.
type Key struct {
	ID        uuid.UUID
	ProjectID uuid.UUID
	ReadOnly  bool
	// Hash is the SHA-256 of the key.
	Hash [32]byte
	// Hint is the start of the key, so that a person can tell keys apart.
	Hint      string
	CreatedAt time.Time
}
