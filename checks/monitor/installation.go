package monitor

import (
	"context"
	"time"

	"github.com/google/uuid"
)

// Installation is what the servers on one database share beside the projects: secrets, and the sessions of people.
type Installation struct{ mon *Monitor }

// Installation returns what the servers on the database share.
func (m *Monitor) Installation() *Installation { return &Installation{m} }

// Secret returns a secret of the installation by name. The first call generates it and stores it in the database.
func (i *Installation) Secret(ctx context.Context, name string) (string, error) {
	return i.mon.admin.Secret(ctx, name)
}

// Once reports whether this call is the first with this name, in the whole installation and for good. Of concurrent calls,
// one is the first. Use it for what may happen only once, such as the use of a link.
func (i *Installation) Once(ctx context.Context, name string) (first bool, err error) {
	return i.mon.admin.Once(ctx, name)
}

// EndSession ends a session of somebody who signed in, on all servers. The session would have ended by itself until the
// given instant. What a session is, and its identifier, is up to the caller.
func (i *Installation) EndSession(ctx context.Context, id uuid.UUID, until time.Time) error {
	return i.mon.admin.EndSession(ctx, id, until)
}

// SessionEnded reports whether [Installation.EndSession] has ended a session. It asks the database.
func (i *Installation) SessionEnded(ctx context.Context, id uuid.UUID) (bool, error) {
	return i.mon.admin.SessionEnded(ctx, id)
}
