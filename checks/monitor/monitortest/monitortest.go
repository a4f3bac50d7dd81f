// Package monitortest is a monitor for the tests of programs that embed one. It keeps everything in memory, has a clock
// that the test moves, and collects alerts:
//
//	mon := monitortest.New(start, nil)
//	defer mon.Close()
//	project, err := mon.OpenProject(ctx, "jobs")
//	c, err := project.Create(ctx, checks.Spec{Name: new("backup"), Schedule: new("0 3 * * *")})
//	_, err = mon.Ping(ctx, c.ID, pings.Signal{})
//	mon.Advance(48 * time.Hour)
//	alerts := mon.TakeAlerts() // backup is down
//
// The database is SQLite in memory. No time passes, and the monitor does nothing in the background. A program that reads
// the time itself gets it from mon.Now, so that it agrees with the monitor. Close the monitor at the end of a bubble of
// package synctest; elsewhere that only frees its memory.
package monitortest

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/internal/background"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/sqlstore"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/sqlite"
)

// pruneEvery is how often the logs are pruned, in time of the clock.
const pruneEvery = 24 * time.Hour

// Monitor is a monitor on a database in memory, with its own clock. It is safe for concurrent use. [New] makes one.
//
// Do not start it: [Monitor.Advance] does the work.
type Monitor struct {
	*monitor.Monitor

	store  *sqlstore.Store
	margin time.Duration // Config.CommitMargin
	moving sync.Mutex    // held while the clock moves
	pruned time.Time     // guarded by moving

	mu     sync.Mutex
	now    time.Time
	alerts []channels.Notification
}

// New returns a monitor whose clock stands at start. A nil config selects the defaults. New replaces Config.Now. If the
// config has OnAlert, the monitor collects those alerts for which OnAlert has returned nil; it must call neither Advance
// nor TakeAlerts. New panics if start is the zero time or [monitor.New] refuses the config.
func New(start time.Time, config *monitor.Config) *Monitor {
	if start.IsZero() {
		panic("monitortest: the clock cannot start at the zero time")
	}
	var c monitor.Config
	if config != nil {
		c = *config
	}
	m := &Monitor{margin: c.CommitMargin, now: start}
	onAlert := c.OnAlert
	c.OnAlert = func(ctx context.Context, n channels.Notification) error {
		if onAlert != nil {
			if err := onAlert(ctx, n); err != nil {
				return err
			}
		}
		m.mu.Lock()
		defer m.mu.Unlock()
		m.alerts = append(m.alerts, n)
		return nil
	}
	c.Now = func() time.Time {
		m.mu.Lock()
		defer m.mu.Unlock()
		return m.now
	}
	var err error
	m.store, err = sqlite.Open(context.Background(), sqlite.Memory)
	check(err)
	if m.Monitor, err = monitor.New(m.store, &c); err != nil {
		m.Close()
		check(err)
	}
	return m
}

// Close frees the database. Nothing may use the monitor afterwards.
func (m *Monitor) Close() { check(m.store.Close()) }

// check panics with an error. A database in memory returns none, so there is nothing that a test could do about it.
func check(err error) {
	if err != nil {
		panic(fmt.Sprintf("monitortest: %v", err))
	}
}

// Advance moves the clock forward by d; see [Monitor.AdvanceTo].
func (m *Monitor) Advance(d time.Duration) { m.AdvanceTo(m.Now().Add(d)) }

// AdvanceTo moves the clock to an instant. On its way it stops whenever a deadline passes or an alert, a reminder or a
// retry is due, and does then what [monitor.Monitor.Start] does: it records flips and sends alerts. At the end it prunes
// logs, if a day has passed since the last time. Only the instants of retries vary from run to run: see RetryFirst of
// [monitor.DeliveryConfig]. AdvanceTo panics if the clock has passed the instant already.
func (m *Monitor) AdvanceTo(t time.Time) {
	m.moving.Lock()
	defer m.moving.Unlock()
	if now := m.Now(); t.Before(now) {
		panic(fmt.Sprintf("monitortest: the clock cannot go back from %v to %v", now, t.UTC()))
	}
	m.work()
	for next := m.next(); !next.IsZero() && !next.After(t); next = m.next() {
		m.set(next)
		m.work()
	}
	m.set(t)
	if t.Sub(m.pruned) >= pruneEvery {
		check(m.Tick(context.Background()))
		m.pruned = t
	}
}

// TakeAlerts returns the alerts that were sent since the last call, in that order, and forgets them. Those that were sent at one instant are
// in the order of their status changes, of their projects and of the names of their checks. TakeAlerts first sends what is
// due now, such as the alert about a failure that was just signalled.
func (m *Monitor) TakeAlerts() []channels.Notification {
	m.moving.Lock()
	defer m.moving.Unlock()
	m.work()
	m.mu.Lock()
	defer m.mu.Unlock()
	alerts := m.alerts
	m.alerts = nil
	return alerts
}

func (m *Monitor) set(t time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.now = t
}

// work does what is due now. It sorts the alerts that it sends, because Tick sends those of several checks at once.
func (m *Monitor) work() {
	m.mu.Lock()
	before := len(m.alerts)
	m.mu.Unlock()
	check(m.Tick(background.WithRound(context.Background(), background.Round{AlertsOnly: true})))
	m.mu.Lock()
	defer m.mu.Unlock()
	slices.SortStableFunc(m.alerts[min(before, len(m.alerts)):], func(a, b channels.Notification) int {
		return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.Check.Project, b.Check.Project), cmp.Compare(a.Check.Name, b.Check.Name))
	})
}

// next returns the next instant at which there is work, or the zero time.
func (m *Monitor) next() (next time.Time) {
	ctx, now := context.Background(), m.Now()
	consider := func(t time.Time) {
		if t.After(now) && (next.IsZero() || t.Before(next)) {
			next = t
		}
	}
	projects, err := m.Projects().List(ctx)
	check(err)
	for _, p := range projects {
		list, err := checks.Stored(m.Project(p.ID).Checks(ctx, checks.Query{}))
		check(err)
		for _, c := range list {
			if wake := c.Wake(); !wake.IsZero() {
				consider(wake.Add(m.margin))
			}
		}
		for d, err := range m.Project(p.ID).Deliveries(ctx, checks.DeliveryQuery{State: checks.DeliveryPending}) {
			check(err)
			consider(d.Due)
		}
	}
	return next
}
