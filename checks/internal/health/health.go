// Package health says whether the parts of a monitor work, and reports it to another monitor.
package health

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks/internal/store"
)

// The parts of the service.
const (
	database   = "database"
	watcher    = "watcher"
	pingsPart  = "pings"
	deliveries = "deliveries"
	spool      = "spool"
)

// Condition is the health of one part; see the type of package monitor.
type Condition struct {
	Part    string
	Problem string
	Detail  string
	Err     error
}

// OK reports whether the part is healthy.
func (c Condition) OK() bool { return c.Problem == "" }

const (
	// hangAfter is the least time without progress that counts as a hang. The database cannot cause it: transactions of
	// the watcher and of pings have shorter limits.
	hangAfter = 2 * time.Minute
	// probeTimeout bounds how long a health check waits for the database.
	probeTimeout = 5 * time.Second
	// stuckAfter is how long a delivery may be due, with no attempt at any delivery, before deliveries count as stuck.
	stuckAfter = 5 * time.Minute
	// failingAfter is how long pings must have failed before that is a problem whatever a probe says, and failingNow how
	// long ago the last one may have failed.
	failingAfter, failingNow = 2 * time.Second, 5 * time.Second
)

// Failure describes failures since the last success. The zero value is none.
type Failure struct {
	Since, Last time.Time
	Err         error
}

// Spooled describes the pings in a spool.
type Spooled struct {
	Pings   int
	Bytes   int64
	Oldest  time.Time
	Stuck   int
	Dropped int64
}

// Health examines a monitor.
type Health struct {
	*Vitals
	Store store.Health
	// WatchEvery is the interval of sweeps.
	WatchEvery time.Duration
	// Silence returns how long the pings that are being written have made no progress, and how long that may take.
	Silence func() (silence, limit time.Duration)
	// Delivers reports whether this monitor sends alerts, and Serves whether it sends those to a channel.
	Delivers func() bool
	Serves   func(channel uuid.UUID) bool
	// Unreachable says to which stored channels nobody sends alerts, or "". The cause names them.
	Unreachable func(ctx context.Context) (problem string, cause error)
	// Failing describes the failures to record pings.
	Failing func() Failure
	// Spooled describes the spool, if there is one, and Unspooled the failures to write to it.
	Spooled   func() (s Spooled, ok bool)
	Unspooled func() Failure
	// ProbeSpool fails if the spool takes no pings. With write, it writes to it.
	ProbeSpool func(write bool) error
}

// Live reports whether the watcher runs and pings are not stuck.
func (h *Health) Live() Condition {
	if silence, limit := h.Silence(); silence > max(hangAfter, 2*limit) {
		return Condition{Part: pingsPart, Problem: "are stuck"}
	}
	c := Condition{Part: watcher}
	now := h.Clock()
	h.mu.Lock()
	defer h.mu.Unlock()
	switch silence := now.Sub(h.pulse); {
	case h.running == 0 && h.ended:
		c.Problem = "has stopped"
	case h.running > 0 && silence > max(hangAfter, 10*h.WatchEvery):
		c.Problem = "hangs"
	}
	return c
}

// Ready reports whether the database answers. With a spool, it may be out of reach.
func (h *Health) Ready(ctx context.Context) []Condition {
	spool, spools := h.spool()
	database := h.database(ctx, false, "is out of reach or not migrated")
	if !spools {
		return []Condition{database}
	}
	if !database.OK() && spool.OK() {
		database.Detail, database.Problem = database.Problem+"; pings go to the spool", ""
	}
	return []Condition{database, spool}
}

// Report reports on each part.
func (h *Health) Report(ctx context.Context) []Condition {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), probeTimeout) // see database
	defer cancel()
	list := []Condition{h.database(ctx, true, "cannot be written"), h.watcher(), h.deliveries(ctx)}
	if spool, ok := h.spool(); ok {
		list = append(list, spool)
	}
	return list
}

// database probes the database. It goes on if ctx is cancelled, which says nothing about the database.
func (h *Health) database(ctx context.Context, write bool, problem string) Condition {
	failing := h.Failing()
	if now := h.Clock(); failing.Err != nil && now.Sub(failing.Since) >= failingAfter && now.Sub(failing.Last) <= failingNow {
		return Condition{Part: database, Problem: inWords(failing.Err, "does not record pings"), Err: failing.Err}
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), probeTimeout)
	defer cancel()
	if err := h.Store.Probe(ctx, write || failing.Err != nil); err != nil {
		return Condition{Part: database, Problem: inWords(err, problem), Err: err}
	}
	return Condition{Part: database}
}

// inWords returns what is wrong, by default as told.
func inWords(err error, problem string) string {
	switch {
	case errors.Is(err, store.ErrReplaced):
		return "its " + strings.TrimPrefix(store.ErrReplaced.Error(), "the ")
	case errors.Is(err, store.ErrSpoolDamaged):
		return "is damaged"
	case errors.Is(err, store.ErrSpoolFull):
		return "is full"
	}
	return problem
}

// spool describes the spool. ok is false without one.
func (h *Health) spool() (c Condition, ok bool) {
	s, ok := h.Spooled()
	c = Condition{Part: spool, Detail: "is empty"}
	age := h.now().Sub(s.Oldest).Round(time.Second)
	switch {
	case s.Pings > 0:
		c.Detail = fmt.Sprintf("holds %d pings with %d bytes, the oldest received %v ago", s.Pings, s.Bytes, age)
	case !s.Oldest.IsZero():
		c.Detail = fmt.Sprintf("was written to the database, where the oldest ping, received %v ago, waits", age)
		if h.Failing().Err == nil {
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
		c.Problem, c.Err = h.spoolFails()
	}
	return c, ok
}

// spoolFails returns why the spool takes no pings, or "". While the database records pings, a probe decides.
func (h *Health) spoolFails() (problem string, cause error) {
	failing := h.Unspooled()
	cause = failing.Err
	if cause == nil || h.Clock().Sub(failing.Last) > failingNow || h.Failing().Err == nil {
		cause = h.ProbeSpool(cause != nil)
	}
	if cause != nil {
		problem = inWords(cause, "cannot be written")
	}
	return problem, cause
}

func (h *Health) now() time.Time { return h.Clock().UTC().Truncate(time.Microsecond) }

func (h *Health) watcher() Condition {
	if c := h.Live(); !c.OK() {
		return c
	}
	c := Condition{Part: watcher}
	h.mu.Lock()
	defer h.mu.Unlock()
	silence := h.Clock().Sub(h.swept)
	if h.running > 0 && silence > max(time.Minute, 10*h.WatchEvery) {
		c.Problem = fmt.Sprintf("has not succeeded for %v", silence.Round(time.Second))
	}
	return c
}

func (h *Health) deliveries(ctx context.Context) Condition {
	c := h.backlog(ctx)
	if c.OK() {
		c.Problem, c.Err = h.Unreachable(ctx)
	}
	return c
}

func (h *Health) backlog(ctx context.Context) Condition {
	c := Condition{Part: deliveries}
	if !h.Delivers() {
		return c
	}
	h.mu.Lock()
	busy := h.Clock().Sub(h.tried) <= stuckAfter
	h.mu.Unlock()
	if busy {
		return c
	}
	now := h.now()
	backlog, err := h.Store.Backlog(ctx, now)
	if err != nil {
		c.Problem, c.Err = "cannot be read", err
		return c
	}
	late := now.Sub(backlog.OldestDue)
	if backlog.OldestDue.IsZero() || late <= stuckAfter {
		return c
	}
	// Two channels suffice: the first may be store.OnAlert.
	due, err := h.Store.DueChannels(ctx, now.Add(-stuckAfter), uuid.Nil, 2)
	if err != nil {
		c.Problem, c.Err = "cannot be read", err
	} else if slices.ContainsFunc(due, func(d store.DueChannel) bool { return h.Serves(d.Channel) }) {
		c.Problem = fmt.Sprintf("are stuck: one has been due for %v", late.Round(time.Second))
	}
	return c
}
