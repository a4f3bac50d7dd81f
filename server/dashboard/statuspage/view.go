package statuspage

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"html/template"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/gate"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/words"
)

// maxIncidents bounds the incidents on a page.
const maxIncidents = 100

// view has no more of a check than visitors may see: nothing else reaches the templates.
type view struct {
	Title, Description string
	State, Verdict     string
	Also               string // what the verdict leaves out
	// Maintenance is what is running and what comes within announced, by time.
	Maintenance []notice
	// Worst are the services that are down, and then those that are late.
	Worst    []service
	Services []service
	Days     []incidentDay // newest first
	// Incidents are all of Days in a row, and Further counts those that are not shown.
	Incidents []incident
	Further   int
	// MinOutage is how long an outage must last to be published.
	MinOutage time.Duration
	// First is the first day of the bars, and Known the instant from which incidents are known.
	First, Known time.Time
	// next is the next instant at which the clock changes a status or maintenance, or the zero time.
	next time.Time
}

// service is a check on a page.
type service struct {
	Name, State string
	Since       time.Time
	Share       string // of the watched time in which it was up
	Bar         template.HTML
}

// incident is an outage of a service.
type incident struct {
	ID      string // does not reveal the identifier of the check
	Name    string
	From    time.Time
	Earlier bool      // it began before From
	To      time.Time // the zero time while it goes on
	Paused  bool      // a pause ended it
	Took    time.Duration
}

// incidentDay are the incidents that began on a day in UTC, newest first.
type incidentDay struct {
	Date      time.Time
	Incidents []incident
}

// newView makes the view of a page.
func newView(p checks.StatusPage, f facts, now time.Time) *view {
	known := f.known
	v := &view{Title: words.Name(p.Title, "Status"), Description: p.Description, MinOutage: p.MinOutage, First: firstDay(now), Known: known}
	var all counts
	created, maintenance := now, gate.Covered(f.maintenance, v.First, now)
	for _, c := range f.checks {
		created = earlier(created, c.CreatedAt)
		spans, held := published(maintain(past(c, f.histories[c.ID], known, now), maintenance(c.ID, c.TagList())), known, p.MinOutage)
		status, since := c.Status(now), c.Since(now)
		if !held.IsZero() {
			status, since = beforeOutage(c, f.histories[c.ID], now), earlier(c.ExpectedAfter(c.LastPing), since)
		}
		state := words.State(status)
		if inMaintenance(f.maintenance, c, now) {
			state = maintenanceState
			all.maintenance++
		} else {
			all.add(status)
		}
		for _, next := range []time.Time{nextChange(c, now), held} {
			if v.next.IsZero() || !next.IsZero() && next.Before(v.next) {
				v.next = next
			}
		}
		history := withOlder(days(spans, now), f.older[c.ID], known)
		s := service{Name: nameOf(p, c), State: state, Since: since, Share: cmp.Or(sum(history).times().Percent(), "–"), Bar: bar(history)}
		v.Services = append(v.Services, s)
		for _, o := range outages(spans, known, v.First) {
			began := o.from
			if o.earlier {
				began = time.Time{} // from moves with the retention
			}
			v.Incidents = append(v.Incidents, incident{
				ID: incidentID(p.ID, c.ID, began), Name: s.Name, From: o.from, Earlier: o.earlier, To: o.to, Paused: o.paused, Took: o.took(now),
			})
		}
	}
	v.State, v.Verdict = all.state(), all.verdict()
	v.Also = all.also()
	v.addMaintenance(p, f, now)
	if created.After(known) {
		v.Known = created
	}
	v.sort()
	return v
}

// sort puts services and incidents into their order and cuts the incidents.
func (v *view) sort() {
	slices.SortStableFunc(v.Services, func(a, b service) int {
		return cmp.Or(strings.Compare(strings.ToLower(a.Name), strings.ToLower(b.Name)), strings.Compare(a.Name, b.Name))
	})
	for _, state := range []string{"down", "late"} {
		for _, s := range v.Services {
			if s.State == state {
				v.Worst = append(v.Worst, s)
			}
		}
	}
	slices.SortStableFunc(v.Incidents, func(a, b incident) int { return cmp.Or(b.From.Compare(a.From), strings.Compare(a.Name, b.Name)) })
	shown := min(len(v.Incidents), maxIncidents)
	v.Incidents, v.Further = v.Incidents[:shown], len(v.Incidents)-shown
	for i, n := range v.Incidents {
		date := n.From.Truncate(24 * time.Hour)
		if len(v.Days) == 0 || !v.Days[len(v.Days)-1].Date.Equal(date) {
			v.Days = append(v.Days, incidentDay{Date: date})
		}
		last := &v.Days[len(v.Days)-1]
		last.Incidents = append(last.Incidents, v.Incidents[i])
	}
}

// incidentID names an incident, the same in every rendering. It reveals no identifier.
func incidentID(page, check uuid.UUID, began time.Time) string {
	h := sha256.New()
	h.Write(page[:])
	h.Write(check[:])
	_ = binary.Write(h, binary.BigEndian, began.UnixMicro()) // a hash never fails
	return hex.EncodeToString(h.Sum(nil)[:12])
}
