package monitor

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
)

// Part is a part of the service whose health is told.
type Part string

// The parts of the service.
const (
	PartDatabase   Part = "database"   // it can be read and written
	PartWatcher    Part = "watcher"    // overdue checks are looked for
	PartDeliveries Part = "deliveries" // alerts go out
)

// Condition is the health of one part.
type Condition struct {
	Part Part
	// Problem says in a few words of English what is wrong, and shows nothing of the inside; "" is healthy.
	Problem string
	// Err is the cause, for the log. It may be nil.
	Err error
}

// OK reports whether the part is healthy.
func (c Condition) OK() bool { return c.Problem == "" }

// HealthReader tells how a store is.
type HealthReader interface {
	// Ready reports an error unless the database answers and its schema is up to date.
	Ready(ctx context.Context) error
	// ProbeWrite commits a transaction that writes.
	ProbeWrite(ctx context.Context) error
	// LastDurations returns how long the last finished run of each check of a project took. It may leave out checks
	// whose last run was followed by other pings.
	LastDurations(ctx context.Context, projectID uuid.UUID) (map[uuid.UUID]time.Duration, error)
}

const (
	// sweepTimeout bounds one transaction of the watcher, so that a connection that hangs does not end the watching.
	sweepTimeout = time.Minute
	// probeTimeout is how long the database has to answer when its health is asked for.
	probeTimeout = 5 * time.Second
	// stuckAfter is how long a due delivery may wait, with no attempt at any, before deliveries count as stuck.
	stuckAfter = 5 * time.Minute
)

// vitals is what the watcher leaves behind as signs of life. Its times come from Config.Now as it is, so that with
// a real clock they are compared by the monotonic one.
type vitals struct {
	mu      sync.Mutex
	running int       // how many Runs there are
	ended   bool      // a Run has ended
	turned  time.Time // when a look for overdue checks last began or ended
	swept   time.Time // when one last succeeded, or else when Run began
	tried   time.Time // when an attempt to deliver an alert last ended
}

// attentive is an observer that also notes attempts to deliver for the monitor's own health.
type attentive struct {
	Observer
	m *Monitor
}

// Attempted notes when an attempt has ended.
func (a attentive) Attempted(kind channels.Kind, outcome Outcome, took time.Duration) {
	a.m.vitals.mu.Lock()
	a.m.vitals.tried = a.m.clock()
	a.m.vitals.mu.Unlock()
	a.Observer.Attempted(kind, outcome, took)
}

// started and stopped tell of the begin and the end of a Run.
func (v *vitals) started(now time.Time) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.running == 0 {
		v.turned, v.swept = now, now
	}
	v.running++
}

func (v *vitals) stopped() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.running--
	v.ended = true
}

// turn tells of the begin or the end of a look for overdue checks; ok that it has succeeded.
func (v *vitals) turn(now time.Time, ok bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.turned = now
	if ok {
		v.swept = now
	}
}

// Live tells whether the watcher is at work, whatever comes of it: with a database that is out of reach it is. A
// process of which this is not true should be started anew. Where [Monitor.Run] has not been called, as in a program
// that leaves watching to another, it is healthy.
func (m *Monitor) Live() Condition {
	c := Condition{Part: PartWatcher}
	m.vitals.mu.Lock()
	defer m.vitals.mu.Unlock()
	switch silence := m.clock().Sub(m.vitals.turned); {
	case m.vitals.running == 0 && m.vitals.ended:
		c.Problem = "has stopped"
	case m.vitals.running > 0 && silence > max(2*sweepTimeout, 10*m.watch):
		c.Problem = "hangs"
	}
	return c
}

// Ready tells whether the database answers and has an up-to-date schema. It waits for 5 seconds at most.
func (m *Monitor) Ready(ctx context.Context) Condition {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	if err := m.store.Ready(ctx); err != nil {
		return Condition{PartDatabase, "is out of reach or not migrated", err}
	}
	return Condition{Part: PartDatabase}
}

// Health tells how each part of the service is: whether the database takes and commits a write; whether overdue checks
// were looked for with success within the last minute, or ten times Config.WatchEvery, if that is longer; and whether
// no alert has been due for more than 5 minutes while this monitor has tried none, so that one slow receiver is no
// sickness. It writes to the database, and waits for it for 5 seconds at most. Deliveries are not looked at without
// Config.Notifiers, and the watcher not before [Monitor.Run] was called.
func (m *Monitor) Health(ctx context.Context) []Condition {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	database := Condition{Part: PartDatabase}
	if err := m.store.ProbeWrite(ctx); err != nil {
		database.Problem, database.Err = "cannot be written", err
	}
	return []Condition{database, m.watcherHealth(), m.deliveryHealth(ctx)}
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
		c.Problem, c.Err = "are unknown", err
		return c
	}
	if late := now.Sub(backlog.OldestDue); !backlog.OldestDue.IsZero() && late > stuckAfter {
		c.Problem = fmt.Sprintf("are stuck: one has been due for %v", late.Round(time.Second))
	}
	return c
}

// Backlog returns what waits in the outbox. The query is cheap.
func (m *Monitor) Backlog(ctx context.Context) (Backlog, error) { return m.store.Backlog(ctx, m.Now()) }

// Queued returns how many pings wait to be written.
func (m *Monitor) Queued() int {
	m.writer.mu.Lock()
	defer m.writer.mu.Unlock()
	return len(m.writer.queue)
}

// LastDurations returns how long the last finished run of each check of a project took, as far as that is among the
// last few pings of the check.
func (m *Monitor) LastDurations(ctx context.Context, projectID uuid.UUID) (map[uuid.UUID]time.Duration, error) {
	return m.store.LastDurations(ctx, projectID)
}
