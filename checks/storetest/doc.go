// Package storetest tests the contract of a [store.Store], which package store documents. A store that passes the tests
// can serve a monitor:
//
//	func TestContract(t *testing.T) {
//		storetest.Run(t, func(t *testing.T) store.Store { return openMyStore(t) })
//	}
//
// [Run] runs one subtest for each requirement below, on a new store each time. Run it once more on a store with a single
// database connection: that finds whatever waits for a second connection inside a transaction. Package sqlstore does both.
//
// # Transactions
//
//   - UpdateRollsBack: if its function fails, Update returns that error and nothing has changed.
//   - CancelledContext: with a cancelled context, Update returns [context.Canceled]. The store works on.
//   - LostUpdates: a transaction that has locked a check sees all that earlier ones wrote. None overwrites another.
//   - LockOrder: LockChecks takes IDs in any order and never leads to a deadlock, or Update runs its function again.
//   - LockMissing: LockCheck returns [checks.ErrNotFound] for an unknown check. LockChecks leaves it out.
//
// # Checks
//
//   - CheckRoundTrip: settings come back as they were saved, and a schedule that was read can be evaluated. An ID that is in
//     use is [checks.ErrExists].
//   - StateRoundTrip: the state comes back as it was saved, with its open runs and its history, from Checks and from
//     LockCheck.
//   - SettingsAndState: writing settings leaves the state alone.
//   - AnyText: text without NUL comes back unchanged and can be searched for, whatever its characters.
//   - CheckQueries: Checks looks at all fields of its filter, compares tags as whole words, and returns the oldest first. A
//     zero ID or an empty key matches nothing.
//   - FindChecks: a match compares whole values, with their case, and a timeout only of Simple checks. Oldest first.
//   - MoveCheck: a check that is saved with another project is found there only, with its log, flips and state. Without its
//     deliveries, nobody can send an alert about it to the old channels.
//   - MoveWhileDelivering: no copy to a member of a group outlives DeleteDeliveries.
//   - DeleteCheck: pings and flips go with their check.
//
// # Batches of pings
//
//   - Batches: a batch sees all that came between it and the batch before: pauses, new settings, deleted checks. A batch
//     that fails leaves no trace, not even in a cache.
//   - MixedBatch: one batch may hold checks with several pings, with one and with none. Each gets its own.
//   - BatchesWithBodies: one batch may hold pings with bodies of any bytes and pings without.
//   - ConcurrentBatches: concurrent batches of the same checks lose no ping.
//
// # The log
//
//   - PingLog: Pings returns all fields but the body, newest first.
//   - PingBodies: a body comes back byte for byte. A ping that is not among the newest of the check, as many as the limit, is
//     [checks.ErrNotFound].
//   - FlipWindows: the bounds of Flips are exclusive and count microseconds.
//   - Transitions: they have their reasons and the status before them, and come with the pauses in the order of their times.
//     PruneFlips removes old ones of both, and DeleteCheck all.
//   - RecentPings: it returns the newest pings of several checks, each list as long as the limit, the instant and pruning
//     leave it. Pings that waited in a queue hide no newer ones.
//   - RecentTransitions: it returns those of Transitions from an instant on, for several checks at once.
//   - History: transitions and pauses come page by page, newest first, each transition with the deliveries of its alert and
//     the newest of its reminders.
//   - ManyReminders: an event has the alert itself and as many of the newest reminders as fit.
//   - LastDurations: the duration of a run stands until the next one ends, also while a run is in progress. It may be left out
//     after other pings.
//
// # Totals
//
//   - Months: the totals of days are added to those that are stored, exactly once, and go with their check.
//   - Folds: a month that is folded has the times of all its days, also if it is saved twice or totals are added later. Pruning
//     keeps them.
//   - Unfolded: the checks that existed in a month and have no fold of it come page by page, in the order of their IDs.
//
// # Deadlines
//
//   - DueChecks: LockDue returns a check from the microsecond of its deadline on, and no longer once it is down. Checks that
//     are new, paused or down are not due.
//   - DueChecksAreShared: several watchers together find every due check, and none of them twice.
//   - DeadlinesAreLazy: LockDue may return a check once too early if a ping has put its deadline off, but not again before the
//     real deadline. A ping that moves the deadline earlier counts at once.
//   - DueRuns: LockDue returns a check when its run has taken as long as MaxRuntime allows.
//
// # Pruning
//
//   - PrunePings: the newest pings of each check stay with their bodies, as many as the plan allows, and numbers go on.
//   - PruneInSteps: PrunePings calls pause at least once in 500 pings that it removes, and others can write meanwhile.
//   - PruneWhilePinged: if each call finds 300 new pings, no more than about twice the pings to keep are in the log.
//   - PruneLogOfDeleted: PrunePings removes the log of a deleted check and nothing else.
//   - PruneFlips: flips of exactly the given instant stay, and older ones go.
//
// # Projects, accounts and keys
//
//   - Projects: Projects looks at all fields of its filter, compares whole values with their case, and sorts by name. A name
//     that is in use is [checks.ErrExists].
//   - Accounts: an account is a name with a plan. Its projects count their checks together and share a limit, which the
//     project that was added last with one has set.
//   - FirstProject: of several servers that add a project if CountProjects returns 0, one does.
//   - DeleteProject: checks, channels, status pages and keys go with their project. A deleted project is [checks.ErrNotFound].
//   - Keys: keys are found by their hash and listed with the oldest first. Only their own project can delete them.
//   - KeyErrors: a hash that is in use is [checks.ErrExists]. An unknown project is not, whether or not it is an error.
//   - Setting: concurrent callers that store a setting all get the same value.
//   - Sessions: a session that has ended stays so until its instant, and is forgotten after that.
//   - Leases: one of several callers gets a lease, and keeps it until its end, or as long as it renews it.
//
// # Status pages
//
//   - StatusPages: status pages come back as they were saved, oldest first, and are found by their slug and their project.
//   - StatusPageErrors: a slug that is in use in any project is [checks.ErrExists]. Only their own project can change or
//     delete pages.
//
// # Channels
//
//   - Channels: channels come back with their settings and sources, oldest first. Only their own project can change or
//     delete them.
//   - AssignedChannels: the channels of a check come back oldest first, without those that were deleted.
//   - ChannelsOfManyChecks: a list of checks has the channels of each, however long it is.
//
// # Alerts
//
//   - AlertRulesRoundTrip: alert rules and what they remember come back after each event.
//   - AlertRules: LockDue returns a check when an alert or a reminder is due, and not again before the next one. Each alert
//     goes to the channels that are assigned when it is raised.
//   - AlertOrder: a transaction with many alerts queues those of one check in order, each about a flip of its own.
//   - AlertsInQuietHours: an alert that was held back sums up the flips since then.
//   - AlertsOfLaterRules: reminders of a check that was down before it had rules refer to its last flip, as long as it is kept.
//   - Alerts: an alert holds the check and the newest ping as they are now, and when the check came up or went down.
//   - GroupMembers: the alert to a group lists the members that exist, oldest first.
//
// # Deliveries
//
//   - DueChannels: channels with a due delivery come in the order of their IDs, page by page.
//   - DeliveryClaims: a claim leases a delivery and counts an attempt. A lease that ends, a retry and a delivery that is made
//     pending again can be claimed; a delivery in a final state cannot.
//   - DeliveriesInOrder: only the first delivery of a line can be claimed, and a long line holds up no other.
//   - DeliveryRoom: a claim takes at most as many as a channel has room for, the longest due first.
//   - DeliveryLines: a line can be locked and saved as a whole, to supersede deliveries by a later one.
//   - DeliveriesAreShared: several servers claim every delivery once.
//   - DeliveryCopies: each member of a group gets a copy of an alert once, and reminders are alerts of their own.
//   - DeliveryHistory: Deliveries looks at all fields of its query. Pruning removes only deliveries in a final state.
//   - RecipientsThatAccepted: the recipients that have accepted an alert stay with its delivery.
//   - Incidents: an incident is saved, replaced and removed; it outlives its check, but not its channel.
//   - CloseIncident: a delivery that closes an incident waits in the line of its check and channel, and counts as up.
//   - OnAlert: until the latest instant that OnAlertUntil was given, each alert also goes to [store.OnAlert], whatever the
//     channels of its check. No list of channels has it.
//   - OnAlertDeliveries: deliveries to [store.OnAlert] are claimed in order, saved, listed and deleted like others.
//
// # Object storage
//
// These are skipped for a store that is no [store.BodyQueue].
//
//   - Uploads: an upload is leased, retried and finished once. Its body is in the database until then, and its key after that.
//   - UploadsAreShared: several servers claim every upload once.
//   - UploadOfPrunedPing: if a ping is pruned while its body is uploaded, the object is removed as soon as it may exist.
//   - ObjectsOfPrunedPings: the objects of pruned pings are queued for removal, and no others.
//   - KeysAreNotReused: a new check with the ID of a deleted one gets other keys.
//   - Removals: a removal is leased, retried and finished once. An object that is uploaded again meanwhile is removed again.
//
// # Spools
//
//   - Spools: the states of spools come back as they were saved, until they are closed. Old ones are pruned.
//   - Recorded: the number of a run's last ping in the database is set and locked with the transaction.
//
// # Health
//
//   - Probes: Probe succeeds on a store that works, and fails with a cancelled context.
//   - Backlog: pending deliveries are counted, and the longest due is that of a first in line.
package storetest
