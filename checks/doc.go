// Package checks is the core of Rollcall: what a check is and how its state changes.
//
// A [Check] stands for one periodic job. It is either a Simple check, which expects a ping every Timeout, or a Cron
// check, which expects one by a Schedule in a time zone (API-V3.md sections 1 and 2.1). Its state is one of new, up,
// grace, down and paused (section 3). Two of the changes happen by the clock alone, without any event: up becomes
// grace when a ping is expected and has not come, and grace becomes down when the grace time has passed as well.
//
// The state machine is pure. Every event is a method that takes the instant at which it happens and returns a
// changed copy, with its [Effects]: the transitions and the alerts; nothing here reads a clock, a file or a network:
//
//	c, err := checks.New(projectID, checks.Spec{Timeout: new(time.Hour), Grace: new(10 * time.Minute)}, now)
//	c, ping, effects := c.Ping(pings.Signal{Kind: pings.Success}, now)
//	c.Status(now.Add(30 * time.Minute)) // up
//	c.Status(now.Add(65 * time.Minute)) // grace
//	c.Status(now.Add(70 * time.Minute)) // down
//	c, effects = c.Settle(now.Add(2 * time.Hour))
//	// effects.Transitions[0].To == checks.StatusDown, effects.Transitions[0].At == now.Add(70 * time.Minute)
//
// Servers that share a database can record the pings of one check in another order than they received them. The state
// follows the order of receipt: a late ping is logged and counted, and changes only what newer events left open. So the
// status, the last ping and the count of pings are the same for every order. There are three limits. A start that is
// recorded after a success or failure received later begins no run. A deadline that passed before a late success was
// recorded leaves two transitions, down and up again. And a ping received more than [pings.MaxLate] before the newest
// counts as received now, because a clock must have been set back.
//
// Where the status changes, integrations are told: when a check goes down, and when it comes up again after that. The
// rules of a check can put that off until it has failed several times in a row, hold it back in quiet hours (package
// quiet), and have it repeated while the check is down. They decide about [Alert] values alone: the state and its
// transitions are the same with and without rules.
//
// A [Spec] is a set of changes to a check's settings, each of them optional; it is validated as a whole before any
// of it is applied. A [Project] groups checks and knows the limits of its account's plan (section 8).
//
// Package checks/monitor keeps checks in a database and watches their deadlines; most programs want that one.
package checks
