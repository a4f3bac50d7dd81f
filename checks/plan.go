package checks

import (
	"sync"
	"time"

	"github.com/rollcall-dev/rollcall/checks/quiet"
	"github.com/rollcall-dev/rollcall/checks/schedule"
)

// maxPlans bounds how many plans are kept, 2 to 5 kB each with a cron expression.
const maxPlans = 10_000

// Plans remembers compiled schedules and quiet hours, so that checks that are read from a store again and again are not
// parsed again and again. The zero value is ready for use, by many goroutines at once.
type Plans struct {
	mu    sync.RWMutex
	plans map[planKey]plan
}

type planKey struct{ expr, quiet, tz string }

// plan is what is read in a check's zone: its schedule, which is nil on a Simple check, and its quiet hours.
type plan struct {
	compiled bool
	zone     *time.Location
	schedule schedule.Schedule
	hours    quiet.Hours
}

// Attach gives a check its compiled schedule and quiet hours. A check without them works all the same, only slower.
// The error says that they cannot be evaluated here, as where the time zone database does not know the zone; the check
// then counts as due at once, and its quiet hours as none.
func (p *Plans) Attach(c *Check) error {
	if !c.IsCron() && c.QuietHours == "" {
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
	if hours, err := quiet.Parse(c.QuietHours, zone); err == nil { // else none: better an alert at night than none at all
		p.hours = hours
	}
	return p, nil
}
