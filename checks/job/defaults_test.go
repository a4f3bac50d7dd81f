package job_test

import (
	"context"
	"testing"
	"time"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/job"
)

// TestDefaults checks the grace of new checks.
func TestDefaults(t *testing.T) {
	now := time.Date(2026, 3, 15, 12, 0, 30, 0, time.UTC)
	for name, test := range map[string]struct {
		spec           checks.Spec
		grace, runtime *time.Duration
	}{
		"every few seconds": {checks.Spec{Timeout: new(time.Minute)}, new(5 * time.Minute), new(time.Hour)},
		"20 minutes":        {checks.Spec{Timeout: new(20 * time.Minute)}, new(20 * time.Minute), new(time.Hour)},
		"an hour":           {checks.Spec{Timeout: new(time.Hour)}, nil, nil},
		"every minute":      {checks.Spec{Schedule: new("* * * * *"), TZ: new("UTC")}, new(5 * time.Minute), new(time.Hour)},
		"every 10 minutes":  {checks.Spec{Schedule: new("*/10 * * * *"), TZ: new("UTC")}, new(10 * time.Minute), new(time.Hour)},
		"nightly":           {checks.Spec{Schedule: new("0 3 * * *"), TZ: new("UTC")}, nil, nil},
		"own grace":         {checks.Spec{Timeout: new(time.Minute), Grace: new(time.Minute)}, new(time.Minute), nil},
		"own limit":         {checks.Spec{Timeout: new(time.Minute), MaxRuntime: new(2 * time.Hour)}, new(5 * time.Minute), new(2 * time.Hour)},
		"invalid":           {checks.Spec{Schedule: new("x")}, nil, nil},
	} {
		got := job.Defaults(test.spec, now)
		equal(t, name+": grace", got.Grace, test.grace)
		equal(t, name+": max_runtime", got.MaxRuntime, test.runtime)
		equal(t, name+": channels", got.Channels, new("*"))
	}
	equal(t, "own channels", *job.Defaults(checks.Spec{Channels: new("")}, now).Channels, "")
}

// A job that runs every few seconds is healthy while its program restarts, and down 6 minutes after its program died.
func TestGraceOfFrequentJob(t *testing.T) {
	each(t, func(t *testing.T, p place) {
		spec := checks.Spec{Slug: new("often"), Timeout: new(time.Minute)}
		r, err := p.registry.Register(t.Context(), spec)
		must(t, err)
		status := func() checks.Status {
			list, err := p.mon.Project(p.project).Checks(t.Context(), checks.Query{})
			must(t, err)
			return list[0].Status
		}
		for _, pause := range []time.Duration{5 * time.Second, 10 * time.Second, 5 * time.Minute} {
			must(t, r.Run(t.Context(), func(context.Context) error { return nil }))
			p.clock.Advance(pause)
			if got := status(); got == checks.StatusDown {
				t.Errorf("down after %v", pause)
			}
		}
		must(t, r.Run(t.Context(), func(context.Context) error { return nil }))
		if p.clock.Advance(6 * time.Minute); status() != checks.StatusDown {
			t.Errorf("%v after 6 minutes", status())
		}
		// A person changes the grace, and the program starts again.
		list, err := p.mon.Project(p.project).Checks(t.Context(), checks.Query{})
		must(t, err)
		_, err = p.mon.Project(p.project).Update(t.Context(), list[0].ID, checks.Spec{Grace: new(2 * time.Minute)})
		must(t, err)
		_, err = p.registry.Register(t.Context(), spec)
		must(t, err)
		c, err := p.mon.Project(p.project).Check(t.Context(), list[0].ID)
		must(t, err)
		equal(t, "grace", c.Grace, 2*time.Minute)
	})
}

// Adjust has the last word, except that the check keeps the tag.
func TestAdjust(t *testing.T) {
	each(t, func(t *testing.T, p place) {
		must(t, job.Sync(t.Context(), p.registry, "night", []job.Entry{{
			Name: "Back up",
			Spec: func() (checks.Spec, error) { return checks.Spec{Timeout: new(time.Hour)}, nil },
			Adjust: func(s *checks.Spec) {
				equal(t, "name, slug and tags", []string{*s.Name, *s.Slug, s.Tags[0]}, []string{"Back up", "back-up", "night"})
				s.Grace, s.Tags = new(7*time.Minute), []string{"prod"}
			},
			Use: func(job.Reporter) {},
		}}, nil))
		list, err := p.mon.Project(p.project).Checks(t.Context(), checks.Query{})
		must(t, err)
		equal(t, "grace", list[0].Grace, 7*time.Minute)
		equal(t, "tags", list[0].Tags, []string{"prod", "night"})
	})
}
