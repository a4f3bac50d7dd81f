package checks

import (
	"time"

	"github.com/google/uuid"
)

// Plan decides the limits of an account.
type Plan string

// The plans. See [Project.CheckLimit] and [Project.PingLimit] for their limits.
const (
	Free Plan = "free"
	Paid Plan = "paid"
)

// Limits of the plans.
const (
	freeChecks = 20
	FreePings  = 100
	PaidPings  = 1000
)

// DefaultAccount is the account of a project for which none is given.
const DefaultAccount = "default"

// Project groups checks, integrations and keys. It belongs to an account. The check limit holds for all projects of an
// account together.
type Project struct {
	ID      uuid.UUID
	Name    string
	Account string
	Plan    Plan
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
	case p.Plan == Free:
		return freeChecks
	}
	return 0
}

// PingLimit returns how many pings of a check are listed and kept: the newest 100 or 1000.
func (p Project) PingLimit() int {
	if p.Plan == Free {
		return FreePings
	}
	return PaidPings
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
