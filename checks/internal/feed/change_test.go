package feed

import (
	"testing"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
)

// TestChangesAreBounded adds a check to each of many projects, and many checks to one.
func TestChangesAreBounded(t *testing.T) {
	var s set
	for range maxInAll / 2 {
		s.add(Note{Project: uuid.New(), Check: uuid.New(), Kinds: checks.ChangedLog})
	}
	if s.All || len(s.Projects) != maxInAll/2 {
		t.Errorf("%d projects, all %t", len(s.Projects), s.All)
	}
	s.add(Note{Project: uuid.New(), Kinds: checks.ChangedLog})
	if !s.All || s.Projects != nil {
		t.Errorf("one more: %d projects, all %t", len(s.Projects), s.All)
	}
	s = set{}
	project := uuid.New()
	for range 20 * maxInAll {
		s.add(Note{Project: project, Check: uuid.New(), Kinds: checks.ChangedLog})
	}
	if p := s.Projects[project]; s.All || !p.AllChecks || p.Checks != nil || s.size != 1 {
		t.Errorf("many checks of one project: all %t, all of the project %t, size %d", s.All, p.AllChecks, s.size)
	}
}
