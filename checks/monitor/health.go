package monitor

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
)

// Part is a part of the service that [Monitor.Health] looks at.
type Part string

// The parts of the service.
const (
	PartDatabase   Part = "database"   // it can be read and written
	PartWatcher    Part = "watcher"    // it looks for overdue checks
	PartDeliveries Part = "deliveries" // alerts go out
)

// Condition is the health of one part.
type Condition struct {
	Part Part
	// Problem says in a few words of English what is wrong, without internal details; "" is healthy.
	Problem string
	// Err is the cause, for the log. It may be nil.
	Err error
}

// OK reports whether the part is healthy.
func (c Condition) OK() bool { return c.Problem == "" }

const (
	// sweepTimeout bounds one transaction of the watcher, so that a connection that hangs does not end the watching.
	sweepTimeout = time.Minute
	// probeTimeout bounds how long a question about health waits for the database.
	probeTimeout = 5 * time.Second
	// stuckAfter is how long a due delivery may wait, without an attempt at any, before deliveries count as stuck.
	stuckAfter = 5 * time.Minute
)

// vitals records signs of life of the watcher and the delivery. Its times come from Config.Now as it is, so a real clock
// compares them by its monotonic reading.
type vitals struct {
	mu      sync.Mutex
	running int       // the number of Runs
	ended   bool      // a Run has ended
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

// turn records the beginning or the end of a sweep; ok tells that it has succeeded.
func (v *vitals) turn(now time.Time, ok bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.turned = now
	if ok {
		v.swept = now
	}
}

// Live reports whether the watcher is at work, with or without success: while the database is out of reach, it is. A
// process whose watcher is not should be restarted. Where [Monitor.Run] was not called, as in a program that leaves the
// watching to another, the watcher is healthy.
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

// Ready reports whether the database answers and has an up-to-date schema. It waits at most 5 seconds.
func (m *Monitor) Ready(ctx context.Context) Condition {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	if err := m.store.Probe(ctx, false); err != nil {
		return Condition{PartDatabase, "is out of reach or not migrated", err}
	}
	return Condition{Part: PartDatabase}
}

// Health reports on each part of the service:
//
//   - The database is healthy when it commits a write. Health writes to it and waits at most 5 seconds.
//   - The watcher is healthy when a sweep has succeeded within the last minute, or within ten times Config.WatchEvery if
//     that is longer. It counts from the call of [Monitor.Run].
//   - Deliveries are healthy unless an alert has been due for more than 5 minutes in which this monitor has tried none. A
//     slow receiver alone is no problem. They are always healthy without Config.Notifiers.
func (m *Monitor) Health(ctx context.Context) []Condition {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	database := Condition{Part: PartDatabase}
	if err := m.store.Probe(ctx, true); err != nil {
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

// Backlog returns what waits in the outbox. The query is cheap however much that is.
func (m *Monitor) Backlog(ctx context.Context) (Backlog, error) { return m.store.Backlog(ctx, m.Now()) }

// Queued returns how many pings wait to be written.
func (m *Monitor) Queued() int {
	m.writer.mu.Lock()
	defer m.writer.mu.Unlock()
	return len(m.writer.queue)
}

// LastDurations returns how long the last finished run of each check of a project took. It leaves out checks whose last
// run was followed by several other pings.
func (m *Monitor) LastDurations(ctx context.Context, projectID uuid.UUID) (map[uuid.UUID]time.Duration, error) {
	return m.store.LastDurations(ctx, projectID)
}
