// Package monitor is the service that other programs embed: it keeps checks in a database, takes their pings,
// watches their deadlines and records when they go up and down.
//
// A monitor needs a store (package sqlstore has one for SQLite and PostgreSQL), and a database driver of your
// choice:
//
//	store, err := sqlstore.New(db) // a *bun.DB
//	err = store.Migrate(ctx)
//	mon, err := monitor.New(store, nil)
//	project, err := mon.OpenProject(ctx, "backups")
//	c, err := mon.Create(ctx, project.ID, checks.Spec{Name: new("nightly"), Schedule: new("0 3 * * *"), TZ: new("Europe/Riga")})
//	_, err = mon.Ping(ctx, c.ID, pings.Signal{Kind: pings.Success})
//	err = mon.Run(ctx) // watches deadlines until ctx ends
//
// # What is promised
//
// When [Monitor.Ping] returns without an error, the ping is durable: it was committed together with the change of
// its check's state, with the flip if there was one, and with the alerts of that flip in the outbox. Pings that
// arrive at the same time share one commit.
//
// The state of a check that is read is right at that instant, whether or not the watcher has come by: [checks.Check.Status]
// works from the check and the time alone. The flip of an overdue check is recorded at the instant of its deadline,
// once, by whoever comes first: the watcher of any server, or the next ping.
//
// # Alerts
//
// With [Config.Notifiers], [Monitor.Run] delivers alerts. Each arrives at least once, whatever dies in between: it is
// taken off the outbox only when the notifier has returned without an error, and [channels.Notification].ID lets a
// receiver drop what it has seen. Alerts about one check to one integration arrive in order. What fails is sent again
// for a day, less and less often; [Monitor.Deliveries] tells what has become of each alert, and
// [Monitor.RetryDeliveries] sends those again that were given up. An integration that hangs holds up no other.
//
// # Large bodies
//
// With [Config.Bodies], the bodies of pings that are larger than [Config.BodyThreshold] move to object storage. Each is
// committed with its ping first, uploaded by [Monitor.Run], and taken out of the database only when the object is
// durable, so that neither an outage of the storage nor a crash loses a body. [Monitor.PingBody] finds it at every
// moment of that. When a ping leaves the log, or its check is deleted, its object is removed, also after a crash in
// between.
//
// # Sharing
//
// Several monitors may share one database, in one process or in many.
package monitor
