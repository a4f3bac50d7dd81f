package monitor_test

import (
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/storetest/dbtest"
	"github.com/rollcall-dev/rollcall/pings"
)

// eachLimited runs a test with a monitor that limits the checks that pings create.
func eachLimited(t *testing.T, config monitor.Config, test func(t *testing.T, s setup)) {
	dbtest.Each(t, func(t *testing.T, db dbtest.DB) {
		s := newSetup(t, db.Open(t), monitor.ProjectSpec{Name: "p"})
		config.Now, config.Logger = s.clock.Now, slog.New(slog.DiscardHandler)
		var err error
		if s.Monitor, err = monitor.New(db.Open(t), &config); err != nil {
			t.Fatal(err)
		}
		test(t, s)
	})
}

func (s setup) createByPing(t *testing.T, slug string) (bool, error) {
	t.Helper()
	_, created, err := s.PingSlug(t.Context(), s.project.PingKey, slug, true, pings.Signal{Kind: pings.Success})
	return created, err
}

func TestCreateRate(t *testing.T) {
	eachLimited(t, monitor.Config{CreateRate: 3}, func(t *testing.T, s setup) {
		for round := range 3 {
			for i := range 5 {
				created, err := s.createByPing(t, fmt.Sprint("job-", round, "-", i))
				tooMany, limited := errors.AsType[*monitor.CreateRateError](err)
				if created != (i < 3) || limited != (i >= 3) {
					t.Fatalf("round %d, ping %d: %v, %v", round, i, created, err)
				}
				if limited && (tooMany.PerMinute != 3 || tooMany.RetryAfter.Round(time.Millisecond) != 20*time.Second) {
					t.Errorf("%+v", tooMany)
				}
			}
			if created, err := s.createByPing(t, fmt.Sprint("job-", round, "-0")); created || err != nil {
				t.Errorf("a check that exists: %v, %v", created, err)
			}
			s.create(t, checks.Spec{})
			other, _, err := s.CreateProject(t.Context(), monitor.ProjectSpec{Name: fmt.Sprint("other ", round)})
			if err != nil {
				t.Fatal(err)
			}
			if _, created, err := s.PingSlug(t.Context(), other.PingKey, "job", true, pings.Signal{Kind: pings.Success}); !created {
				t.Errorf("another project: %v", err)
			}
			s.clock.Advance(time.Minute)
		}
	})
}

// TestCreateRateOfOneCheck: of many pings at once that create one check, one counts.
func TestCreateRateOfOneCheck(t *testing.T) {
	eachLimited(t, monitor.Config{CreateRate: 20}, func(t *testing.T, s setup) {
		var jobs sync.WaitGroup
		for range 16 {
			jobs.Go(func() {
				if _, err := s.createByPing(t, "job"); err != nil {
					t.Error(err)
				}
			})
		}
		jobs.Wait()
		for i := range 20 {
			if created, err := s.createByPing(t, fmt.Sprint("job-", i)); created != (i < 19) {
				t.Errorf("ping %d: %v, %v", i, created, err)
			}
		}
	})
}

func TestMaxCreated(t *testing.T) {
	eachLimited(t, monitor.Config{MaxCreated: 3}, func(t *testing.T, s setup) {
		s.create(t, checks.Spec{})
		for _, slug := range []string{"a", "b"} {
			if created, err := s.createByPing(t, slug); !created {
				t.Error(err)
			}
		}
		if created, err := s.createByPing(t, "c"); created || !errors.Is(err, monitor.ErrCreatedChecks) {
			t.Errorf("more than the limit: %v, %v", created, err)
		}
		if created, err := s.createByPing(t, "b"); created || err != nil {
			t.Errorf("a check that exists: %v, %v", created, err)
		}
		id, err := s.CheckIDBySlug(t.Context(), s.project.PingKey, "a")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Delete(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		if created, err := s.createByPing(t, "c"); !created {
			t.Errorf("after one was deleted: %v", err)
		}
		s.create(t, checks.Spec{}) // the API has no such limit
	})
}
