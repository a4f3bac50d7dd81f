package monitor

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/internal/feed"
	"github.com/rollcall-dev/rollcall/checks/internal/hold"
	"github.com/rollcall-dev/rollcall/checks/store"
)

// ErrUnavailable means that the database cannot be reached or is too busy. The operation may succeed later.
var ErrUnavailable = store.ErrUnavailable

// Config configures a [Monitor]. The zero value of a field selects its default.
type Config struct {
	// Logger logs errors of background work. Each line names its component in the group "rollcall": bodies, courier,
	// feed, heartbeat, pruner, spool or watcher. Default: slog.Default().
	Logger *slog.Logger
	// Now is the clock. Default: time.Now.
	Now func() time.Time
	// Kinds are the kinds of channels that can be created. Default: channels.Kinds().
	Kinds []channels.KindInfo
	// Notifiers deliver alerts, by the kind of the channel; Kinds must list each kind. Default: none. Another server on
	// the same database must then have some, or alerts fail after [DeliveryConfig].GiveUp.
	Notifiers map[channels.Kind]channels.Notifier
	// OnAlert gets the alerts of every check of every project, whatever its channels. They go through the outbox as all
	// alerts do: each arrives at least once, those about one check in order. An error is retried, also after a restart,
	// unless [channels.Permanent] marks it. OnAlert must return soon after ctx ends and be safe for concurrent use.
	// Default: none. [Monitor.Deliveries] shows these alerts with the kind [channels.Function].
	//
	// On a shared database, an alert goes to one of the monitors that have OnAlert, whichever has raised it.
	OnAlert func(ctx context.Context, n channels.Notification) error
	// Delivery configures the delivery of alerts.
	Delivery DeliveryConfig
	// AlertLink returns the address of a page about a check, for the alerts about it, or "" for none. project is the name
	// of its project. AlertLink must return at once and be safe for concurrent use. Default: alerts have no link.
	AlertLink func(c checks.Check, project string) string
	// Observer receives events, for metrics. Default: none.
	Observer Observer
	// TraceID returns the trace that ctx belongs to, or "" if there is none. The first line of the body of every ping of
	// a [Monitor.Job] is then "trace_id=" and the result. Package job has the function for OpenTelemetry. Default: no
	// trace.
	TraceID func(ctx context.Context) string

	// WatchEvery is how often [Monitor.Run] looks for overdue checks. Default: 1 second.
	WatchEvery time.Duration
	// PruneEvery is how often [Monitor.Run] prunes flips. It prunes pings ten times as often, a part at a time.
	// Default: 10 seconds.
	PruneEvery time.Duration
	// MaxBatch is the most pings that one transaction writes. Default: 512.
	MaxBatch int
	// MaxQueue is the most pings that may wait for their commit. The monitor refuses further ones with
	// [ErrUnavailable], and any whose body would bring the queued bodies over 64 MiB. Default: 10,000.
	MaxQueue int
	// CreateRate is how many checks the pings of a project may create a minute, on average and as a burst. Each monitor
	// counts its own. Default: no limit.
	CreateRate int
	// MaxCreated is the number of checks from which on the pings of a project create no more. Default: no limit.
	MaxCreated int
	// WriteTimeout bounds the transaction of one batch of pings. Default: 5 seconds.
	WriteTimeout time.Duration
	// CommitMargin is how long after a deadline the watcher takes a check down, at most a minute. In that time another
	// server can commit a ping that it received before the deadline. Alerts about missed deadlines come that much
	// later; flips and alerts still state the deadline. Default: 0, which is right for a single server.
	CommitMargin time.Duration

	// Spool keeps pings while the database is unavailable; see the package comment. Package spool has one in a file.
	// Default: none, and pings fail with [ErrUnavailable].
	Spool store.Spool
	// SpoolWait is how long deadlines are held back for a monitor with a spool that has gone missing, at most a day. It
	// counts from when another monitor notices, so not while nobody reaches the database. Set it on all monitors, also on
	// those without a spool. Default: [DefaultSpoolWait], 1 minute.
	SpoolWait time.Duration

	// Bodies stores the large bodies of pings. It needs a store that is a [store.BodyQueue], as that of package sqlstore is. Default: none, and all bodies
	// stay in the database.
	Bodies BodyStore
	// BodyThreshold is the size in bytes above which a body is large. Default: 100.
	BodyThreshold int64
	// BodyEvery is how often [Monitor.Run] looks for bodies to upload and objects to remove. Default: 1 second.
	BodyEvery time.Duration
}

// MaxCommitMargin bounds [Config.CommitMargin]. It is the shortest grace time.
const MaxCommitMargin = checks.MinPeriod

// Monitor keeps checks, takes their pings and watches their deadlines. It is safe for concurrent use, and several
// Monitors, in one process or in many, may work on one database.
type Monitor struct {
	store    store.Store
	log      *slog.Logger
	clock    func() time.Time
	kinds    []channels.KindInfo
	observer Observer
	traceID  func(context.Context) string
	watch    time.Duration
	margin   time.Duration
	prune    time.Duration
	bodies   bodies
	writer   writer
	// replayTimeout bounds the transaction of one batch of the replay.
	replayTimeout time.Duration
	reconnected   reconnected
	delivery      *delivery
	vitals        vitals
	feed          *feed.Feed
	// run identifies this monitor among those on the database.
	run uuid.UUID
	// pruner is the lease of the monitor that prunes the log, as far as this one knows. Only prunePings uses it.
	pruner store.Lease
	// folded is the instant up to which fold has done its work, in seconds since 1970.
	folded atomic.Int64

	creations  creations
	maxCreated int

	keys       lookups[[sha256.Size]byte, checks.Key]
	byPingKey  lookups[string, checks.Project]
	byBadgeKey lookups[string, checks.Project]
	byID       lookups[uuid.UUID, checks.Project]
}

// New returns a monitor on a store whose schema is up to date. A nil config selects the defaults. New starts nothing:
// the monitor takes pings at once, and [Monitor.Run] watches deadlines.
func New(s store.Store, config *Config) (*Monitor, error) {
	if s == nil {
		return nil, errors.New("monitor: the store is nil")
	}
	var c Config
	if config != nil {
		c = *config
	}
	for _, n := range []int64{int64(c.WatchEvery), int64(c.PruneEvery), int64(c.MaxBatch), int64(c.MaxQueue), int64(c.WriteTimeout),
		int64(c.CommitMargin), int64(c.SpoolWait), int64(c.CreateRate), int64(c.MaxCreated), c.BodyThreshold, int64(c.BodyEvery)} {
		if n < 0 {
			return nil, errors.New("monitor: a limit or an interval of Config is negative")
		}
	}
	if c.CommitMargin > MaxCommitMargin {
		return nil, fmt.Errorf("monitor: CommitMargin is too long: %v, the maximum is %v", c.CommitMargin, MaxCommitMargin)
	}
	if c.SpoolWait > MaxSpoolWait {
		return nil, fmt.Errorf("monitor: SpoolWait is too long: %v, the maximum is %v", c.SpoolWait, MaxSpoolWait)
	}
	if c.Kinds == nil {
		c.Kinds = channels.Kinds()
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	delivery, err := newDelivery(&c)
	if err != nil {
		return nil, err
	}
	bodies, err := newBodies(&c, s)
	if err != nil {
		return nil, err
	}
	run := uuid.New()
	spooling, err := newSpooling(c.Spool, run)
	if err != nil {
		return nil, err
	}
	m := &Monitor{
		delivery: delivery,
		log:      c.Logger,
		clock:    c.Now,
		kinds:    c.Kinds,
		observer: c.Observer,
		traceID:  c.TraceID,
		watch:    orDefault(c.WatchEvery, time.Second),
		margin:   c.CommitMargin,
		prune:    orDefault(c.PruneEvery, 10*time.Second),
		bodies:   bodies,
		run:      run,
	}
	m.creations.perMinute, m.maxCreated = c.CreateRate, c.MaxCreated
	if m.log == nil {
		m.log = slog.Default()
	}
	if m.observer == nil {
		m.observer = silent{}
	}
	m.observer = attentive{m.observer, m}
	m.feed = feed.New(s, m.vitals.idle, m.logger("feed"))
	full := s
	if c.OnAlert != nil {
		full = &asking{Store: s, delivery: delivery, clock: c.Now}
	}
	m.store = m.feed.Wrap(full, delivery.wake, true)
	m.writer = writer{
		store:    m.feed.Wrap(full, delivery.wake, false),
		sharder:  sharderOf(s),
		bodies:   m.bodies,
		maxBatch: orDefault(c.MaxBatch, 512),
		maxQueue: orDefault(c.MaxQueue, 10_000),
		timeout:  orDefault(c.WriteTimeout, 5*time.Second),
		now:      m.Now,
		clock:    m.clock,
		observer: m.observer,
		spooling: spooling,
		hold:     hold.Rule{Wait: orDefault(c.SpoolWait, DefaultSpoolWait)},
	}
	m.replayTimeout = m.writer.timeout
	if spooling != nil {
		m.writer.hold.Spool = c.Spool.ID()
		m.writer.timeout = min(m.writer.timeout, spoolAfter)
	}
	m.keys.read = func(ctx context.Context, hash [sha256.Size]byte) (checks.Key, error) {
		return one(s.Keys(ctx, store.KeyFilter{Hash: &hash}))
	}
	m.byPingKey.read = func(ctx context.Context, key string) (checks.Project, error) {
		return one(s.Projects(ctx, store.ProjectFilter{PingKey: &key}))
	}
	m.byBadgeKey.read = func(ctx context.Context, key string) (checks.Project, error) {
		return one(s.Projects(ctx, store.ProjectFilter{BadgeKey: &key}))
	}
	m.byID.read = m.Project
	return m, nil
}

func orDefault[T int | int64 | time.Duration](value, standard T) T {
	if value == 0 {
		return standard
	}
	return value
}

// Now returns the time of the monitor's clock, in UTC and whole microseconds. Pass it to [checks.Check.Status].
func (m *Monitor) Now() time.Time { return checks.Instant(m.clock()) }

// Probe tests that the database answers queries (server/API.md section 4.13).
func (m *Monitor) Probe(ctx context.Context) error { return m.store.Probe(ctx, false) }
