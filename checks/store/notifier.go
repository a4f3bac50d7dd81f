package store

import "context"

// MaxMessage bounds the bytes of a message of a [Notifier].
const MaxMessage = 7900

// Notifier lets the monitors that share a database see each other's changes. It is optional: a [Store] that is also a
// Notifier, which the monitor finds out by a type assertion, carries the changes of other processes to
// [github.com/rollcall-dev/rollcall/checks/monitor.Monitor.Changes].
type Notifier interface {
	// Announce passes a message of at most [MaxMessage] ASCII characters to everyone who listens, in this process too.
	// The monitor calls it after commits, outside of transactions. The error is [errors.ErrUnsupported] if Listen
	// notices the commits of others without messages; the monitor then announces no more.
	Announce(ctx context.Context, message string) error
	// Listen calls heard with each message within 2 seconds, until ctx ends or messages no longer arrive. It calls
	// heard with "" when it begins to listen, and whenever others have changed something that no message tells. Listen
	// returns only with an error; the monitor then calls it again. While nothing changes, it puts next to no load on the
	// database.
	Listen(ctx context.Context, heard func(message string)) error
}
