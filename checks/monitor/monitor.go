package monitor

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/internal/courier"
	"github.com/rollcall-dev/rollcall/checks/internal/feed"
	"github.com/rollcall-dev/rollcall/checks/internal/hold"
	"github.com/rollcall-dev/rollcall/checks/internal/ingest"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
	"github.com/rollcall-dev/rollcall/checks/internal/watch"
)

// Monitor keeps checks, takes their pings and watches their deadlines. It is safe for concurrent use, and several
// Monitors, in one process or in many, may work on one database.
type Monitor struct {
	*service
	pruner  *pruner
	zones   *zones
	warner  *warner
	looking looking

	mu   sync.Mutex
	work *work // what Start has started, or nil
}

// service is what a monitor shares with its projects and with what it has for servers.
type service struct {
	config  Config // with its defaults
	store   store.Store
	feed    *feed.Feed
	ingest  *ingest.Ingest
	watcher *watch.Watcher
	courier *courier.Courier
	queue   store.Spool // or nil
	pulse   *pulse
	bodies  bodies
	jobs    *jobs

	hold      hold.Rule // holds back changes that would judge a deadline
	gaps      *hold.Gaps
	creations creations
	cached    cached
	counted   counted
	told      told // of objects in object storage
}

// Store is the database of a monitor: a *sqlstore.Store, or a type that embeds one.
type Store interface {
	// Contract returns what the monitor calls. Its type is internal, and changes with every version.
	Contract() any
}

// Spool keeps pings while the database is unavailable: a *spool.Spool, or a type that embeds one.
type Spool interface {
	// Contract returns what the monitor calls. Its type is internal, and changes with every version.
	Contract() any
}

// New returns a monitor on a store whose schema is up to date. A nil config selects the defaults. New starts nothing:
// the monitor takes pings at once, and [Monitor.Start] watches deadlines.
func New(on Store, config *Config) (*Monitor, error) {
	if isNil(on) {
		return nil, errors.New("monitor: the store is nil")
	}
	db, ok := on.Contract().(store.Store)
	if !ok {
		return nil, errors.New("monitor: the store must be one of package sqlstore, of the same version")
	}
	c, err := config.complete()
	if err != nil {
		return nil, err
	}
	queue, err := spoolOf(c.Spool)
	if err != nil {
		return nil, err
	}
	run, rule := uuid.New(), hold.Rule{Wait: c.SpoolWait}
	if queue != nil {
		rule.Spool = queue.ID()
	}
	s := &service{config: c, queue: queue, hold: rule, pulse: &pulse{clock: c.Now}}
	s.gaps = hold.NewGaps(c.Now, s.logger("watcher"))
	m := &Monitor{service: s, pruner: &pruner{service: s, holder: run}, zones: &zones{service: s}}
	m.warner = &warner{Monitor: m}
	s.bodies = bodies{s}
	asking := db
	if c.OnAlert != nil {
		asking = courier.AskForAlerts(db, courier.Limits(c.Delivery), s.now)
	}
	s.feed = feed.New(db, s.pulse.idle, s.logger("feed"))
	wake := func() { s.courier.Wake() }
	s.store = s.feed.Wrap(asking, wake, c.Now, true)
	if s.courier, err = s.newCourier(); err != nil {
		return nil, err
	}
	s.ingest, err = ingest.New(ingest.Config{
		Store: s.feed.Wrap(asking, wake, c.Now, false), Sharder: db.Sharder(), Clock: c.Now, Log: s.logger("spool"), Events: c.Observer.ofPings(),
		MaxStored: c.maxStored(), MaxBatch: c.MaxBatch, MaxQueue: c.MaxQueue, Timeout: c.WriteTimeout, Spool: queue, Run: run, Hold: rule,
		Gaps: s.gaps, LookUp: s.checkIDBySlug, Refuses: refusesSlug,
	})
	if err != nil {
		return nil, err
	}
	s.watcher = watch.New(watch.Config{
		Store: s.store, Hold: rule, Log: s.logger("watcher"), Every: c.WatchEvery, Margin: c.CommitMargin, Received: s.received,
		Beat: s.pulse.sweep, Swept: c.Observer.Swept,
	})
	s.creations.perMinute = c.CreateRate
	s.cached.keys.read = s.findKey
	s.cached.byBadgeKey.read = func(ctx context.Context, key string) (checks.Project, error) {
		return s.project(ctx, store.ProjectFilter{BadgeKey: &key})
	}
	s.cached.byID.read = func(ctx context.Context, id uuid.UUID) (checks.Project, error) {
		return s.project(ctx, store.ProjectFilter{ID: &id})
	}
	s.jobs = newJobs(s)
	c.Observer.Bind(m)
	return m, nil
}

// isNil reports whether a value is nil, or an interface with a nil pointer, as the result of an Open that failed is.
func isNil(v any) bool {
	r := reflect.ValueOf(v)
	return v == nil || r.Kind() == reflect.Pointer && r.IsNil()
}

// spoolOf returns what the monitor calls of a spool, or nil without one.
func spoolOf(s Spool) (store.Spool, error) {
	if s == nil {
		return nil, nil
	}
	if isNil(s) {
		return nil, fmt.Errorf("monitor: Config.Spool is a nil %T; leave it out for no spool", s)
	}
	queue, ok := s.Contract().(store.Spool)
	if !ok {
		return nil, errors.New("monitor: the spool must be one of package spool, of the same version")
	}
	return queue, nil
}

// received returns the time, and the instant up to which all received pings are in the database.
func (s *service) received() (now, upTo time.Time) {
	now, upTo = s.ingest.Received()
	return now, s.jobs.keeper.oldest(upTo)
}

// logger returns the logger of a component. The group tells its lines from those of the program around the monitor.
func (s *service) logger(component string) *slog.Logger {
	return s.config.Logger.With(slog.Group("rollcall", "component", component))
}

// Now returns the time of the monitor's clock, in UTC and whole microseconds. Pass it to [checks.Check.Status].
func (m *Monitor) Now() time.Time { return m.now() }

func (s *service) now() time.Time { return s.config.Now().UTC().Truncate(time.Microsecond) }
