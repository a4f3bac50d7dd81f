package monitor

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
)

// Part is a part of the service that [Monitor.Health] reports on.
type Part string

// The parts of the service.
const (
	PartDatabase   Part = "database"   // reads and writes
	PartWatcher    Part = "watcher"    // finds overdue checks
	PartPings      Part = "pings"      // records pings
	PartDeliveries Part = "deliveries" // sends alerts
	PartSpool      Part = "spool"      // keeps pings while the database is unavailable
)

// Condition is the health of one part.
type Condition struct {
	Part Part
	// Problem says in a few English words what is wrong, without internal details. It is "" if the part is healthy.
	Problem string
	// Detail says more about a healthy part, or is "".
	Detail string
	// Err is the cause, for the log. It may be nil.
	Err error
}

// OK reports whether the part is healthy.
func (c Condition) OK() bool { return c.Problem == "" }

const (
	// sweepTimeout bounds one transaction of the watcher, so that a hanging connection cannot block the watcher for
	// good.
	sweepTimeout = time.Minute
	// hangAfter is the least time without progress that counts as a hang. The database cannot cause it: transactions of
	// the watcher and of pings have shorter limits.
	hangAfter = 2 * sweepTimeout
	// probeTimeout bounds how long a health check waits for the database.
	probeTimeout = 5 * time.Second
	// stuckAfter is how long a delivery may be due, with no attempt at any delivery, before deliveries count as stuck.
	stuckAfter = 5 * time.Minute
)

// vitals records signs of life of the watcher and the delivery. Its times come straight from Config.Now and keep their
// monotonic reading, so setting the clock does not make a part look unhealthy.
type vitals struct {
	mu      sync.Mutex
	running int       // calls of Run in progress
	ended   bool      // a call of Run has returned
	turned  time.Time // when a sweep last began or ended
	swept   time.Time // when a sweep last succeeded, or when Run began
	tried   time.Time // when an attempt to deliver an alert last ended
}

// attentive is an observer that also records attempts to deliver in the vitals.
type attentive struct {
	Observer
	m *Monitor
}

// Attempted records when an attempt ended.
func (a attentive) Attempted(kind channels.Kind, outcome Outcome, took time.Duration) {
	a.m.vitals.mu.Lock()
	a.m.vitals.tried = a.m.clock()
	a.m.vitals.mu.Unlock()
	a.Observer.Attempted(kind, outcome, took)
}

// started records the beginning of a Run.
func (v *vitals) started(now time.Time) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.running == 0 {
		v.turned, v.swept = now, now
	}
	v.running++
}

// stopped records the end of a Run.
func (v *vitals) stopped() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.running--
	v.ended = true
}

// idle reports whether no Run is in progress.
func (v *vitals) idle() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.running == 0
}

// turn records the beginning or the end of a sweep. ok reports a success.
func (v *vitals) turn(now time.Time, ok bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.turned = now
	if ok {
		v.swept = now
	}
}

// Live reports whether the watcher runs and pings are not stuck: it returns the condition of [PartPings] if they are, and
// else that of [PartWatcher]. It does not depend on the database: a part that fails and retries is live. If a part is not
// live, restart the process. In a process that never called [Monitor.Run], the watcher is healthy.
func (m *Monitor) Live() Condition {
	now := m.clock()
	if m.writer.silence(now) > max(hangAfter, 2*m.writer.timeout) {
		return Condition{Part: PartPings, Problem: "are stuck"}
	}
	c := Condition{Part: PartWatcher}
	m.vitals.mu.Lock()
	defer m.vitals.mu.Unlock()
	switch silence := now.Sub(m.vitals.turned); {
	case m.vitals.running == 0 && m.vitals.ended:
		c.Problem = "has stopped"
	case m.vitals.running > 0 && silence > max(hangAfter, 10*m.watch):
		c.Problem = "hangs"
	}
	return c
}

// Ready reports whether the database answers and has an up-to-date schema. It waits at most 5 seconds. With a spool, the
// database may be out of reach, because pings are taken all the same, and a second condition is that of the spool.
func (m *Monitor) Ready(ctx context.Context) []Condition {
	spool, spools := m.spoolHealth()
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	database := Condition{Part: PartDatabase}
	if err := m.store.Probe(ctx, false); err != nil {
		database.Problem, database.Err = "is out of reach or not migrated", err
	}
	if !spools {
		return []Condition{database}
	}
	if !database.OK() {
		database.Detail, database.Problem = database.Problem+"; pings go to the spool", ""
	}
	return []Condition{database, spool}
}

// spoolHealth describes the spool. ok is false for a monitor without one.
func (m *Monitor) spoolHealth() (c Condition, ok bool) {
	stats, ok := m.Spooled()
	c.Part = PartSpool
	c.Detail = "is empty"
	if !stats.Oldest.IsZero() {
		c.Detail = fmt.Sprintf("holds %d pings with %d bytes, the oldest received %v ago", stats.Pings, stats.Bytes,
			m.Now().Sub(stats.Oldest).Round(time.Second))
	}
	if stats.Dropped > 0 {
		c.Detail += fmt.Sprintf("; %d without a check were dropped", stats.Dropped)
	}
	return c, ok
}

// Health reports on each part of the service:
//
//   - The database is healthy when it commits a test write within 5 seconds.
//   - The watcher is healthy when a sweep has succeeded within the last minute, or within ten times Config.WatchEvery
//     if that is longer. The time begins with the call of [Monitor.Run].
//   - Deliveries are healthy unless an alert has been due for more than 5 minutes and this monitor has made no attempt
//     at any in that time. A slow receiver alone is no problem. Alerts that this monitor leaves to others, for lack of
//     notifiers or of OnAlert, do not count.
//   - A spool, if there is one, is always healthy. Its Detail says how much it holds.
func (m *Monitor) Health(ctx context.Context) []Condition {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	database := Condition{Part: PartDatabase}
	if err := m.store.Probe(ctx, true); err != nil {
		database.Problem, database.Err = "cannot be written", err
	}
	list := []Condition{database, m.watcherHealth(), m.deliveryHealth(ctx)}
	if spool, ok := m.spoolHealth(); ok {
		list = append(list, spool)
	}
	return list
}

func (m *Monitor) watcherHealth() Condition {
	if c := m.Live(); !c.OK() {
		return c
	}
	c := Condition{Part: PartWatcher}
	m.vitals.mu.Lock()
	defer m.vitals.mu.Unlock()
	silence := m.clock().Sub(m.vitals.swept)
	if m.vitals.running > 0 && silence > max(time.Minute, 10*m.watch) {
		c.Problem = fmt.Sprintf("has not succeeded for %v", silence.Round(time.Second))
	}
	return c
}

func (m *Monitor) deliveryHealth(ctx context.Context) Condition {
	c := Condition{Part: PartDeliveries}
	if !m.delivers() {
		return c
	}
	m.vitals.mu.Lock()
	busy := m.clock().Sub(m.vitals.tried) <= stuckAfter
	m.vitals.mu.Unlock()
	if busy {
		return c
	}
	now := m.Now()
	backlog, err := m.store.Backlog(ctx, now)
	if err != nil {
		c.Problem, c.Err = "cannot be read", err
		return c
	}
	late := now.Sub(backlog.OldestDue)
	if backlog.OldestDue.IsZero() || late <= stuckAfter {
		return c
	}
	// Two channels suffice: the first may be store.OnAlert.
	due, err := m.store.DueChannels(ctx, now.Add(-stuckAfter), uuid.Nil, 2)
	if err != nil {
		c.Problem, c.Err = "cannot be read", err
	} else if slices.ContainsFunc(due, m.delivery.serves) {
		c.Problem = fmt.Sprintf("are stuck: one has been due for %v", late.Round(time.Second))
	}
	return c
}

// Backlog summarizes the pending deliveries.
type Backlog struct {
	// Pending is the number of pending deliveries, including those that wait for a later time, at most 100,000.
	Pending int
	// OldestDue is the due time of the delivery that has been due the longest, or the zero time if none is due. A
	// delivery that waits for an earlier one of its line does not count.
	OldestDue time.Time
}

// Backlog summarizes the pending deliveries. The query is cheap however many there are.
func (m *Monitor) Backlog(ctx context.Context) (Backlog, error) {
	b, err := m.store.Backlog(ctx, m.Now())
	return Backlog(b), err
}

// Queued returns the number of pings that wait for their commit.
func (m *Monitor) Queued() int {
	m.writer.mu.Lock()
	defer m.writer.mu.Unlock()
	return len(m.writer.queue)
}

// LastDurations returns the duration of the last finished run of each check of a project. It leaves out a check if
// several other pings followed that run. Error: [checks.ErrNotFound].
func (m *Monitor) LastDurations(ctx context.Context, projectID uuid.UUID) (map[uuid.UUID]time.Duration, error) {
	list, err := m.store.LastDurations(ctx, projectID)
	return list, m.exists(ctx, projectID, len(list), err)
}
