package monitor

import (
	"time"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/pings"
)

// Outcome says what became of an attempt to deliver an alert.
type Outcome string

// The outcomes of an attempt.
const (
	OutcomeSent   Outcome = "sent"   // the receiver has taken it
	OutcomeRetry  Outcome = "retry"  // it failed and will be tried again
	OutcomeFailed Outcome = "failed" // it failed and was given up
)

// Observer is told what a [Monitor] does, for metrics; package server/metrics has one for Prometheus. The methods are
// called by many goroutines at once, never inside a transaction. They hold up the work that they are told of, so they
// must return at once, and must not panic.
type Observer interface {
	// PingsWritten tells that a batch of pings was committed: how many of each kind, and how long the transaction
	// took. Pings for checks that do not exist are not among them, so there may be none at all.
	PingsWritten(kinds map[pings.Kind]int, took time.Duration)
	// PingsFailed tells that a batch of so many pings could not be written. Of a batch that is then tried ping by
	// ping, only those that fail again are told of, each as a batch of its own.
	PingsFailed(size int)
	// PingRefused tells that a ping was not taken because Config.MaxQueue others wait.
	PingRefused()
	// Swept tells of one look for overdue checks that has succeeded, when that was by the monitor's clock, and for
	// each check that went down how long that was after its deadline.
	Swept(at time.Time, lags []time.Duration)
	// Attempted tells of an attempt to deliver an alert, and how long it took.
	Attempted(kind channels.Kind, outcome Outcome, took time.Duration)
}

// silent is the observer of a monitor that has none.
type silent struct{}

var _ Observer = silent{}

func (silent) PingsWritten(map[pings.Kind]int, time.Duration)  {}
func (silent) PingsFailed(int)                                 {}
func (silent) PingRefused()                                    {}
func (silent) Swept(time.Time, []time.Duration)                {}
func (silent) Attempted(channels.Kind, Outcome, time.Duration) {}
