// Package checks is the core of Rollcall: what a check is and how its state changes.
//
// A [Check] stands for one periodic job. It is either a Simple check, which expects a ping every Timeout, or a Cron
// check, which expects one by a Schedule in a time zone (API-V3.md sections 1 and 2.1). Its state is one of new, up,
// grace, down and paused (section 3). Two of the changes happen by the clock alone, without any event: up becomes
// grace when a ping is expected and has not come, and grace becomes down when the grace time has passed as well.
//
// The state machine is pure. Every event is a method that takes the instant at which it happens and returns a
// changed copy, with the transitions that it made; nothing here reads a clock, a file or a network:
//
//	c, err := checks.New(projectID, checks.Spec{Timeout: new(time.Hour), Grace: new(10 * time.Minute)}, now)
//	c, ping, transitions := c.Ping(pings.Signal{Kind: pings.Success}, now)
//	c.Status(now.Add(30 * time.Minute)) // up
//	c.Status(now.Add(65 * time.Minute)) // grace
//	c.Status(now.Add(70 * time.Minute)) // down
//	c, transitions = c.Settle(now.Add(2 * time.Hour))
//	// transitions[0].To == checks.Down, transitions[0].At == now.Add(70 * time.Minute)
//
// A [Spec] is a set of changes to a check's settings, each of them optional; it is validated as a whole before any
// of it is applied. A [Project] groups checks and knows the limits of its account's plan (section 8).
//
// Package checks/monitor keeps checks in a database and watches their deadlines; most programs want that one.
package checks
