package monitor_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/pings"
)

// createByPing pings a slug, which creates a check if none has it.
func (s setup) createByPing(t *testing.T, slug string) (created bool, err error) {
	t.Helper()
	_, created, err = s.PingSlug(t.Context(), s.project.PingKey, slug, true, pings.Signal{Kind: pings.Success})
	return created, err
}

func TestCreateRate(t *testing.T) {
	eachConfig(t, monitor.Config{CreateRate: 3}, func(t *testing.T, s setup) {
		for round := range 3 {
			for i := range 5 {
				created, err := s.createByPing(t, fmt.Sprint("job-", round, "-", i))
				tooMany, limited := errors.AsType[*checks.CreateRateError](err)
				if created != (i < 3) || limited != (i >= 3) {
					t.Fatalf("round %d, ping %d: created %v, error %v", round, i, created, err)
				}
				if limited && (tooMany.PerMinute != 3 || tooMany.RetryAfter.Round(time.Millisecond) != 20*time.Second) {
					t.Errorf("error %+v, want 3 a minute, retry after 20 s", tooMany)
				}
			}
			if created, err := s.createByPing(t, fmt.Sprint("job-", round, "-0")); created || err != nil {
				t.Errorf("ping of a check that exists: created %v, error %v", created, err)
			}
			s.create(t, checks.Spec{}) // the limit is on pings alone
			other, _, err := s.CreateProject(t.Context(), checks.ProjectSpec{Name: fmt.Sprint("other ", round)})
			must(t, err)
			if _, created, err := s.PingSlug(t.Context(), other.PingKey, "job", true, pings.Signal{Kind: pings.Success}); !created {
				t.Errorf("ping of another project has created no check: %v", err)
			}
			s.clock.Advance(time.Minute)
		}
	})
}

// TestCreateRateOfOneCheck creates one check by many pings at once. Only one of them counts.
func TestCreateRateOfOneCheck(t *testing.T) {
	eachConfig(t, monitor.Config{CreateRate: 20}, func(t *testing.T, s setup) {
		together(16, func(int) {
			if _, err := s.createByPing(t, "job"); err != nil {
				t.Error(err)
			}
		})
		for i := range 20 {
			if created, err := s.createByPing(t, fmt.Sprint("job-", i)); created != (i < 19) {
				t.Errorf("ping %d: created %v, error %v", i, created, err)
			}
		}
	})
}

func TestMaxCreated(t *testing.T) {
	eachConfig(t, monitor.Config{MaxCreated: 3}, func(t *testing.T, s setup) {
		s.create(t, checks.Spec{})
		for _, slug := range []string{"a", "b"} {
			if created, err := s.createByPing(t, slug); !created {
				t.Errorf("ping of %s has created no check: %v", slug, err)
			}
		}
		if created, err := s.createByPing(t, "c"); created || !errors.Is(err, checks.ErrCheckLimit) || !strings.HasSuffix(err.Error(), ": the project has as many checks as pings may create: 3") {
			t.Errorf("ping at the limit: created %v, error %v, want ErrCheckLimit with the number", created, err)
		}
		if created, err := s.createByPing(t, "b"); created || err != nil {
			t.Errorf("ping of a check that exists: created %v, error %v", created, err)
		}
		id, err := s.Projects().CheckIDBySlug(t.Context(), s.project.PingKey, "a")
		must(t, err)
		_, err = s.Delete(t.Context(), id)
		must(t, err)
		if created, err := s.createByPing(t, "c"); !created {
			t.Errorf("after a check was deleted, a ping has created none: %v", err)
		}
		s.create(t, checks.Spec{}) // the limit is on pings alone
	})
}
