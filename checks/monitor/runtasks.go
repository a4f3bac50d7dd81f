package monitor

import (
	"context"
	"log/slog"
	"time"

	"github.com/rollcall-dev/rollcall/checks/internal/background"
	"github.com/rollcall-dev/rollcall/checks/internal/watch"
)

// task is a part of the background work.
type task struct {
	name string
	// every is how often Start does it, or 0 if that is up to package ingest, watch or courier.
	every time.Duration
	// do is one round. It calls pause between its steps; without pause, it does all at once.
	do func(ctx context.Context, pause func()) (int, error)
	// first says that Start does it at once, too.
	first bool
	// upkeep says that no alert waits for it.
	upkeep bool
	// patient says that it backs off after failures.
	patient bool
	// failure names an error in the log.
	log     *slog.Logger
	failure string
}

type tasks []task

// The tasks that are done once more at the end.
const sweep, upload = "sweep", "upload"

// tasks returns the background work in the order in which Tick does it.
func (m *Monitor) tasks() tasks {
	pruner, bodies := m.logger("pruner"), m.logger("bodies")
	prune, object := m.config.PruneEvery, m.config.BodyEvery
	look := "cannot look for what to warn of"
	list := tasks{
		{name: "replay", do: whole(m.ingest.Replay)},
		{name: sweep, do: whole(m.watcher.Sweep), log: m.watcher.Log, failure: watch.Failure},
		{name: "deliver", do: whole(m.courier.Deliver)},
		{name: "incidents", do: whole(m.courier.KeepIncidents), upkeep: true},
		{name: "deliver", do: whole(m.courier.Deliver), upkeep: true}, // those that close incidents
		{name: "warn", every: warnEvery, first: true, do: whole(m.warner.warn), upkeep: true, log: m.logger("health"), failure: look},
		{name: "prune", every: max(prune/10, 1), do: m.pruner.pings, upkeep: true, log: pruner, failure: "cannot remove old pings"},
		{name: "prune", every: prune, do: m.pruner.others, upkeep: true, log: pruner, failure: "cannot prune flips, records and the audit log"},
		{name: "zones", every: zonesEvery, first: true, do: m.zones.renew, upkeep: true, log: m.logger("zones"), failure: "cannot bring the times of checks up to the time zone data"},
	}
	if m.config.Bodies == nil {
		return list
	}
	return append(list,
		task{name: upload, every: object, do: whole(m.bodies.upload), upkeep: true, patient: true, log: bodies,
			failure: "cannot move the bodies of pings to object storage"},
		task{name: "remove", every: object, do: whole(m.bodies.remove), upkeep: true, patient: true, log: bodies, failure: "cannot remove objects"})
}

// whole is a task without pauses.
func whole(round background.Task) func(context.Context, func()) (int, error) {
	return func(ctx context.Context, _ func()) (int, error) { return round(ctx) }
}

// loop does the task at each interval until ctx ends.
func (t task) loop(ctx context.Context) {
	if t.every == 0 {
		return
	}
	round := func(ctx context.Context) (int, error) { return t.do(ctx, background.Paced(ctx, t.every/2)) }
	if t.first {
		background.Attempt(ctx, t.log, t.failure, round)
	}
	if t.patient {
		background.Insist(ctx, t.log, t.every, t.failure, round)
		return
	}
	background.Every(ctx, t.log, t.every, t.failure, round)
}

// attempt does the task with a name once, if there is one, and logs its error.
func (list tasks) attempt(ctx context.Context, name string) {
	for _, t := range list {
		if t.name == name {
			background.Attempt(ctx, t.log, t.failure, func(ctx context.Context) (int, error) { return t.do(ctx, nil) })
		}
	}
}
