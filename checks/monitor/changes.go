package monitor

import (
	"context"
	"maps"

	"github.com/google/uuid"
)

// ChangeKind is a set of kinds of changes.
type ChangeKind uint8

// The kinds of changes. The first four concern checks.
const (
	// ChangedLog is a new ping: the log of a check, its last ping, its run in progress and its deadline.
	ChangedLog ChangeKind = 1 << iota
	// ChangedStatus is a flip, a pause or a resumption.
	ChangedStatus
	// ChangedSettings means that a check was created, updated, transferred or deleted.
	ChangedSettings
	// ChangedDeliveries means that an alert about a check was queued, sent, given up or queued again.
	ChangedDeliveries
	// ChangedChannels means that a channel was created, updated or deleted, or that it began or ceased to fail.
	ChangedChannels
	// ChangedProject means that the project was created or deleted, or that its API keys have changed.
	ChangedProject
	// ChangedStatusPages means that a status page was created, updated or deleted.
	ChangedStatusPages

	// ChangedAnything is the set of all kinds.
	ChangedAnything = 1<<iota - 1
	// ChangedChecks is the set of the kinds that concern checks.
	ChangedChecks = ChangedLog | ChangedStatus | ChangedSettings | ChangedDeliveries
)

// Change tells a subscriber of [Monitor.Changes] what to read again.
type Change struct {
	// All means that anything may have changed, in any project. Projects is then nil.
	All bool
	// Projects holds what has changed, by project. Subscribers share the map: do not change it.
	Projects map[uuid.UUID]ProjectChange
}

// ProjectChange is what has changed in a project. The zero value is nothing.
type ProjectChange struct {
	// Kinds is the set of all changes in the project.
	Kinds ChangeKind
	// AllChecks means that each of Kinds that concerns checks may concern any check. Checks is then nil.
	AllChecks bool
	// Checks holds the changes by check. Subscribers share the map: do not change it.
	Checks map[uuid.UUID]ChangeKind
}

// Project returns what has changed in a project.
func (c Change) Project(id uuid.UUID) ProjectChange {
	if c.All {
		return ProjectChange{Kinds: ChangedAnything, AllChecks: true}
	}
	return c.Projects[id]
}

// Check returns what has changed in a check.
func (p ProjectChange) Check(id uuid.UUID) ChangeKind {
	if p.AllChecks {
		return p.Kinds & ChangedChecks
	}
	return p.Checks[id]
}

const (
	// maxChangedChecks bounds the checks that a change names in one project. Above it, the change has AllChecks.
	maxChangedChecks = 1000
	// maxChangedInAll bounds the projects and the checks that a change names. Above it, the change has All.
	maxChangedInAll = 10_000
)

// changeSet collects changes.
type changeSet struct {
	Change
	size int // projects and checks
}

// empty reports whether there are no changes.
func (s *changeSet) empty() bool { return !s.All && len(s.Projects) == 0 }

// addAll adds that anything may have changed.
func (s *changeSet) addAll() { *s = changeSet{Change: Change{All: true}} }

// add adds the changes of one check or, with the zero check, of the project itself. No kinds are no change.
func (s *changeSet) add(n note) {
	if s.All || n.kinds == 0 {
		return
	}
	if s.Projects == nil {
		s.Projects = make(map[uuid.UUID]ProjectChange)
	}
	p, known := s.Projects[n.project]
	if !known {
		s.size++
	}
	p.Kinds |= n.kinds
	switch {
	case n.allChecks:
		s.size -= len(p.Checks)
		p.AllChecks, p.Checks = true, nil
	case n.check != uuid.Nil && !p.AllChecks:
		if p.Checks == nil {
			p.Checks = make(map[uuid.UUID]ChangeKind)
		}
		before := len(p.Checks)
		p.Checks[n.check] |= n.kinds & ChangedChecks
		s.size += len(p.Checks) - before
		if len(p.Checks) > maxChangedChecks {
			s.size -= len(p.Checks)
			p.AllChecks, p.Checks = true, nil
		}
	}
	s.Projects[n.project] = p
	if s.size > maxChangedInAll {
		s.addAll()
	}
}

// addChange adds all of a change.
func (s *changeSet) addChange(c Change) {
	if c.All {
		s.addAll()
		return
	}
	for id, p := range c.Projects {
		s.add(note{project: id, kinds: p.Kinds, allChecks: p.AllChecks})
		for check, kinds := range p.Checks {
			s.add(note{project: id, check: check, kinds: kinds})
		}
	}
}

// of returns the part of a change that concerns some projects.
func (c Change) of(projects map[uuid.UUID]bool) Change {
	if c.All || len(projects) == 0 {
		return c
	}
	part := maps.Clone(c.Projects)
	maps.DeleteFunc(part, func(id uuid.UUID, _ ProjectChange) bool { return !projects[id] })
	return Change{Projects: part}
}

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
	return m.feed.subscribe(ctx, projects)
}
