package monitor

import (
	"context"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks/internal/feed"
)

// ChangeKind is a set of kinds of changes.
type ChangeKind = feed.Kind

// The kinds of changes. The first four concern checks.
const (
	// ChangedLog is a new ping: the log of a check, its last ping, its run in progress and its deadline.
	ChangedLog = feed.Log
	// ChangedStatus is a flip, a pause or a resumption.
	ChangedStatus = feed.Status
	// ChangedSettings means that a check was created, updated, transferred or deleted.
	ChangedSettings = feed.Settings
	// ChangedDeliveries means that an alert about a check was queued, sent, given up or queued again.
	ChangedDeliveries = feed.Deliveries
	// ChangedChannels means that a channel was created, updated or deleted, or that it began or ceased to fail.
	ChangedChannels = feed.Channels
	// ChangedProject means that the project was created or deleted, or that its API keys have changed.
	ChangedProject = feed.Project
	// ChangedStatusPages means that a status page was created, updated or deleted.
	ChangedStatusPages = feed.StatusPages
)

// Change tells a subscriber of [Monitor.Changes] what to read again. All means that anything may have changed, in any
// project. Otherwise Projects holds what has changed, by project, and the method Project returns it. Subscribers share the
// map: do not change it.
type Change = feed.Change

// ProjectChange is what has changed in a project. The zero value is nothing. Kinds is the set of all changes in the
// project. AllChecks means that each of Kinds that concerns checks may concern any check; otherwise Checks holds the
// changes by check, and the method Check returns them. Subscribers share the map: do not change it.
type ProjectChange = feed.ProjectChange

// Changes subscribes to the changes in some projects, or in all of them if none is given. The channel is closed when ctx
// ends. Subscribe first and read afterwards: only what is committed after the call is sure to be reported.
//
// A Change follows the first commit after a quiet time at once, and others 200 ms apart. A subscriber that is slow misses
// nothing: the changes that wait for it are merged into one, of bounded size. It never delays the monitor.
//
// The changes of other monitors on the database come too, within 2 seconds; see the package comment. A Change with All
// comes when some may have been missed, also soon after the first subscription.
//
// Only commits are changes. Time alone also changes the status of a check (see [checks.Check.Status]), and the pruning of
// old pings, flips and deliveries is not reported.
func (m *Monitor) Changes(ctx context.Context, projects ...uuid.UUID) <-chan Change {
	return m.feed.Subscribe(ctx, projects)
}
