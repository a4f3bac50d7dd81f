package monitor

import (
	"time"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/pings"
)

// Observer receives events of a [Monitor], for metrics; package server/metrics has one for Prometheus. It must be safe
// for concurrent use. The monitor never calls it inside a transaction. The monitor waits for each call, so a method
// must return at once and must not panic.
type Observer interface {
	// PingsWritten reports a committed batch of pings: how many of each kind, and how long the transaction took. Pings of
	// unknown checks do not count, so kinds may be empty.
	PingsWritten(kinds map[pings.Kind]int, took time.Duration)
	// PingsFailed reports how many pings could not be written. If a batch is retried ping by ping, only those that fail
	// again count, one call each.
	PingsFailed(size int)
	// PingsSpooled reports pings that went to the spool.
	PingsSpooled(size int)
	// PingsReplayed reports a batch out of the spool: how many pings were recorded, and how many were dropped because they
	// have no check, could not be read, or have data that the database refuses.
	PingsReplayed(recorded, dropped int)
	// SpoolHeld reports that the first ping in the spool has waited for longer than [Config].SpoolWait for those of other
	// servers, although the database is available. It reports each ping at most once.
	SpoolHeld()
	// PingRefused reports a ping that was refused because the queue is full; see [Config].MaxQueue.
	PingRefused()
	// Swept reports a successful sweep: its time by the monitor's clock and, for each check that it took down, how long
	// that was after the deadline.
	Swept(at time.Time, lags []time.Duration)
	// Attempted reports an attempt to deliver an alert and how long it took. The state is DeliverySent, DeliveryFailed if the
	// alert was given up, or DeliveryPending if it will be retried.
	Attempted(kind channels.Kind, state checks.DeliveryState, took time.Duration)
}

// silent is the observer of a monitor without one.
type silent struct{}

var _ Observer = silent{}

func (silent) PingsWritten(map[pings.Kind]int, time.Duration)               {}
func (silent) PingsFailed(int)                                              {}
func (silent) PingsSpooled(int)                                             {}
func (silent) PingsReplayed(int, int)                                       {}
func (silent) SpoolHeld()                                                   {}
func (silent) PingRefused()                                                 {}
func (silent) Swept(time.Time, []time.Duration)                             {}
func (silent) Attempted(channels.Kind, checks.DeliveryState, time.Duration) {}
