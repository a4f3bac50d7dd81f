package feed

import (
	"maps"

	"github.com/google/uuid"
)

// Kind is a set of kinds of changes.
type Kind uint8

// The kinds of changes. The first four concern checks.
const (
	// Log is a new ping: the log of a check, its last ping, its run in progress and its deadline.
	Log Kind = 1 << iota
	// Status is a flip, a pause or a resumption.
	Status
	// Settings means that a check was created, updated, transferred or deleted.
	Settings
	// Deliveries means that an alert about a check was queued, sent, given up or queued again.
	Deliveries
	// Channels means that a channel was created, updated or deleted, or that it began or ceased to fail.
	Channels
	// Project means that the project was created or deleted, or that its API keys have changed.
	Project
	// StatusPages means that a status page was created, updated or deleted.
	StatusPages

	// Anything is the set of all kinds.
	Anything = 1<<iota - 1
	// Checks is the set of the kinds that concern checks.
	Checks = Log | Status | Settings | Deliveries
)

// Change tells a subscriber what to read again.
type Change struct {
	// All means that anything may have changed, in any project. Projects is then nil.
	All bool
	// Projects holds what has changed, by project. Subscribers share the map: do not change it.
	Projects map[uuid.UUID]ProjectChange
}

// ProjectChange is what has changed in a project. The zero value is nothing.
type ProjectChange struct {
	// Kinds is the set of all changes in the project.
	Kinds Kind
	// AllChecks means that each of Kinds that concerns checks may concern any check. Checks is then nil.
	AllChecks bool
	// Checks holds the changes by check. Subscribers share the map: do not change it.
	Checks map[uuid.UUID]Kind
}

// Project returns what has changed in a project.
func (c Change) Project(id uuid.UUID) ProjectChange {
	if c.All {
		return ProjectChange{Kinds: Anything, AllChecks: true}
	}
	return c.Projects[id]
}

// Check returns what has changed in a check.
func (p ProjectChange) Check(id uuid.UUID) Kind {
	if p.AllChecks {
		return p.Kinds & Checks
	}
	return p.Checks[id]
}

// Note is a change of one check or, with the zero Check, of a project.
type Note struct {
	Project, Check uuid.UUID
	Kinds          Kind
	AllChecks      bool
}

const (
	// maxChecks bounds the checks that a change names in one project. Above it, the change has AllChecks.
	maxChecks = 1000
	// maxInAll bounds the projects and the checks that a change names. Above it, the change has All.
	maxInAll = 10_000
)

// set collects changes.
type set struct {
	Change
	size int // projects and checks
}

// empty reports whether there are no changes.
func (s *set) empty() bool { return !s.All && len(s.Projects) == 0 }

// addAll adds that anything may have changed.
func (s *set) addAll() { *s = set{Change: Change{All: true}} }

// add adds the changes of one check or, with the zero check, of the project itself. No kinds are no change.
func (s *set) add(n Note) {
	if s.All || n.Kinds == 0 {
		return
	}
	if s.Projects == nil {
		s.Projects = make(map[uuid.UUID]ProjectChange)
	}
	p, known := s.Projects[n.Project]
	if !known {
		s.size++
	}
	p.Kinds |= n.Kinds
	switch {
	case n.AllChecks:
		s.size -= len(p.Checks)
		p.AllChecks, p.Checks = true, nil
	case n.Check != uuid.Nil && !p.AllChecks:
		if p.Checks == nil {
			p.Checks = make(map[uuid.UUID]Kind)
		}
		before := len(p.Checks)
		p.Checks[n.Check] |= n.Kinds & Checks
		s.size += len(p.Checks) - before
		if len(p.Checks) > maxChecks {
			s.size -= len(p.Checks)
			p.AllChecks, p.Checks = true, nil
		}
	}
	s.Projects[n.Project] = p
	if s.size > maxInAll {
		s.addAll()
	}
}

// addChange adds all of a change.
func (s *set) addChange(c Change) {
	if c.All {
		s.addAll()
		return
	}
	for id, p := range c.Projects {
		s.add(Note{Project: id, Kinds: p.Kinds, AllChecks: p.AllChecks})
		for check, kinds := range p.Checks {
			s.add(Note{Project: id, Check: check, Kinds: kinds})
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
