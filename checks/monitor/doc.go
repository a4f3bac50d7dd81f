// Package monitor is the service that other programs embed. It keeps checks in a database, takes their pings, watches
// their deadlines, records when they go up and down, and delivers alerts.
//
// Six lines watch a job, and one reports each of its runs:
//
//	store, err := sqlite.Open(ctx, "jobs.db") // or postgres.Open(ctx, url)
//	mon, err := monitor.New(store, nil)
//	err = mon.Start(ctx) // watches deadlines and sends alerts until Stop
//	defer mon.Stop(ctx)  // sends the alerts that are due
//	jobs, err := mon.OpenProject(ctx, "jobs")
//	nightly, err := jobs.Register(ctx, checks.Spec{Slug: new("backup"), Schedule: new("0 3 * * *")})
//
//	err = nightly.Run(ctx, backup) // start, then success, or failure with the error as text
//
// Packages sqlite and postgres below sqlstore open the store; sqlstore.Open takes a pool that the program has already.
// A database in memory serves programs that need no durability: see sqlite.Memory. Package monitortest makes a monitor for
// a program's own tests, with a clock that the test moves.
//
// # Guarantees
//
// When [Monitor.Ping] returns without an error, the ping is durable. The same commit holds the new state of its check,
// the flip if there was one, and the flip's alerts in the outbox. Pings that arrive at the same time share a commit.
//
// The status of a check is always current, even before the watcher records it: [checks.Check.Status] needs only the
// check and the time. The flip of an overdue check has the time of the deadline. Either the watcher of some server or
// the next ping records it, once.
//
// # Alerts
//
// [Config.OnAlert] is a function that gets every alert. [Config.Channels] deliver alerts to the channels of their
// checks. [Monitor.Start] calls both, for each alert at least once, even across crashes: an alert leaves the outbox only
// when the function or the notifier has returned without an error. [channels.Notification].ID lets a receiver drop
// duplicates. Alerts about one check to one channel arrive in order. The monitor retries failed attempts for a day with
// growing pauses. [Project.Deliveries] returns the history, and [Project.RetryFailed] retries alerts that were
// given up. A channel that hangs delays no other. [Monitor.Stop] sends what is due, so that a program which runs for a moment
// reports the failure of its job, and says how many alerts remain.
//
// At least one of the monitors that share a database needs notifiers. If none has any, alerts fail after
// [DeliveryConfig].GiveUp. If one of them has OnAlert, it gets the alerts that any of them raises. After the last one with
// OnAlert has stopped, the outbox takes alerts to it for another GiveUp at most.
//
// # Projects and servers
//
// A [Project] has the checks of one project and all that belongs to them, with the methods of a *client.Client: code for a
// [checks.Manager], [checks.Administrator] or [checks.Projects] works on both. A [checks.Snapshot] of a monitor has its
// [checks.Check], the state machine.
//
// Servers ask for more: [Projects] are all projects with their accounts and keys, [Installation] what the servers on a database
// share. [Monitor.Health] says whether this monitor works, and [Monitor.Kinds] which channels it can have.
//
// # Transactions
//
// [Monitor.Ping] does not take part in a transaction of the program, not even on the same PostgreSQL. A ping locks the state of
// its check until the commit, and shares that commit with the pings of others, who would wait for the program; what it changes
// is cached by its revision and announced to subscribers right after the commit, and a rollback would take that back unseen.
// Ping after the commit: a job whose transaction fails reports that failure.
//
// # Large bodies
//
// With [Config.Bodies], bodies larger than [Config.BodyThreshold] move to object storage. A body is committed with its
// ping. [Monitor.Start] uploads it, reads the object, and clears the body from the database if both are equal. Neither an
// outage of the storage nor a crash loses a body, and [Project.PingBody] finds it at every moment. The key of an object has the
// digest of the body, so a body that the storage alters or swaps is an error. When a ping leaves the log or its check is deleted,
// the monitor removes its object.
//
// # Changes
//
// [Project.Changes] and [Monitor.Changes] say what has changed, so that a page or a cache reads again only what it must:
//
//	changes := project.Changes(ctx) // subscribe first
//	for {
//		render(project.Checks(ctx, checks.Query{})) // then read
//		if _, open := <-changes; !open {
//			return
//		}
//	}
//
// It costs the database no query. A slow subscriber never delays a ping: what it has not received yet is merged.
//
// While there are subscribers, the monitor also hears of the changes of other processes within 2 seconds:
//
//   - On PostgreSQL each monitor announces its changes, at most twice a second while it takes pings. A monitor that is
//     not started announces other changes before the method returns, so that a process may end at once. One connection
//     outside of the pool listens. After an outage, and behind a connection pooler, changes arrive without details, as
//     [checks.Change].All.
//   - On SQLite the changes of other processes arrive without details. Two monitors on one store in one process do not
//     see each other's.
//
// # Spool
//
// With [Config].Spool, pings are taken while the database is unavailable. A ping that cannot be committed within 2 seconds
// goes into a durable queue on this machine, and so do all that follow it, which keeps their order. Meanwhile nobody can look
// up checks: a ping of a check that does not exist is taken too, and dropped later. [Monitor.Start] records the pings, with
// their times of receipt, as soon as the database is back. Each is recorded once, whatever crashes in between: a ping has a
// number, and the transaction that records it saves the number.
//
// No monitor judges a deadline while a ping from before it may be in a spool. So each monitor with a spool saves once a
// second up to when all its pings are recorded. The watchers of all monitors wait for the last of these instants, as do
// pings and changes of a check that would judge its deadline: such pings take the way through the spool, and such changes
// fail with [checks.ErrUnavailable]. Nobody waits for a monitor that has stopped with an empty spool. For one that has gone missing,
// the others wait for [Config].SpoolWait after they have noticed. If it comes back later, its pings are recorded all the same;
// by then its checks may have gone down.
//
// After an outage of several monitors, each moves its pings to the database, where they wait until no other monitor has
// older ones. They are recorded in the order of their times, so the history and the alerts are those of one monitor. A
// monitor that was without the database spools its pings until all others have been heard of again.
//
// Any error of the database is an outage but one that refuses the data of a ping, which is dropped. If pings of one check
// cannot be recorded although those of others can, they wait in the database and are tried again every few seconds, in their
// order; deadlines do not wait for them.
//
// The spool costs each batch of pings one more row. Until the replay, the status of a check, such as its badge shows it,
// reflects only the recorded pings.
//
// # Gaps
//
// A process that did not run for 2 seconds or longer, such as on a machine that was suspended or migrated, has pings in its
// sockets that arrived in time. [Monitor.Start] notices that, and when the clock was set by as much, and logs it. It then judges
// no deadline after the beginning of the gap for 5 seconds, or for 65 if the clock was set forward; a ping in that
// time takes no check down. Changes of a check that would judge such a deadline fail with [checks.ErrUnavailable].
//
// # Several servers
//
// Several monitors may share one database, in one process or in many. They share the work, and each may take pings of
// any check. Their clocks must agree: the state of a check follows the times at which pings were received, not the
// order in which they were committed (package checks).
//
// One server can receive a ping just before the deadline and commit it just after, when another server's watcher has
// already taken the check down. To prevent the false alert, set [Config.CommitMargin] on all servers. It must cover the
// time of a commit plus the difference of the clocks; 2 seconds suffice unless the database is overloaded. Every alert
// about a missed deadline then comes 2 seconds later. Flips, alerts and [checks.Check.Status] still go by the deadline
// itself.
//
// If a ping waits longer than the margin for its commit, a false alert is still possible. The wait is at most
// [Config.WriteTimeout] for each batch queued before the ping, and its commit brings the check up again. The margin
// applies to the watcher alone: the next ping, pause or update of a check records a missed deadline at once. A single
// server needs no margin, because its watcher waits for the pings that it has received itself.
package monitor
