package ingest

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks/internal/store"
)

// retryStuck is when pings that cannot be recorded are tried again.
const retryStuck = 5 * time.Second

// maxAside is how many times more pings, and bytes of them, than a transaction records it may set aside to find one that it
// can record.
const maxAside = 16

// stuck is a check with a ping in the database that cannot be recorded, although the database is there. Its pings must not
// block those of others, and stay in their order. It is a suspect first: others may fail as well. If it fails again after the
// database has worked, its pings wait until a later time, and hold no deadlines back any more.
type stuck struct {
	err     error
	retried bool      // since it failed, a ping of another check was recorded, or a probe that writes what a ping does
	until   time.Time // when its pings are tried again; the zero time for a suspect
	pings   int       // that wait until then, one a microsecond from then on, which keeps their order
}

// end returns the time after those of the pings that wait.
func (s *stuck) end() time.Time { return s.until.Add(time.Duration(s.pings) * time.Microsecond) }

// setAside is a ping that must wait.
type setAside struct {
	store.SpooledPing
	stuck *stuck
}

// fails notes that the ping of a check cannot be recorded. It returns false if that makes the check a suspect.
func (m *merge) fails(ctx context.Context, check uuid.UUID, err error) bool {
	s := m.stuck[check]
	if s == nil || s.until.IsZero() && !s.retried {
		m.stuck[check] = &stuck{err: err}
		return false
	}
	if s.until.IsZero() {
		m.log.ErrorContext(ctx, "pings of a check cannot be recorded: they wait, and the server tries again", "check", check, "error", err)
	}
	s.err, s.until, s.pings = err, m.now().Add(retryStuck), 0
	return true
}

// due reports whether it is time to retry stuck pings.
func (m *merge) due() bool {
	for _, s := range m.stuck {
		if !s.until.IsZero() && !s.until.After(m.now()) {
			return true
		}
	}
	return false
}

// probed reports whether a probe writes what a ping does, because there is nothing to record but pings of suspects. They are
// tried once more if it does, and are suspects no longer if not.
func (m *merge) probed(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, m.timeout)
	defer cancel()
	works := m.store.Probe(ctx, true) == nil
	for check, s := range m.stuck {
		if s.retried = s.retried || works; s.until.IsZero() && !works {
			delete(m.stuck, check)
		}
	}
	return works
}

// whole returns the latest instant up to a given one at which the pings of each stuck check are due together, or not at all.
func (m *merge) whole(upTo time.Time) time.Time {
	for _, s := range m.stuck {
		if !s.until.After(upTo) && s.end().After(upTo) {
			return m.whole(s.until.Add(-time.Microsecond))
		}
	}
	return upTo
}

// take takes the oldest pings that wait in the database, and sets those aside whose checks are stuck.
func (p *pass) take(ctx context.Context, tx store.IngestTx) error {
	for want, bytes := p.most, 0; len(p.list) == 0 && len(p.aside) <= maxAside*p.limit && bytes <= maxAside*MaxBody; want = min(2*want, p.limit) {
		taken, err := tx.TakeSpooled(ctx, p.upTo, want, MaxBody)
		if err != nil || len(taken) == 0 {
			return err
		}
		for _, ping := range taken {
			bytes += len(ping.Data)
			switch s := p.waits(ping); {
			case s != nil:
				p.aside = append(p.aside, setAside{ping, s})
			case len(p.list) < p.most:
				p.list = append(p.list, ping)
			default:
				p.aside = append(p.aside, setAside{ping, nil})
			}
		}
	}
	return nil
}

// waits returns the check of a ping if it is stuck.
func (p *pass) waits(ping store.SpooledPing) *stuck {
	if len(p.stuck) == 0 {
		return nil
	}
	e, _ := decode(ping.Data)
	s := p.stuck[e.Check]
	switch {
	case s == nil:
		return nil
	case s.until.IsZero():
		if s.retried {
			return nil
		}
	case e.AtMicros < ping.At.UnixMicro(): // it has waited
		if !ping.At.Before(s.until) {
			return nil
		}
	case !ping.At.Before(s.end()):
		return nil
	}
	return s
}

// putBack returns the pings that were set aside, with the times at which they are tried again. The error is that of a suspect
// if there is nothing else to record.
func (p *pass) putBack() (list []store.SpooledPing, err error) {
	moved := make(map[*stuck]int)
	for _, a := range p.aside {
		switch {
		case a.stuck == nil:
		case !a.stuck.until.IsZero():
			a.At = a.stuck.end().Add(time.Duration(moved[a.stuck]) * time.Microsecond)
			moved[a.stuck]++
		case len(p.batch) == 0:
			return nil, a.stuck.err
		}
		list = append(list, a.SpooledPing)
	}
	return list, nil
}

// settle notes what a transaction has done about stuck checks: recorded reports whether it has recorded a ping. It returns
// how many pings wait until later now.
func (p *pass) settle(recorded bool) (moved int) {
	if len(p.stuck) == 0 {
		return 0
	}
	for _, a := range p.aside {
		if a.stuck != nil && !a.stuck.until.IsZero() {
			a.stuck.pings++
			moved++
		}
	}
	for _, q := range p.batch {
		if s := p.stuck[q.check]; s != nil && s.until.IsZero() && q.err == nil {
			delete(p.stuck, q.check)
		}
	}
	waiting := make(map[uuid.UUID]int)
	for check, s := range p.stuck {
		s.retried = s.retried || recorded
		if len(p.list)+len(p.aside) == 0 && !s.end().After(p.upTo) { // nothing waits
			delete(p.stuck, check)
		} else if !s.until.IsZero() {
			waiting[check] = s.pings
		}
	}
	p.spool.stuck.Store(&waiting)
	return moved
}
