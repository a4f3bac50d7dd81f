package monitor

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks/internal/bodies"
	"github.com/rollcall-dev/rollcall/checks/internal/courier"
	"github.com/rollcall-dev/rollcall/checks/internal/feed"
	"github.com/rollcall-dev/rollcall/checks/internal/health"
	"github.com/rollcall-dev/rollcall/checks/internal/history"
	"github.com/rollcall-dev/rollcall/checks/internal/hold"
	"github.com/rollcall-dev/rollcall/checks/internal/ingest"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
	"github.com/rollcall-dev/rollcall/checks/internal/watch"
)

// Monitor keeps checks, takes their pings and watches their deadlines. It is safe for concurrent use, and several
// Monitors, in one process or in many, may work on one database.
type Monitor struct {
	config   Config // with its defaults
	store    store.Store
	observer Observer
	feed     *feed.Feed
	ingest   *ingest.Ingest
	watcher  *watch.Watcher
	courier  *courier.Courier
	bodies   *bodies.Bodies
	history  *history.History
	admin    *admin
	jobs     *jobs
	health   *health.Health
	vitals   *health.Vitals

	mu   sync.Mutex
	work *work // what Start has started, or nil
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
func New(s Store, config *Config) (*Monitor, error) {
	if s == nil {
		return nil, errors.New("monitor: the store is nil")
	}
	db, ok := s.Contract().(store.Store)
	if !ok {
		return nil, errors.New("monitor: the store must be one of package sqlstore, of the same version")
	}
	c, err := config.complete()
	if err != nil {
		return nil, err
	}
	m := &Monitor{config: c, observer: c.Observer, vitals: &health.Vitals{Clock: c.Now}}
	m.bodies = &bodies.Bodies{Queue: db, Storage: c.Bodies, Now: m.Now, Log: m.logger("bodies")}
	run, rule := uuid.New(), hold.Rule{Wait: c.SpoolWait}
	queue, err := spoolOf(c.Spool)
	if err != nil {
		return nil, err
	}
	if queue != nil {
		rule.Spool = queue.ID()
	}
	asking := db
	if c.OnAlert != nil {
		asking = courier.AskForAlerts(db, courier.Limits(c.Delivery), m.Now)
	}
	m.feed = feed.New(db, m.vitals.Idle, m.logger("feed"))
	wake := func() { m.courier.Wake() }
	m.store = m.feed.Wrap(asking, wake, true)
	if m.courier, err = m.newCourier(&c); err != nil {
		return nil, err
	}
	m.ingest, err = ingest.New(ingest.Config{
		Store: m.feed.Wrap(asking, wake, false), Sharder: db, Clock: c.Now, Log: m.logger("spool"), Observer: m.observer,
		MaxStored: c.maxStored(), MaxBatch: c.MaxBatch, MaxQueue: c.MaxQueue, Timeout: c.WriteTimeout, Spool: queue, Run: run, Hold: rule,
		LookUp: func(ctx context.Context, pingKey, slug string, create, limited bool) (uuid.UUID, bool, error) {
			return m.admin.CheckIDBySlug(ctx, pingKey, slug, create, limited)
		},
		Refuses: refusesSlug,
	})
	if err != nil {
		return nil, err
	}
	m.watcher = watch.New(watch.Config{
		Store: m.store, Hold: rule, Margin: c.CommitMargin, Received: m.received, Beat: m.vitals.Swept, Swept: m.observer.Swept,
	})
	m.admin = newAdmin(adminConfig{
		Store: m.store, Now: m.Now, Types: c.Channels, CreateRate: c.CreateRate, MaxCreated: c.MaxCreated,
		Hold: rule, Spooled: m.ingest.Spooled, Configured: m.courier.Configured, Elsewhere: c.DeliveredElsewhere, Audit: c.AuditRetention > 0,
	})
	m.jobs = m.newJobs()
	m.history = &history.History{Store: m.store, Now: m.Now, Log: m.logger("pruner"), Holder: run}
	m.health = &health.Health{
		Vitals: m.vitals, Store: m.store, WatchEvery: c.WatchEvery, Silence: m.ingest.Silence,
		Delivers: m.courier.Delivers, Serves: m.courier.Serves, Unreachable: m.courier.Unreachable, Spooled: m.spooled,
		Failing:   func() health.Failure { return health.Failure(m.ingest.Failing()) },
		Unspooled: func() health.Failure { return health.Failure(m.ingest.Unspooled()) },
	}
	if queue != nil {
		m.health.ProbeSpool = queue.Probe
	}
	if o, ok := m.observer.(interface{ Bind(*Monitor) }); ok {
		o.Bind(m)
	}
	return m, nil
}

// spoolOf returns what the monitor calls of a spool, or nil without one.
func spoolOf(s Spool) (store.Spool, error) {
	if s == nil {
		return nil, nil
	}
	queue, ok := s.Contract().(store.Spool)
	if !ok {
		return nil, errors.New("monitor: the spool must be one of package spool, of the same version")
	}
	return queue, nil
}

// received returns the time, and the instant up to which all received pings are in the database.
func (m *Monitor) received() (now, upTo time.Time) {
	now, upTo = m.ingest.Received()
	return now, m.jobs.Oldest(upTo)
}

// logger returns the logger of a component. The group tells its lines from those of the program around the monitor.
func (m *Monitor) logger(component string) *slog.Logger {
	return m.config.Logger.With(slog.Group("rollcall", "component", component))
}

// Now returns the time of the monitor's clock, in UTC and whole microseconds. Pass it to [checks.Check.Status].
func (m *Monitor) Now() time.Time { return m.config.Now().UTC().Truncate(time.Microsecond) }
