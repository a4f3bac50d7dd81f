package monitor

import (
	"context"
	"time"

	"github.com/rollcall-dev/rollcall/checks/internal/health"
	"github.com/rollcall-dev/rollcall/checks/job"
)

// Condition is the health of one part of the service.
type Condition struct {
	// Part is "database", which reads and writes; "watcher", which finds overdue checks; "pings", which records them;
	// "deliveries", which sends alerts; or "spool", which keeps pings while the database is unavailable.
	Part string
	// Problem says in a few English words what is wrong, without internal details. It is "" if the part is healthy.
	Problem string
	// Detail says more about a healthy part, or is "".
	Detail string
	// Err is the cause, for the log. It may be nil. A database that fails while pings go to the spool has a Detail and an Err.
	Err error
}

// OK reports whether the part is healthy.
func (c Condition) OK() bool { return c.Problem == "" }

func conditionsOf(parts []health.Condition) []Condition {
	list := make([]Condition, len(parts))
	for i, c := range parts {
		list[i] = Condition(c)
	}
	return list
}

// Vitals is how a server finds out whether this monitor works: probes, figures for metrics and a heartbeat. [Monitor.Health]
// is the whole report.
type Vitals struct{ mon *Monitor }

// Vitals returns the probes and the figures of the monitor, for a server.
func (m *Monitor) Vitals() *Vitals { return &Vitals{m} }

// Live reports whether the watcher runs and pings are not stuck: it returns the condition of pings if they are, and
// else that of the watcher. It does not depend on the database: a part that fails and retries is live. If a part is not
// live, restart the process. In a process that never called [Monitor.Start], the watcher is healthy.
func (v *Vitals) Live() Condition { return Condition(v.mon.health.Live()) }

// Probe tests that the database answers queries, and that the file of SQLite is still the one that is open.
func (v *Vitals) Probe(ctx context.Context) error { return v.mon.store.Probe(ctx, false) }

// Ready reports whether pings can be taken: the database answers and has an up-to-date schema, and pings have not failed
// for some seconds. After failures, a ping that succeeds makes it ready again or, when no more fail, a test write. It waits
// at most 5 seconds, and does not stop when ctx is cancelled: that would say nothing about the database. With a spool, the
// database may fail, because pings are taken all the same: its Err then says why. A second condition is that of the spool,
// which fails after a failed write, or if its file was replaced or removed.
func (v *Vitals) Ready(ctx context.Context) []Condition {
	return conditionsOf(v.mon.health.Ready(ctx))
}

// Health reports on each part of the service:
//
//   - The database is healthy when it commits a test write within 5 seconds, and pings have not failed for some seconds.
//   - The watcher is healthy when a sweep has succeeded within the last minute, or within ten times Config.WatchEvery
//     if that is longer. The time begins with the call of [Monitor.Start].
//   - Deliveries are healthy unless an alert has been due for more than 5 minutes and this monitor has made no attempt
//     at any in that time. A slow receiver alone is no problem. Alerts that this monitor leaves to others, for lack of
//     notifiers or of OnAlert, do not count. They are not healthy either if there are channels to which nobody delivers:
//     this monitor has no notifier for their kind, and Config.DeliveredElsewhere does not say that another has.
//   - A spool, if there is one, is healthy as in [Vitals.Ready]. Its Detail says how much it holds.
//
// Health waits at most 5 seconds for the database, also when ctx is cancelled.
func (m *Monitor) Health(ctx context.Context) []Condition {
	return conditionsOf(m.health.Report(ctx))
}

// Heartbeat reports to another monitor, such as by a *client.Pinger, until ctx ends, and then returns nil. At each
// interval it checks [Monitor.Health] and sends a success, or a failure whose body has one line for each unhealthy part.
// It waits for one interval first, so that a program in a crash loop never reports that it is healthy.
//
// If a beat fails, Heartbeat logs it, and again once an hour while beats keep failing. The interval must be positive.
// If it is shorter than 30 seconds, Heartbeat skips beats while the other monitor does not answer.
func (v *Vitals) Heartbeat(ctx context.Context, every time.Duration, to job.Sender) error {
	return v.mon.health.Heartbeat(ctx, every, to, v.mon.logger("heartbeat"))
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
func (v *Vitals) Backlog(ctx context.Context) (Backlog, error) {
	b, err := v.mon.store.Backlog(ctx, v.mon.Now())
	return Backlog(b), err
}

// OldestHealthy returns when the alert became due that waits the longest for this process although its channel is healthy,
// or the zero time if there is none. A channel is healthy unless its last attempt, or one that is under way, takes 2 seconds
// or longer, or the receiver has asked for a pause. The result is as of the last look at the outbox, a second ago at most.
func (v *Vitals) OldestHealthy() time.Time { return v.mon.courier.OldestDue() }

// Queued returns the number of pings that wait for their commit.
func (v *Vitals) Queued() int { return v.mon.ingest.Queued() }

// SpoolStats describes the pings in the spool of a [Monitor].
type SpoolStats struct {
	// Pings is how many pings the spool holds, and Bytes how many bytes they take.
	Pings int
	Bytes int64
	// Oldest is when the first of them was received, or the first of those in the database that wait for pings in other
	// spools. It is the zero time if there is none.
	Oldest time.Time
	// Stuck is how many pings wait in the database because they cannot be recorded, while those of other checks can. The
	// monitor tries again every few seconds. Those of other monitors are not counted.
	Stuck int
	// Dropped counts the pings that this monitor has removed from the spool because they had no check, could not be read, or
	// had data that the database refuses.
	Dropped int64
}

// Spooled describes the pings that wait in the spool, from memory. ok is false for a monitor without a spool.
func (v *Vitals) Spooled() (stats SpoolStats, ok bool) {
	s, ok := v.mon.ingest.SpoolStats()
	return SpoolStats(s), ok
}

// spooled describes the pings in the spool for [Monitor.Health].
func (m *Monitor) spooled() (health.Spooled, bool) {
	stats, ok := m.ingest.SpoolStats()
	return health.Spooled(stats), ok
}
