package monitor

import (
	"context"

	"github.com/rollcall-dev/rollcall/checks"
)

// Changes subscribes to the changes in all projects; [Project.Changes] has those of one. The channel is closed when ctx ends.
// Subscribe first and read afterwards: only what is committed after the call is sure to be reported.
//
// A Change follows the first commit after a quiet time at once, and others 200 ms apart. A subscriber that is slow misses
// nothing: the changes that wait for it are merged into one, of bounded size. It never delays the monitor.
//
// The changes of other monitors on the database come too, within 2 seconds; see the package comment. A Change with All
// comes when some may have been missed, also soon after the first subscription.
//
// Only commits are changes. Time alone also changes the status of a check (see [checks.Check.Status]), and the pruning of
// old pings, flips and deliveries is not reported.
func (m *Monitor) Changes(ctx context.Context) <-chan checks.Change {
	return m.feed.Subscribe(ctx, nil)
}

// Changes subscribes to the changes in the project; see [Monitor.Changes].
func (p *Project) Changes(ctx context.Context) <-chan checks.Change {
	return p.feed.Subscribe(ctx, &p.id)
}
