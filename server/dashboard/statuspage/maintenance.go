package statuspage

import (
	"slices"
	"time"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/gate"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/words"
)

const (
	// maintenanceState is the state of a service in maintenance, whatever its status is.
	maintenanceState = "maintenance"
	// announced is how long before its start maintenance is on a page, and maxNotices how many notices a page has.
	announced  = 7 * 24 * time.Hour
	maxNotices = 10
)

// notice is maintenance of services on a page.
type notice struct {
	Note     string
	Running  bool
	From, To time.Time
	// Names are those of the services, or none for all on the page.
	Names []string
}

// inMaintenance reports whether a check is in maintenance.
func inMaintenance(windows []gate.Window, c checks.Check, now time.Time) bool {
	return slices.ContainsFunc(windows, func(w gate.Window) bool {
		_, in := w.At(now)
		return in && w.Covers(c.ID, c.TagList())
	})
}

// addMaintenance adds the notices about services of the page.
func (v *view) addMaintenance(p checks.StatusPage, f facts, now time.Time) {
	for _, w := range f.maintenance {
		n := notice{Note: words.Name(w.Note, ""), From: now}
		for _, c := range f.checks {
			if w.Covers(c.ID, c.TagList()) {
				n.Names = append(n.Names, nameOf(p, c))
			}
		}
		if len(n.Names) == 0 {
			continue
		}
		if len(n.Names) == len(f.checks) {
			n.Names = nil
		}
		change := time.Time{}
		if n.To, n.Running = w.At(now); n.Running {
			change = n.To
		} else if start, end, ok := w.Next(now); ok {
			n.From, n.To, change = start, end, start.Add(-announced)
			if !change.After(now) {
				change = start
			}
		}
		if change.IsZero() {
			continue
		}
		if v.next.IsZero() || change.Before(v.next) {
			v.next = change
		}
		if n.Running || n.From.Sub(now) <= announced {
			v.Maintenance = append(v.Maintenance, n)
		}
	}
	slices.SortStableFunc(v.Maintenance, func(a, b notice) int { return a.From.Compare(b.From) })
	v.Maintenance = v.Maintenance[:min(len(v.Maintenance), maxNotices)]
}
