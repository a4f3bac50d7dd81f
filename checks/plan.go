package checks

import (
	"sync"

	"github.com/rollcall-dev/rollcall/checks/schedule"
)

// maxPlans bounds how many compiled schedules are kept, about 1 kB each.
const maxPlans = 10_000

// Plans remembers compiled schedules, so that checks that are read from a store again and again are not parsed
// again and again. The zero value is ready for use, by many goroutines at once.
type Plans struct {
	mu    sync.RWMutex
	plans map[planKey]plan
}

type planKey struct{ expr, tz string }

// Attach gives a check its compiled schedule. A check without one works all the same, only slower. The error says
// that the schedule cannot be evaluated here, as where the time zone database does not know the zone; the check
// then counts as due at once.
func (p *Plans) Attach(c *Check) error {
	if !c.IsCron() {
		c.plan = plan{}
		return nil
	}
	key := planKey{c.Schedule, c.TZ}
	p.mu.RLock()
	found, ok := p.plans[key]
	p.mu.RUnlock()
	if !ok {
		var err error
		if found, err = compile(c.Schedule, c.TZ); err != nil {
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

func compile(expr, tz string) (plan, error) {
	s, err := schedule.Parse(expr)
	if err != nil {
		return plan{}, err
	}
	zone, err := schedule.LoadLocation(tz)
	if err != nil {
		return plan{}, err
	}
	return plan{s, zone}, nil
}
