package monitor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/job"
)

// Config configures a [Monitor]. The zero value of a field selects its default.
type Config struct {
	// Logger logs errors of background work. Each line names its component in the group "rollcall": bodies, courier,
	// feed, health, heartbeat, observer, pruner, spool, watcher or zones. Default: slog.Default().
	Logger *slog.Logger
	// Now is the clock. It must not return the zero time. Default: time.Now. When a clock that runs as fast as time.Now is set,
	// deadlines wait for pings under the new time; one that a program moves at will takes effect at once.
	Now func() time.Time
	// Channels are the kinds of channels, each with the notifier that delivers its alerts. Package channels/standard lists
	// those of Rollcall. The monitor adds [channels.Group]. Default: none.
	//
	// A channel of a kind without a notifier cannot be created or get new settings: the error is a
	// *[channels.NotConfiguredError]. What is stored already stays; [Monitor.Health] and the log name it.
	Channels []channels.Type
	// DeliveredElsewhere says that other programs on the same database deliver alerts to channels for which this one has no
	// notifier, so that they can be created here. This program leaves such alerts to them. Alerts that nobody delivers fail
	// after [DeliveryConfig].GiveUp.
	DeliveredElsewhere bool
	// OnAlert gets the alerts of every check of every project, whatever its channels. They go through the outbox as all
	// alerts do: each arrives at least once, those about one check in order. An error is retried, also after a restart,
	// unless [channels.Permanent] marks it. OnAlert must return soon after ctx ends and be safe for concurrent use.
	// Default: none. [Project.Deliveries] shows these alerts with the kind [channels.Function].
	//
	// On a shared database, an alert goes to one of the monitors that have OnAlert, whichever has raised it.
	OnAlert func(ctx context.Context, n channels.Notification) error
	// Delivery configures the delivery of alerts.
	Delivery DeliveryConfig
	// AlertLink returns the address of a page about a check, for the alerts about it, or "" for none. project is the name
	// of its project. AlertLink must return at once and be safe for concurrent use. Default: alerts have no link.
	AlertLink func(c checks.Check, project string) string
	// ListLink returns the address of a page about the checks of a project, for a message about several of them, or "" for none,
	// under the rules of AlertLink. Default: such messages have no link.
	ListLink func(projectID uuid.UUID, project string) string
	// AckLink returns the address at which people acknowledge the outage of a check that is down, for the alerts about it, or "" for
	// none; see server.Server.AcknowledgeURL. It must be safe for concurrent use. Default: alerts have no such link.
	AckLink func(ctx context.Context, c checks.Check) string
	// AckAllLink returns the address at which people acknowledge the outages of all checks that a message about several of them names,
	// or "" for none, under the rules of AckLink; see server.Server.AcknowledgeAllURL. The message stands for the deliveries of a batch
	// ([checks.Delivery].Batch), whose highest ID is last. Default: such messages have no such link.
	AckAllLink func(ctx context.Context, project uuid.UUID, batch, last int64) string
	// Observer receives events, for metrics. Default: none.
	Observer Observer
	// Job configures how [Monitor.Job] and [Project.Register] report runs. BodyLimit is ignored: it is [MaxBody].
	Job job.Config

	// StopTimeout bounds how long [Monitor.Stop] takes to deliver what is due. The last fifth of it, at most a second, is for
	// saving what was done. Default: 5 seconds.
	StopTimeout time.Duration
	// WatchEvery is the longest time between two looks of [Monitor.Start] for the next deadline, after which it looks in any
	// case. A deadline that a change of settings moves into the past waits for the next look. Default: 1 second.
	WatchEvery time.Duration
	// PruneEvery is how often [Monitor.Start] prunes flips. It prunes pings ten times as often, a part at a time.
	// Default: 10 seconds.
	PruneEvery time.Duration
	// MaxBatch is the most pings that one transaction writes. Default: 512.
	MaxBatch int
	// MaxQueue is the most pings that may wait for their commit. The monitor refuses further ones with
	// [checks.ErrUnavailable], and any whose body would bring the queued bodies over 64 MiB. On Citus, both limits are for each
	// worker. Default: 10,000.
	MaxQueue int
	// CreateRate is how many checks the pings of a project may create a minute, on average and as a burst. Each monitor
	// counts its own. Default: no limit.
	CreateRate int
	// MaxCreated is the number of checks from which on the pings of a project create no more. Default: no limit.
	MaxCreated int
	// AuditRetention is how long the audit log keeps who changed what; see package audit. Of several programs on one
	// database, each writes the changes that it makes itself, and the shortest time counts. Default: 0, and this
	// program writes no entries.
	AuditRetention time.Duration
	// WriteTimeout bounds the transaction of one batch of pings. Default: 5 seconds.
	WriteTimeout time.Duration
	// CommitMargin is how long after a deadline the watcher takes a check down, at most a minute. In that time another
	// server can commit a ping that it received before the deadline. Alerts about missed deadlines come that much
	// later; flips and alerts still state the deadline. Default: 0, which is right for a single server.
	CommitMargin time.Duration

	// Spool keeps pings while the database is unavailable; see the package comment. Package spool has one in a file.
	// Default: none, and pings fail with [checks.ErrUnavailable].
	Spool Spool
	// SpoolWait is how long deadlines are held back for a monitor with a spool that has gone missing, at most a day. It
	// counts from when another monitor notices, so not while nobody reaches the database. Set it on all monitors, also on
	// those without a spool. Default: 1 minute.
	SpoolWait time.Duration

	// Bodies stores the large bodies of pings. Default: none, and all bodies stay in the database.
	Bodies BodyStore
	// BodyThreshold is the size in bytes above which a body is large. Default: 100.
	BodyThreshold int64
	// BodyEvery is how often [Monitor.Start] looks for bodies to upload and objects to remove. Default: 1 second.
	BodyEvery time.Duration
}

const (
	maxSpoolWait    = 24 * time.Hour
	maxCommitMargin = checks.MinPeriod // the shortest grace time
)

// maxStored returns the size of the largest body that stays in the database.
func (config *Config) maxStored() int64 {
	if config.Bodies == nil {
		return math.MaxInt64
	}
	return config.BodyThreshold
}

// complete returns a valid configuration with its defaults. A nil config selects all of them.
func (config *Config) complete() (Config, error) {
	var c Config
	if config != nil {
		c = *config
	}
	for _, n := range []struct {
		field string
		value int64
	}{
		{"StopTimeout", int64(c.StopTimeout)}, {"WatchEvery", int64(c.WatchEvery)}, {"PruneEvery", int64(c.PruneEvery)},
		{"MaxBatch", int64(c.MaxBatch)}, {"MaxQueue", int64(c.MaxQueue)}, {"CreateRate", int64(c.CreateRate)}, {"MaxCreated", int64(c.MaxCreated)},
		{"AuditRetention", int64(c.AuditRetention)}, {"WriteTimeout", int64(c.WriteTimeout)}, {"CommitMargin", int64(c.CommitMargin)},
		{"SpoolWait", int64(c.SpoolWait)}, {"BodyThreshold", c.BodyThreshold}, {"BodyEvery", int64(c.BodyEvery)},
		{"Delivery.Every", int64(c.Delivery.Every)}, {"Delivery.Sends", int64(c.Delivery.Sends)},
		{"Delivery.SendsPerChannel", int64(c.Delivery.SendsPerChannel)}, {"Delivery.Timeout", int64(c.Delivery.Timeout)},
		{"Delivery.RetryFirst", int64(c.Delivery.RetryFirst)}, {"Delivery.RetryMost", int64(c.Delivery.RetryMost)},
		{"Delivery.GiveUp", int64(c.Delivery.GiveUp)}, {"Delivery.Lease", int64(c.Delivery.Lease)},
	} {
		if n.value < 0 {
			return c, fmt.Errorf("monitor: Config.%s is negative", n.field)
		}
	}
	if c.CommitMargin > maxCommitMargin {
		return c, fmt.Errorf("monitor: CommitMargin is too long: %v, the maximum is %v", c.CommitMargin, maxCommitMargin)
	}
	if c.SpoolWait > maxSpoolWait {
		return c, fmt.Errorf("monitor: SpoolWait is too long: %v, the maximum is %v", c.SpoolWait, maxSpoolWait)
	}
	if !slices.ContainsFunc(c.Channels, func(t channels.Type) bool { return t.Kind == channels.Group }) {
		c.Channels = append(slices.Clip(c.Channels), channels.GroupType())
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Now().IsZero() {
		return c, errors.New("monitor: Config.Now returns the zero time, and every deadline needs the current one")
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	c.Observer = c.Observer.contained(c.Logger.With(slog.Group("rollcall", "component", "observer")))
	c.StopTimeout = cmp.Or(c.StopTimeout, 5*time.Second)
	c.WatchEvery, c.PruneEvery = cmp.Or(c.WatchEvery, time.Second), cmp.Or(c.PruneEvery, 10*time.Second)
	c.MaxBatch, c.MaxQueue = cmp.Or(c.MaxBatch, 512), cmp.Or(c.MaxQueue, 10_000)
	c.WriteTimeout, c.SpoolWait = cmp.Or(c.WriteTimeout, 5*time.Second), cmp.Or(c.SpoolWait, time.Minute)
	c.BodyThreshold, c.BodyEvery = cmp.Or(c.BodyThreshold, 100), cmp.Or(c.BodyEvery, time.Second)
	return c, nil
}
