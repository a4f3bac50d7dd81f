package store

import (
	"context"
	"errors"
)

// MaxMessage bounds the bytes of a message of a [Notifier].
const MaxMessage = 7900

// ErrClosed is the error of a [Notifier] whose store was closed.
var ErrClosed = errors.New("the store is closed")

// Notifier lets the monitors that share a database see each other's changes.
type Notifier interface {
	// Announce passes a message of at most [MaxMessage] ASCII characters to everyone who listens, in this process too.
	// The monitor calls it after commits, outside of transactions. The error is [errors.ErrUnsupported] if Listen
	// notices commits without messages, and [ErrClosed] after the store was closed. After both, the monitor announces no more.
	// The empty message only asks whether messages are supported, without a query.
	Announce(ctx context.Context, message string) error
	// Listen calls heard with each message within 2 seconds, until ctx ends or messages no longer arrive. It calls
	// heard with "" when it begins to listen, and whenever others have changed something that no message tells. Listen
	// returns only with an error; the monitor then calls it again, except after [ErrClosed]. While nothing changes, it
	// puts next to no load on the database.
	Listen(ctx context.Context, heard func(message string)) error
}
