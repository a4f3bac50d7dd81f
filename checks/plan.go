package checks

import (
	"cmp"
	"sync"
	"time"

	"github.com/rollcall-dev/rollcall/checks/quiet"
	"github.com/rollcall-dev/rollcall/checks/schedule"
)

// maxPlans bounds the plans in a cache. One with a cron expression takes 2 to 5 kB.
const maxPlans = 10_000

// Plans caches compiled schedules and quiet hours, for a store that reads the same checks again and again. The zero
// value is ready for use. It is safe for concurrent use.
type Plans struct {
	mu    sync.RWMutex
	plans map[planKey]plan
}

type planKey struct{ expr, quiet, tz string }

// key returns what the plan of a check is compiled from.
func (s Settings) key() planKey { return planKey{s.Schedule, s.QuietHours, s.TZ} }

// plan holds the schedule of a check, nil for a Simple check, and its quiet hours, both in the zone of the check.
type plan struct {
	compiled bool
	zone     *time.Location
	schedule schedule.Schedule
	hours    quiet.Hours
	err      error // a *[FieldError] if the schedule is missing or there are no hours because of a fault
}

// Attach gives a check its compiled schedule and quiet hours. Without them the check works, but more slowly.
//
// Attach is for checks that were validated when they were stored. If one cannot be evaluated any more, for example because
// the time zone database lacks its zone, it must neither lose pings nor fall silent: it is due as soon as it was pinged,
// and has no quiet hours. [Check.Validate] says why.
func (p *Plans) Attach(c *Check) {
	if !c.UsesTZ() {
		c.plan = plan{}
		return
	}
	key := c.key()
	p.mu.RLock()
	found, ok := p.plans[key]
	p.mu.RUnlock()
	if !ok {
		found = compile(*c)
		p.mu.Lock()
		if p.plans == nil || len(p.plans) >= maxPlans {
			p.plans = make(map[planKey]plan)
		}
		p.plans[key] = found
		p.mu.Unlock()
	}
	c.plan = found
}

// Clear drops all compiled plans, because the time zone data have changed.
func (p *Plans) Clear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.plans = nil
}

// compiled returns the attached plan of a check, or else a new one.
func (c Check) compiled() plan {
	if c.plan.compiled {
		return c.plan
	}
	return compile(c)
}

func compile(c Check) (p plan) {
	p.compiled = true
	if p.zone, p.err = loadZone(cmp.Or(c.TZ, "UTC")); p.err != nil {
		return p
	}
	if c.IsCron() {
		if p.schedule, p.err = parseSchedule(c.Schedule); p.err != nil {
			return p
		}
	}
	p.hours, p.err = parseHours(c.QuietHours, p.zone)
	return p
}
