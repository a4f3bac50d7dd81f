package store

import "github.com/rollcall-dev/rollcall/checks"

// How many pings of a check the plans list and keep.
const (
	FreePings = 100
	PaidPings = 1000
)

// PingLimit returns how many pings of a check of the project are listed and kept: the newest 100 or 1000.
func PingLimit(p checks.Project) int {
	if p.Plan == "free" {
		return FreePings
	}
	return PaidPings
}
