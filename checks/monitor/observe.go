package monitor

import (
	"time"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/internal/ingest"
	"github.com/rollcall-dev/rollcall/pings"
)

// Observer receives events of a [Monitor], for metrics; package server/metrics has one for Prometheus. A
// function that is nil is not called. The others must be safe for concurrent use. The monitor never calls one inside a
// transaction. It waits for each call, so a function must return at once and must not panic.
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

// fill sets the functions that are nil to one that does nothing.
func (o *Observer) fill() {
	if o.Bind == nil {
		o.Bind = func(*Monitor) {}
	}
	if o.PingsWritten == nil {
		o.PingsWritten = func(map[pings.Kind]int, time.Duration) {}
	}
	if o.PingsFailed == nil {
		o.PingsFailed = func(int) {}
	}
	if o.PingsSpooled == nil {
		o.PingsSpooled = func(int) {}
	}
	if o.PingsReplayed == nil {
		o.PingsReplayed = func(int, int) {}
	}
	if o.SpoolHeld == nil {
		o.SpoolHeld = func() {}
	}
	if o.PingRefused == nil {
		o.PingRefused = func() {}
	}
	if o.Swept == nil {
		o.Swept = func(time.Time, []time.Duration) {}
	}
	if o.Attempted == nil {
		o.Attempted = func(channels.Kind, checks.DeliveryState, time.Duration) {}
	}
}

// ofPings returns the functions that package ingest calls.
func (o *Observer) ofPings() ingest.Observer {
	return ingest.Observer{
		PingsWritten: o.PingsWritten, PingsFailed: o.PingsFailed, PingsSpooled: o.PingsSpooled, PingsReplayed: o.PingsReplayed,
		SpoolHeld: o.SpoolHeld, PingRefused: o.PingRefused,
	}
}
