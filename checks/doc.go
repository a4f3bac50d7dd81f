// Package checks is the core of Rollcall: what a check is and how its state changes.
//
// A [Check] stands for one periodic job. A Simple check expects a ping every Timeout; a Cron check expects one by a
// Schedule in a time zone (sections 1 and 2.1 of the [API]). Its status is new, up, grace, down or paused (section 3).
// The clock alone makes two of the changes: up becomes grace when a ping is due and has not come, and grace becomes down
// when the grace time has passed as well.
//
// The state machine is pure. Every event is a method that takes the time and returns a changed copy with its [Effects],
// the transitions and the alerts. Nothing here reads a clock, a file or a network:
//
//	c, err := checks.New(projectID, checks.Spec{Timeout: new(time.Hour), Grace: new(10 * time.Minute)}, now)
//	c, ping, effects, err := c.Ping(pings.Signal{Kind: pings.Success}, now)
//	c.Status(now.Add(30 * time.Minute)) // up
//	c.Status(now.Add(65 * time.Minute)) // grace
//	c.Status(now.Add(70 * time.Minute)) // down
//	c, effects = c.Settle(now.Add(2 * time.Hour))
//	// effects.Transitions[0].To == checks.StatusDown, effects.Transitions[0].At == now.Add(70 * time.Minute)
//
// A [Spec] changes settings, each of them optional. It is validated as a whole before any of it is applied. A [Project]
// groups checks and knows the limits of its account's plan (section 8).
//
// # Runs and pauses
//
//   - A run begins with a start. If no success or failure ends it within MaxRuntime, or within Grace if that is not set, the
//     check goes down.
//   - Overlapping runs differ by their run IDs; those without one are one nameless run. A result ends the run with its ID; one
//     without an ID ends the nameless run, or all runs if that is not in progress.
//   - With MaxRuntime each run is overdue by itself. Without it only the newest run can be: its end, a result without an ID and
//     any failure end all runs.
//   - A start that repeats the ID of a run that ended at most a minute before begins none.
//   - New timing counts from the last ping. It can take a check down, no earlier than the change.
//   - A pause lasts until Resume, which makes the check new, or until the next start, success or failure. A start makes a paused
//     check new. With ManualResume only Resume ends the pause; pings are then logged and ignored.
//   - Pausing and resuming are not flips.
//
// # Alerts
//
// Integrations are alerted when a check goes down, and when it comes up again after that. The rules of a check can put
// an alert off until several failures in a row, hold it back in quiet hours (package quiet), and repeat it while the
// check is down. They decide about [Alert] values alone: state and transitions are the same with and without rules. Package gate
// is what decides, and knows more rules: maintenance windows, snoozes, acknowledgements, escalation, checks that follow others.
//
// # Late pings
//
// Servers that share a database can record the pings of a check in another order than they received them. The state
// follows the order of receipt: a late ping is logged and counted, and changes only what newer events left open. The
// status and the last ping are the same for every order, as long as no deadline passes between receipt and record. The
// limits of this:
//
//   - A start recorded after a success or failure that was received later begins no run.
//   - A success that is recorded after a missed deadline that it would have met takes the check up again, at that
//     deadline. The transition down stays.
//   - A failure recorded late counts for AlertAfter only if the check had already gone down when it was received.
//   - Of pings received in the same microsecond, the one recorded last counts.
//   - A ping received more than 2 minutes before the newest is not late: a clock was set back, and it counts as
//     the newest.
//   - A missed run stays in the [History], also if the success that it waited for is recorded after the deadline.
//
// A late success or failure is a run of the [History] like any other. It stands at the time of its receipt and counts
// for that day.
//
// # Queued pings
//
// A job that could not report may do so later, with the time at which it wanted to ([pings.Signal.At]). Such a ping stands
// in the log at its own time, and the machine takes it for what it says about the past:
//
//   - It changes the state only if it is the newest: no success, failure or start, and no pause or resume came after it,
//     and the ping after it is not overdue as well. The last ping never moves back.
//   - If the ping after it is overdue as well, a success or a failure begins the watch of a check that is new or paused:
//     the next ping is expected from its arrival ([State].WatchedFrom).
//   - It raises no alert. The alert about a failure waits for the next failure, start or missed deadline, and is dropped
//     if a success comes first. The alert about a success waits for the next success that is not queued.
//   - A start begins no run, because that could only take the check down. It gives its end a duration.
//   - A success or a failure is a run of the [History] in any case, at its own time and on its own day. A missed run stays.
//
// Package checks/monitor keeps checks in a database and watches their deadlines. Most programs want that one.
//
// [API]: https://github.com/rollcall-dev/rollcall/blob/main/server/API.md
package checks
