package monitor

import (
	"testing"

	"github.com/google/uuid"
)

// TestChangesAreBounded adds a check to each of many projects, and many checks to one.
func TestChangesAreBounded(t *testing.T) {
	var s changeSet
	for range maxChangedInAll / 2 {
		s.add(note{project: uuid.New(), check: uuid.New(), kinds: ChangedLog})
	}
	if s.All || len(s.Projects) != maxChangedInAll/2 {
		t.Errorf("%d projects, all %t", len(s.Projects), s.All)
	}
	s.add(note{project: uuid.New(), kinds: ChangedLog})
	if !s.All || s.Projects != nil {
		t.Errorf("one more: %d projects, all %t", len(s.Projects), s.All)
	}
	s = changeSet{}
	project := uuid.New()
	for range 20 * maxChangedInAll {
		s.add(note{project: project, check: uuid.New(), kinds: ChangedLog})
	}
	if p := s.Projects[project]; s.All || !p.AllChecks || p.Checks != nil || s.size != 1 {
		t.Errorf("many checks of one project: all %t, all of the project %t, size %d", s.All, p.AllChecks, s.size)
	}
}
