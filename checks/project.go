package checks

import (
	"strings"
	"time"

	"github.com/google/uuid"
)

// Plan is what an account is entitled to (API-V3.md section 8).
type Plan string

// The plans. Limits are in [Project.CheckLimit] and [Project.PingLimit].
const (
	Free Plan = "free"
	Paid Plan = "paid"
)

// Limits of the plans.
const (
	FreeChecks = 20
	FreePings  = 100
	PaidPings  = 1000
)

// DefaultAccount is the account of projects that name none.
const DefaultAccount = "default"

// Project groups checks, integrations and keys. It belongs to an account, whose plan limits it together with the
// account's other projects.
type Project struct {
	ID      uuid.UUID
	Name    string
	Account string
	Plan    Plan
	// MaxChecks overrides the check limit of the plan; 0 does not.
	MaxChecks int
	// BadgeKey names the project in the addresses of its badges.
	BadgeKey string
	// PingKey names the project in ping addresses by slug: 22 lower-case letters and digits.
	PingKey   string
	CreatedAt time.Time
}

// CheckLimit returns how many checks the project's account may have, 0 for any number.
func (p Project) CheckLimit() int {
	switch {
	case p.MaxChecks > 0:
		return p.MaxChecks
	case p.Plan == Free:
		return FreeChecks
	}
	return 0
}

// PingLimit returns how many pings of a check are listed and kept, the newest ones.
func (p Project) PingLimit() int {
	if p.Plan == Free {
		return FreePings
	}
	return PaidPings
}

// PingKeyLength is the length of a ping key in characters.
const PingKeyLength = 22

// ValidPingKey reports whether a text has the form of a ping key: 22 lower-case letters and digits.
func ValidPingKey(text string) bool {
	return len(text) == PingKeyLength && strings.Trim(text, "abcdefghijklmnopqrstuvwxyz0123456789") == ""
}

// Key is an API key as it is kept: not the key itself, but what is needed to recognise it (section 5).
type Key struct {
	ID        uuid.UUID
	ProjectID uuid.UUID
	ReadOnly  bool
	// Hash is the SHA-256 of the key.
	Hash [32]byte
	// Hint is the start of the key, enough for a person to tell keys apart.
	Hint      string
	CreatedAt time.Time
}
