package checks

import (
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

// plan holds the schedule of a check, nil for a Simple check, and its quiet hours, both in the zone of the check.
type plan struct {
	compiled bool
	zone     *time.Location
	schedule schedule.Schedule
	hours    quiet.Hours
}

// Attach gives a check its compiled schedule and quiet hours. Without them the check works, but more slowly. The error
// says that they cannot be evaluated, for example because the time zone database lacks the zone. The check is then due
// as soon as it was pinged, and has no quiet hours.
func (p *Plans) Attach(c *Check) error {
	if !c.UsesTZ() {
		c.plan = plan{}
		return nil
	}
	key := planKey{c.Schedule, c.QuietHours, c.TZ}
	p.mu.RLock()
	found, ok := p.plans[key]
	p.mu.RUnlock()
	if !ok {
		var err error
		if found, err = compile(*c); err != nil {
			return err
		}
		p.mu.Lock()
		if p.plans == nil || len(p.plans) >= maxPlans {
			p.plans = make(map[planKey]plan)
		}
		p.plans[key] = found
		p.mu.Unlock()
	}
	c.plan = found
	return nil
}

func compile(c Check) (plan, error) {
	zone, err := schedule.LoadLocation(c.TZ)
	if err != nil {
		return plan{}, err
	}
	p := plan{compiled: true, zone: zone}
	if c.IsCron() {
		if p.schedule, err = schedule.Parse(c.Schedule); err != nil {
			return plan{}, err
		}
	}
	if hours, err := quiet.Parse(c.QuietHours, zone); err == nil { // otherwise none: an alert at night is better than no alert
		p.hours = hours
	}
	return p, nil
}
