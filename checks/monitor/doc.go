// Package monitor is the service that other programs embed: it keeps checks in a database, takes their pings, watches
// their deadlines, records when they go up and down, and delivers alerts.
//
// A monitor needs a store. Package sqlstore has one for SQLite and PostgreSQL:
//
//	store, err := sqlstore.New(db) // a *bun.DB
//	err = store.Migrate(ctx)
//	mon, err := monitor.New(store, nil)
//	project, err := mon.OpenProject(ctx, "backups")
//	c, err := mon.Create(ctx, project.ID, checks.Spec{Name: new("nightly"), Schedule: new("0 3 * * *"), TZ: new("Europe/Riga")})
//	_, err = mon.Ping(ctx, c.ID, pings.Signal{Kind: pings.Success})
//	err = mon.Run(ctx) // watches deadlines until ctx ends
//
// # Guarantees
//
// When [Monitor.Ping] returns without an error, the ping is durable. The same commit has the change of its check's state,
// the flip if there was one, and the flip's alerts in the outbox. Pings that arrive at the same time share a commit.
//
// The status of a check is right at the instant at which it is read, whether or not the watcher has come by:
// [checks.Check.Status] needs only the check and the time. The flip of an overdue check has the time of the deadline. It
// is recorded once, by whatever comes first: the watcher of any server, or the next ping.
//
// # Alerts
//
// With [Config.Notifiers], [Monitor.Run] delivers alerts. Each arrives at least once, whatever dies in between: it leaves
// the outbox only when the notifier has returned without an error, and [channels.Notification].ID lets a receiver drop
// duplicates. Alerts about one check to one channel arrive in order. Failed attempts are repeated for a day with growing
// pauses. [Monitor.Deliveries] returns the history, and [Monitor.RetryDeliveries] retries alerts that were given up. A
// channel that hangs holds up no other.
//
// One of the monitors that share a database needs notifiers. Where none has any, alerts fail after
// [DeliveryConfig].GiveUp.
//
// # Large bodies
//
// With [Config.Bodies], bodies larger than [Config.BodyThreshold] move to object storage. Each is committed with its ping,
// then uploaded by [Monitor.Run], and leaves the database only when the object is durable. Neither an outage of the
// storage nor a crash loses a body, and [Monitor.PingBody] finds it at every moment. When a ping leaves the log or its
// check is deleted, its object is removed.
//
// # Several servers
//
// Several monitors may share one database, in one process or in many. They divide the work, and each may take pings of
// any check. Their clocks must agree: the state of a check follows the time at which each ping was received, in whatever
// order the pings are committed (package checks).
//
// A ping can be received just before the deadline by one server and committed just after it, when the watcher of another
// has taken the check down already. To keep that from raising a false alert, set [Config.CommitMargin] on all of them. It
// must cover what a commit takes plus the difference of the clocks; 2 seconds do unless the database is overloaded. Every
// alert about a missed deadline then comes 2 seconds later. Flips and alerts keep the time of the deadline, and so do
// [checks.Check.Status] and all that is read.
//
// A ping that waits longer than the margin for its commit, at most [Config.WriteTimeout] for each batch queued before it,
// can still raise a false alert; as soon as it is committed, the check is up again. The margin concerns the watcher alone:
// the next ping, pause or update of a check records a missed deadline at once. A server that is alone needs no margin,
// because its watcher waits for the pings that it has received itself.
package monitor
