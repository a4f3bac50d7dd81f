package monitor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/channels/prose"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
)

// The parts of the service.
const (
	partDatabase   = "database"
	partWatcher    = "watcher"
	partPings      = "pings"
	partDeliveries = "deliveries"
	partSpool      = "spool"
	partDurability = "durability"
	partChecks     = "checks"
	partKeys       = "keys"
	partZoneinfo   = "zoneinfo"
)

// Condition is the health of one part of the service.
type Condition struct {
	// Part is "database", which reads and writes; "watcher", which finds overdue checks; "pings", which records them;
	// "deliveries", which sends alerts; "spool", which keeps pings while the database is unavailable; "durability"; or
	// one of [Monitor.Warnings].
	Part string
	// Problem says in a few English words what is wrong, without internal details. It is "" if the part is healthy.
	Problem string
	// Warning says that the part works in spite of its Problem, which someone should see to: a heartbeat is a success then, and
	// /readyz of a server answers 200.
	Warning bool
	// Detail says more about a healthy part, or is "".
	Detail string
	// Err is the cause, for the log. It may be nil. A database that fails while pings go to the spool has a Detail and an Err.
	Err error
}

// OK reports whether the part is healthy.
func (c Condition) OK() bool { return c.Problem == "" }

const (
	// hangAfter is the least time without progress that counts as a hang. The database cannot cause it: transactions of
	// the watcher and of pings have shorter limits.
	hangAfter = 2 * time.Minute
	// probeTimeout bounds how long a health check waits for the database.
	probeTimeout = 5 * time.Second
	// readyTimeout bounds how long Ready waits for the database. Load balancers wait little longer.
	readyTimeout = 1800 * time.Millisecond
	// stuckAfter is how long a delivery may be due, with no attempt at any delivery, before deliveries count as stuck.
	stuckAfter = 5 * time.Minute
	// failingAfter is how long pings must have failed before that is a problem whatever a probe says, and failingNow how
	// long ago the last one may have failed.
	failingAfter, failingNow = 2 * time.Second, 5 * time.Second
)

// Live reports whether the watcher runs and pings are not stuck: it returns the condition of pings if they are, and
// else that of the watcher. It does not depend on the database: a part that fails and retries is live. If a part is not
// live, restart the process. In a process that never called [Monitor.Start], the watcher is healthy. So it is just after the
// process did not run for a while; its Detail then says from when on deadlines wait for pings.
func (m *Monitor) Live() Condition {
	_, gap := m.gaps.Now() // during which all parts were silent
	if silence, limit := m.ingest.Silence(); gap.IsZero() && silence > max(hangAfter, 2*limit) {
		return Condition{Part: partPings, Problem: "are stuck"}
	}
	c := Condition{Part: partWatcher}
	now := m.config.Now()
	m.pulse.mu.Lock()
	defer m.pulse.mu.Unlock()
	switch silence := now.Sub(m.pulse.last); {
	case m.pulse.running == 0 && m.pulse.ended:
		c.Problem = "has stopped"
	case !gap.IsZero():
		c.Detail = "goes on after a gap, or after its clock was set; deadlines after " + gap.Format("2006-01-02 15:04:05 MST") + " wait for pings"
	case m.pulse.running > 0 && silence > max(hangAfter, 10*m.config.WatchEvery):
		c.Problem = "hangs"
	}
	return c
}

// Probe tests that the database answers queries, and that the file of SQLite is still the one that is open.
func (m *Monitor) Probe(ctx context.Context) error { return m.store.Probe(ctx, false) }

// Ready reports whether pings can be taken: the database answers and has an up-to-date schema, and pings have not failed
// for some seconds. After failures, a ping that succeeds makes it ready again or, when no more fail, a test write. It waits
// at most 2 seconds: a database that has not answered by then is not ready. It does not stop when ctx is cancelled, which
// would say nothing about the database. With a spool, the database may fail, because pings are taken all the same: its Err
// then says why. A second condition is that of the spool, which fails after a failed write, or if its file was replaced or
// removed.
//
// While some workers of Citus do not answer, the database is healthy, because the pings of all other checks are taken: its
// Detail and its Err say so.
func (m *Monitor) Ready(ctx context.Context) []Condition {
	spool, spools := m.spoolHealth()
	database, partly := m.look(ctx)
	switch {
	case database.OK():
	case spools && spool.OK():
		database.Detail, database.Problem = database.Problem+"; pings go to the spool", ""
	case partly:
		database.Detail, database.Problem = database.Problem+"; pings of other checks are recorded", ""
	}
	if !spools {
		return []Condition{database}
	}
	return []Condition{database, spool}
}

// look is what Ready finds out about the database.
type look struct {
	late     <-chan struct{} // closed when Ready no longer waits
	done     chan struct{}
	database Condition
	partly   bool // see databaseHealth
}

// looking is the look in progress, which all callers of Ready share.
type looking struct {
	mu  sync.Mutex
	now *look
}

// look probes the database for Ready. A driver or a lock may keep the probe longer than its context allows.
func (m *Monitor) look(ctx context.Context) (database Condition, partly bool) {
	m.looking.mu.Lock()
	l := m.looking.now
	if l == nil {
		within, cancel := context.WithTimeout(context.WithoutCancel(ctx), readyTimeout)
		l = &look{late: within.Done(), done: make(chan struct{})}
		m.looking.now = l
		go func() {
			defer cancel()
			l.database, l.partly = m.databaseHealth(within, false, "is out of reach or not migrated")
			m.looking.mu.Lock()
			defer m.looking.mu.Unlock()
			m.looking.now = nil
			close(l.done)
		}()
	}
	m.looking.mu.Unlock()
	select {
	case <-l.done:
	case <-l.late:
		select {
		case <-l.done:
		default:
			return Condition{Part: partDatabase, Problem: noAnswer, Err: context.DeadlineExceeded}, false
		}
	}
	return l.database, l.partly
}

// Health reports on each part of the service:
//
//   - The database is healthy when it commits a test write within 5 seconds, pings have not failed for some seconds, and all
//     workers of Citus answer. If a newer version has migrated it, or pings cost it more than they need to, its Detail says so.
//   - The watcher is healthy when it has looked for overdue checks within the last minute, or within ten times
//     Config.WatchEvery if that is longer. The time begins with the call of [Monitor.Start]. See [Monitor.Live].
//   - Deliveries are healthy unless an alert has been due for more than 5 minutes and this monitor has made no attempt
//     at any in that time. A slow receiver alone is no problem. Alerts that this monitor leaves to others, for lack of
//     notifiers or of OnAlert, do not count. They are not healthy either if there are channels to which nobody delivers:
//     this monitor has no notifier for their kind, and Config.DeliveredElsewhere does not say that another has.
//     An alert that was given up is a problem until one to the same channel, or to OnAlert, is sent: a Warning if any other
//     alert was sent since, because then alerts do leave.
//   - A spool, if there is one, is healthy as in [Monitor.Ready]. Its Detail says how much it holds.
//
// Then follow "durability", if a setting of the database lets a crash of its machine lose what was acknowledged, and the
// [Monitor.Warnings]. Both have Warning set.
//
// Health waits at most 5 seconds for the database, also when ctx is cancelled.
func (m *Monitor) Health(ctx context.Context) []Condition {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), probeTimeout)
	defer cancel()
	database, _ := m.databaseHealth(ctx, true, "cannot be written")
	list := []Condition{database, m.watcherHealth(), m.deliveriesHealth(ctx)}
	if spool, ok := m.spoolHealth(); ok {
		list = append(list, spool)
	}
	return slices.Concat(list, warnings(ctx, m.durability), m.Warnings(ctx))
}

// noAnswer is the problem of a database that takes too long.
const noAnswer = "does not answer"

// databaseHealth probes the database until ctx ends. partly is set if the only problem is that some workers of Citus do not answer.
func (m *Monitor) databaseHealth(ctx context.Context, write bool, problem string) (c Condition, partly bool) {
	all, away, err := m.store.Workers(ctx)
	if err == nil && len(away) > 0 && m.store.Probe(ctx, false) == nil {
		return Condition{
			Part: partDatabase, Problem: fmt.Sprintf("cannot reach %d of %d workers of Citus", len(away), all),
			Err: fmt.Errorf("workers that do not answer the coordinator: %s", strings.Join(away, ", ")),
		}, len(away) < all
	}
	failing := m.ingest.Failing()
	if now := m.config.Now(); failing.Err != nil && now.Sub(failing.Since) >= failingAfter && now.Sub(failing.Last) <= failingNow {
		return Condition{Part: partDatabase, Problem: inWords(failing.Err, "does not record pings"), Err: failing.Err}, false
	}
	if err := m.store.Probe(ctx, write || failing.Err != nil); err != nil {
		if ctx.Err() != nil {
			problem = noAnswer
		}
		return Condition{Part: partDatabase, Problem: inWords(err, problem), Err: err}, false
	}
	c = Condition{Part: partDatabase, Detail: m.store.Slowed()}
	if m.store.Newer() {
		c.Detail = store.ErrNewer.Error()
	}
	return c, false
}

// inWords returns what is wrong, by default as told.
func inWords(err error, problem string) string {
	if fault, ok := errors.AsType[store.Fault](err); ok {
		return string(fault)
	}
	switch {
	case errors.Is(err, store.ErrNewer):
		return store.ErrNewer.Error()
	case errors.Is(err, store.ErrReplaced):
		return "its " + strings.TrimPrefix(store.ErrReplaced.Error(), "the ")
	case errors.Is(err, store.ErrSpoolDamaged):
		return "is damaged"
	case errors.Is(err, store.ErrSpoolFull):
		return "is full"
	}
	return problem
}

// spoolHealth describes the spool. ok is false without one.
func (m *Monitor) spoolHealth() (c Condition, ok bool) {
	s, ok := m.ingest.SpoolStats()
	c = Condition{Part: partSpool, Detail: "is empty"}
	age := m.now().Sub(s.Oldest).Round(time.Second)
	switch {
	case s.Pings > 0:
		c.Detail = fmt.Sprintf("holds %d pings with %d bytes, the oldest received %v ago", s.Pings, s.Bytes, age)
	case !s.Oldest.IsZero():
		c.Detail = fmt.Sprintf("was written to the database, where the oldest ping, received %v ago, waits", age)
		if m.ingest.Failing().Err == nil {
			c.Detail += " for other servers"
		}
	}
	if s.Stuck > 0 {
		c.Detail += fmt.Sprintf("; %d wait in the database because they cannot be recorded", s.Stuck)
	}
	if s.Dropped > 0 {
		c.Detail += fmt.Sprintf("; %d were dropped", s.Dropped)
	}
	if ok {
		c.Problem, c.Err = m.spoolFails()
	}
	return c, ok
}

// spoolFails returns why the spool takes no pings, or "". While the database records pings, a probe decides.
func (m *Monitor) spoolFails() (problem string, cause error) {
	failing := m.ingest.Unspooled()
	cause = failing.Err
	if cause == nil || m.config.Now().Sub(failing.Last) > failingNow || m.ingest.Failing().Err == nil {
		cause = m.queue.Probe(cause != nil)
	}
	if cause != nil {
		problem = inWords(cause, "cannot be written")
	}
	return problem, cause
}

func (m *Monitor) watcherHealth() Condition {
	c := m.Live()
	if !c.OK() || c.Detail != "" {
		return c
	}
	m.pulse.mu.Lock()
	defer m.pulse.mu.Unlock()
	silence := m.config.Now().Sub(m.pulse.swept)
	if m.pulse.running > 0 && silence > max(time.Minute, 10*m.config.WatchEvery) {
		c.Problem = fmt.Sprintf("has not succeeded for %v", silence.Round(time.Second))
	}
	return c
}

func (m *Monitor) deliveriesHealth(ctx context.Context) Condition {
	c := m.backlogHealth(ctx)
	if c.OK() {
		c.Problem, c.Err = m.courier.Unreachable(ctx)
	}
	if c.OK() {
		c = m.givenUp(ctx)
	}
	return c
}

// givenUp reports the channels whose last alert was given up.
func (m *Monitor) givenUp(ctx context.Context) Condition {
	c := Condition{Part: partDeliveries}
	list, sent, err := m.store.GivenUp(ctx)
	if err != nil {
		c.Problem, c.Err = "cannot be read", err
	}
	if err != nil || len(list) == 0 {
		return c
	}
	last := slices.MaxFunc(list, func(a, b channels.Channel) int { return a.FailedAt.Compare(b.FailedAt) })
	receivers := prose.Count(len(list), "integration")
	if len(list) == 1 && last.Kind == channels.Function {
		receivers = last.Name
	}
	c.Problem = fmt.Sprintf("were given up: the last alert to %s, %v ago", receivers, m.now().Sub(last.FailedAt).Round(time.Second))
	c.Warning = sent.After(last.FailedAt)
	var causes []error
	for _, to := range list[:min(len(list), namedMost)] {
		causes = append(causes, fmt.Errorf("%s %q (%s): %s", to.Kind, to.Name, to.ID, to.Error))
	}
	c.Err = errors.Join(causes...)
	return c
}

func (m *Monitor) backlogHealth(ctx context.Context) Condition {
	c := Condition{Part: partDeliveries}
	if !m.courier.Delivers() {
		return c
	}
	m.pulse.mu.Lock()
	busy := m.config.Now().Sub(m.pulse.tried) <= stuckAfter
	m.pulse.mu.Unlock()
	if _, gap := m.gaps.Now(); busy || !gap.IsZero() {
		return c
	}
	now := m.now()
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
	} else if slices.ContainsFunc(due, func(d store.DueChannel) bool { return m.courier.Serves(d.Channel) }) {
		c.Problem = fmt.Sprintf("are stuck: one has been due for %v", late.Round(time.Second))
	}
	return c
}
