package checks_test

import (
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/pings"
)

// A check that expects a ping every hour goes from up to grace to down by the clock alone.
func Example() {
	now := time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC)
	c, err := checks.New(uuid.New(), checks.Spec{Timeout: new(time.Hour), Grace: new(10 * time.Minute)}, now)
	if err != nil {
		panic(err)
	}
	fmt.Println(c.Status(now))
	c, ping, _, err := c.Ping(pings.Signal{Kind: pings.Success}, now)
	if err != nil {
		panic(err)
	}
	fmt.Println("ping", ping.N, ping.Kind)
	for _, later := range []time.Duration{30 * time.Minute, 65 * time.Minute, 70 * time.Minute} {
		fmt.Println(later, c.Status(now.Add(later)))
	}
	// The flip has the instant of the deadline, however late Settle is called.
	_, effects := c.Settle(now.Add(5 * time.Hour))
	for _, t := range effects.Transitions {
		fmt.Println(t.At.Format(time.TimeOnly), t.To, t.Reason)
	}
	// Output:
	// new
	// ping 1 success
	// 30m0s up
	// 1h5m0s grace
	// 1h10m0s down
	// 04:10:00 down overdue
}

// With an AlertAfter of 2, the second failure in a row raises the alert. The status is down from the first on.
func ExampleEffects() {
	now := time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC)
	c, err := checks.New(uuid.New(), checks.Spec{AlertAfter: new(2)}, now)
	if err != nil {
		panic(err)
	}
	for range 2 {
		var effects checks.Effects
		if c, _, effects, err = c.Ping(pings.Signal{Kind: pings.Failure}, now); err != nil {
			panic(err)
		}
		fmt.Println(c.Status(now), len(effects.Transitions), "flips", len(effects.Alerts), "alerts")
	}
	// Output:
	// down 1 flips 0 alerts
	// down 0 flips 1 alerts
}

// A job could not report at 12:05 and 12:20, and does so at 12:30. What it says is in the log at its own time, and nobody
// is alerted.
func ExampleCheck_Ping_queued() {
	noon := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	c, err := checks.New(uuid.New(), checks.Spec{Timeout: new(time.Hour)}, noon)
	if err != nil {
		panic(err)
	}
	now := noon.Add(30 * time.Minute)
	for _, signal := range []pings.Signal{
		{Kind: pings.Success, At: noon.Add(5 * time.Minute)},
		{Kind: pings.Failure, At: noon.Add(20 * time.Minute)},
		{Kind: pings.Success, At: noon.Add(10 * time.Minute)}, // not the newest
	} {
		var ping pings.Ping
		var effects checks.Effects
		if c, ping, effects, err = c.Ping(signal, now); err != nil {
			panic(err)
		}
		fmt.Println(ping.N, ping.At.Format(time.TimeOnly), ping.Kind, c.Status(now), len(effects.Alerts))
	}
	c, effects := c.Settle(now.Add(2 * time.Hour)) // the next ping does not come either
	fmt.Println(c.LastPing.Format(time.TimeOnly), effects.Alerts[0].Status)
	// Output:
	// 1 12:05:00 success up 0
	// 2 12:20:00 fail down 0
	// 3 12:10:00 success down 0
	// 12:20:00 down
}
