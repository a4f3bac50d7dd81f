package monitor

import (
	"log/slog"
	"time"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/internal/background"
	"github.com/rollcall-dev/rollcall/checks/internal/ingest"
	"github.com/rollcall-dev/rollcall/pings"
)

// Observer receives events of a [Monitor], for metrics; package server/metrics has one for Prometheus. A
// function that is nil is not called. The others must be safe for concurrent use. The monitor never calls one inside a
// transaction. It waits for each call, so a function must return at once. It logs a panic and goes on.
type Observer struct {
	// Bind gets the monitor before [New] returns it.
	Bind func(m *Monitor)
	// PingsWritten reports a committed batch of pings: how many of each kind, and how long the transaction took. Pings of
	// unknown checks do not count, so kinds may be empty.
	PingsWritten func(kinds map[pings.Kind]int, took time.Duration)
	// PingsFailed reports how many pings could not be written. If a batch is retried ping by ping, only those that fail
	// again count, one call each.
	PingsFailed func(size int)
	// PingsSpooled reports pings that went to the spool.
	PingsSpooled func(size int)
	// PingsReplayed reports a batch out of the spool: how many pings were recorded, and how many were dropped because they
	// have no check or could not be read.
	PingsReplayed func(recorded, dropped int)
	// SpoolHeld reports that the first ping in the spool has waited for longer than [Config].SpoolWait for those of other
	// servers, although the database is available. It reports each ping at most once.
	SpoolHeld func()
	// PingRefused reports a ping that was refused because the queue is full; see [Config].MaxQueue.
	PingRefused func()
	// Swept reports a successful look for overdue checks: its time by the monitor's clock and, for each check that it took
	// down, how long that was after the deadline.
	Swept func(at time.Time, lags []time.Duration)
	// Attempted reports an attempt to deliver an alert and how long it took. The state is DeliverySent, DeliveryFailed if the
	// alert was given up, or DeliveryPending if it will be retried.
	Attempted func(kind channels.Kind, state checks.DeliveryState, took time.Duration)
}

// contained returns the observer with all functions but Bind: they call those of o, if there are any, and log a panic or
// runtime.Goexit, which would otherwise end the work that they observe.
func (o Observer) contained(log *slog.Logger) Observer {
	call := func(name string, given bool, fn func()) {
		if !given {
			return
		}
		if err := background.Call(func() error { fn(); return nil }); err != nil {
			log.Error("the function Observer."+name+" failed", "error", err)
		}
	}
	c := Observer{Bind: o.Bind}
	c.PingsWritten = func(kinds map[pings.Kind]int, took time.Duration) {
		call("PingsWritten", o.PingsWritten != nil, func() { o.PingsWritten(kinds, took) })
	}
	c.PingsFailed = func(size int) { call("PingsFailed", o.PingsFailed != nil, func() { o.PingsFailed(size) }) }
	c.PingsSpooled = func(size int) { call("PingsSpooled", o.PingsSpooled != nil, func() { o.PingsSpooled(size) }) }
	c.PingsReplayed = func(recorded, dropped int) {
		call("PingsReplayed", o.PingsReplayed != nil, func() { o.PingsReplayed(recorded, dropped) })
	}
	c.SpoolHeld = func() { call("SpoolHeld", o.SpoolHeld != nil, func() { o.SpoolHeld() }) }
	c.PingRefused = func() { call("PingRefused", o.PingRefused != nil, func() { o.PingRefused() }) }
	c.Swept = func(at time.Time, lags []time.Duration) { call("Swept", o.Swept != nil, func() { o.Swept(at, lags) }) }
	c.Attempted = func(kind channels.Kind, state checks.DeliveryState, took time.Duration) {
		call("Attempted", o.Attempted != nil, func() { o.Attempted(kind, state, took) })
	}
	if o.Bind == nil {
		c.Bind = func(*Monitor) {}
	}
	return c
}

// ofPings returns the functions that package ingest calls.
func (o *Observer) ofPings() ingest.Events {
	return ingest.Events{
		PingsWritten: o.PingsWritten, PingsFailed: o.PingsFailed, PingsSpooled: o.PingsSpooled, PingsReplayed: o.PingsReplayed,
		SpoolHeld: o.SpoolHeld, PingRefused: o.PingRefused,
	}
}
