package statuspage

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/words"
)

// counts are how many checks have each status.
type counts struct{ up, late, down, idle, maintenance int }

func (c *counts) add(s checks.Status) {
	switch s {
	case checks.StatusUp:
		c.up++
	case checks.StatusGrace:
		c.late++
	case checks.StatusDown:
		c.down++
	default:
		c.idle++
	}
}

// state is the worst status among the checks, or "idle" if none is watched.
func (c counts) state() string {
	switch {
	case c.down > 0:
		return "down"
	case c.late > 0:
		return "late"
	case c.up > 0:
		return "up"
	case c.maintenance > 0:
		return maintenanceState
	}
	return "idle"
}

// verdict says how all checks are: "All 12 services are up." It counts all that the page lists.
func (c counts) verdict() string {
	watched := c.up + c.late + c.down
	all := watched + c.idle + c.maintenance
	of := func(n int) string {
		switch {
		case all == 1:
			return "The service is"
		case n == all && n == 2:
			return "Both services are"
		case n == all:
			return fmt.Sprintf("All %d services are", n)
		case n == 1:
			return fmt.Sprintf("1 of %d services is", all)
		}
		return fmt.Sprintf("%d of %d services are", n, all)
	}
	switch {
	case watched == 0 && c.maintenance == 1:
		return "The service is in maintenance."
	case watched == 0 && c.maintenance > 0:
		return fmt.Sprintf("%d services are in maintenance.", c.maintenance)
	case watched+c.idle == 0:
		return "No services are shown here yet."
	case watched == 0 && c.idle == 1:
		return "The service is not monitored right now."
	case watched == 0:
		return fmt.Sprintf("None of the %d services are monitored right now.", c.idle)
	case c.down > 0 && c.late > 0:
		return fmt.Sprintf("%s down, %d late.", of(c.down), c.late)
	case c.down > 0:
		return of(c.down) + " down."
	case c.late > 0:
		return of(c.late) + " late."
	}
	return of(c.up) + " up."
}

// also says what the other checks are that the verdict counts, or "".
func (c counts) also() string {
	var parts []string
	more := func(n int, what string) {
		switch {
		case n == 1:
			parts = append(parts, "1 is "+what+".")
		case n > 1:
			parts = append(parts, fmt.Sprintf("%d are %s.", n, what))
		}
	}
	watched := c.up + c.late + c.down
	if watched > 0 {
		more(c.maintenance, "in maintenance")
	}
	if watched+c.maintenance > 0 {
		more(c.idle, "not monitored")
	}
	return strings.Join(parts, " ")
}

// nameOf returns the name of a check for the public. A check without a name is not called by its slug, which is a part of
// ping addresses.
func nameOf(p checks.StatusPage, c checks.Check) string {
	return words.Name(cmp.Or(p.Names[c.ID], c.Name), "Unnamed")
}
