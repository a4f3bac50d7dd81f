package monitor_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/badges"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/pings"
)

// TestBadges covers server/API.md section 2.5.
func TestBadges(t *testing.T) {
	each(t, func(t *testing.T, s setup) {
		up := s.create(t, checks.Spec{Name: new("a"), Tags: []string{"db", "ünï"}})
		late := s.create(t, checks.Spec{Slug: new("b"), Tags: []string{"db"}, Timeout: new(time.Minute)})
		s.ping(t, late.ID, pings.Success)
		s.clock.Advance(2 * time.Minute)
		s.ping(t, up.ID, pings.Success)
		if tags, err := s.Tags(t.Context(), s.project.ID); err != nil || !cmp.Equal(tags, []string{"db", "ünï"}) {
			t.Errorf("tags %q, error %v", tags, err)
		}
		is := func(what, label string, sum badges.Summary, err error, want string) {
			t.Helper()
			if got := fmt.Sprint(label, " ", sum.Total, " ", sum.Grace, " ", sum.Down); got != want || err != nil {
				t.Errorf("badge of %s: %s, want %s; error %v", what, got, want, err)
			}
		}
		for tag, want := range map[string]string{"*": "p 2 1 0", "db": "db 2 1 0", "ünï": "ünï 1 0 0", "none": "none 0 0 0"} {
			label, sum, err := s.TagBadge(t.Context(), s.project.BadgeKey, tag)
			is("tag "+tag, label, sum, err, want)
		}
		for key, want := range map[uuid.UUID]string{up.BadgeKey: "a 1 0 0", late.BadgeKey: "b 1 1 0"} {
			label, sum, err := s.CheckBadge(t.Context(), key)
			is("a check", label, sum, err, want)
		}
		if _, _, err := s.CheckBadge(t.Context(), up.ID); !errors.Is(err, checks.ErrNotFound) {
			t.Errorf("badge by the ID of the check: error %v, want ErrNotFound", err)
		}
	})
}
