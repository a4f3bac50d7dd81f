package feed

import (
	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
)

// Note is a change of one check or, with the zero Check, of a project.
type Note struct {
	Project, Check uuid.UUID
	Kinds          checks.ChangeKind
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
	checks.Change
	size int // projects and checks
}

// empty reports whether there are no changes.
func (s *set) empty() bool { return !s.All && len(s.Projects) == 0 }

// addAll adds that anything may have changed.
func (s *set) addAll() { *s = set{Change: checks.Change{All: true}} }

// add adds the changes of one check or, with the zero check, of the project itself. No kinds are no change.
func (s *set) add(n Note) {
	if s.All || n.Kinds == 0 {
		return
	}
	if s.Projects == nil {
		s.Projects = make(map[uuid.UUID]checks.ProjectChange)
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
			p.Checks = make(map[uuid.UUID]checks.ChangeKind)
		}
		before := len(p.Checks)
		p.Checks[n.Check] |= n.Kinds & checks.ChangedChecks
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
func (s *set) addChange(c checks.Change) {
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

// part returns the part of a change that concerns a project; nil is every project.
func part(c checks.Change, project *uuid.UUID) checks.Change {
	if c.All || project == nil {
		return c
	}
	changed, ok := c.Projects[*project]
	if !ok {
		return checks.Change{}
	}
	return checks.Change{Projects: map[uuid.UUID]checks.ProjectChange{*project: changed}}
}
