package job_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/job"
	"github.com/rollcall-dev/rollcall/pings"
)

// bySlug returns the check of the project with a slug.
func (p place) bySlug(t *testing.T, slug string) checks.Check {
	t.Helper()
	list, err := checks.Stored(p.mon.Project(p.project).Checks(t.Context(), checks.Query{Slug: slug}))
	must(t, err)
	if len(list) != 1 {
		t.Fatalf("%d checks have the slug %s", len(list), slug)
	}
	return list[0]
}

func TestRegister(t *testing.T) {
	each(t, func(t *testing.T, p place) {
		ops, err := p.mon.Project(p.project).CreateChannel(t.Context(), channels.Channel{Kind: "email", Name: "ops", Settings: map[string]string{"to": "ops@example.org"}})
		must(t, err)
		spec := checks.Spec{Slug: new("backup"), Schedule: new("0 3 * * *"), TZ: new("Europe/Riga")}
		r, err := p.registry.Register(t.Context(), spec)
		must(t, err)
		must(t, errors.Join(r.Run(t.Context(), func(context.Context) error { return nil }), p.pingErr()))
		c := p.bySlug(t, "backup")
		equal(t, "channels of a new check", c.Channels, []uuid.UUID{ops.ID})
		if c.Stored != checks.StatusUp || c.NPings != 2 || c.Schedule != "0 3 * * *" || c.TZ != "Europe/Riga" {
			t.Errorf("%+v", c)
		}

		// A person removes the channel and sets the grace time. The next start of the program leaves both alone.
		_, err = p.mon.Project(c.ProjectID).Update(t.Context(), c.ID, checks.Spec{Channels: new(""), Grace: new(2 * time.Hour)})
		must(t, err)
		spec.Schedule = new("0 4 * * *")
		_, err = p.registry.Register(t.Context(), spec)
		must(t, err)
		again := p.bySlug(t, "backup")
		if again.ID != c.ID || len(again.Channels) != 0 || again.Grace != 2*time.Hour || again.Schedule != "0 4 * * *" {
			t.Errorf("%+v", again)
		}
		spec.Channels = new("ops")
		_, err = p.registry.Register(t.Context(), spec)
		must(t, err)
		equal(t, "channels that the spec names", p.bySlug(t, "backup").Channels, []uuid.UUID{ops.ID})
	})
}

func TestRegisterRefuses(t *testing.T) {
	each(t, func(t *testing.T, p place) {
		for field, spec := range map[string]checks.Spec{
			"slug":     {Name: new("no slug")},
			"schedule": {Slug: new("a"), Schedule: new("61 * * * *")},
		} {
			r, err := p.registry.Register(t.Context(), spec)
			if e, ok := errors.AsType[*checks.FieldError](err); !ok || e.Field != field {
				t.Errorf("%s: %v", field, err)
			}
			ran := false
			if err := r.Run(t.Context(), func(context.Context) error { ran = true; return nil }); !ran || err != nil || p.pingErr() != nil {
				t.Errorf("%s: ran %t, %v", field, ran, err)
			}
		}
		if _, err := p.registry.Register(t.Context(), checks.Spec{Slug: new("")}); err == nil {
			t.Error("an empty slug was accepted")
		}
		if list, err := checks.Stored(p.mon.Project(p.project).Checks(t.Context(), checks.Query{})); err != nil || len(list) != 0 {
			t.Errorf("%+v, %v", list, err)
		}
	})
}

func TestPauseExcept(t *testing.T) {
	each(t, func(t *testing.T, p place) {
		create := func(slug string, tags ...string) uuid.UUID {
			c, err := p.mon.Project(p.project).Create(t.Context(), checks.Spec{Slug: &slug, Tags: tags})
			must(t, err)
			return c.ID
		}
		ids := []uuid.UUID{create("kept", "cron"), create("removed", "prod", "cron"), create("other", "cronlike"), create("", "cron"), create("paused", "cron")}
		paused, err := p.mon.Project(p.project).Pause(t.Context(), ids[4])
		must(t, err)
		p.clock.Advance(time.Hour)
		states := func() (list []checks.Status) {
			for _, id := range ids {
				c, err := p.mon.Check(t.Context(), id)
				must(t, err)
				list = append(list, c.Stored)
			}
			return list
		}
		must(t, p.registry.PauseExcept(t.Context(), "cron", []string{"kept", "unknown"}))
		equal(t, "states", states(), []checks.Status{"new", "paused", "new", "new", "paused"})
		if c, err := p.mon.Check(t.Context(), ids[4]); err != nil || !c.StoredSince.Equal(paused.Check.StoredSince) {
			t.Errorf("paused again at %v, %v", c.StoredSince, err)
		}

		// The job comes back: registering alone ends no pause, its next run does.
		r, err := p.registry.Register(t.Context(), checks.Spec{Slug: new("removed")})
		must(t, err)
		equal(t, "registered", states()[1], checks.StatusPaused)
		must(t, r.Ping(t.Context(), pings.Signal{}))
		equal(t, "after a ping", states()[1], checks.StatusUp)

		// What would pause more than the caller can mean is refused: without the jobs, and by a tag that is none.
		before := states()
		for field, err := range map[string]error{
			"slugs": errors.Join(p.registry.PauseExcept(t.Context(), "cron", nil), p.registry.PauseExcept(t.Context(), "cron", []string{})),
			"tag": errors.Join(p.registry.PauseExcept(t.Context(), "", []string{"a"}), p.registry.PauseExcept(t.Context(), " ", []string{"a"}),
				p.registry.PauseExcept(t.Context(), "cron prod", []string{"a"})),
		} {
			if e, ok := errors.AsType[*checks.FieldError](err); !ok || e.Field != field {
				t.Errorf("%s: error %v", field, err)
			}
		}
		equal(t, "after refusals", states(), before)
	})
}

// TestSyncLeavesOthersAlone has two programs with jobs in one project. Neither pauses anything unless it asks for it, and then
// only checks with its own tag; a program that has no jobs yet pauses nothing at all.
func TestSyncLeavesOthersAlone(t *testing.T) {
	each(t, func(t *testing.T, p place) {
		sync := func(tag string, config *job.SyncConfig, names ...string) error {
			var entries []job.Entry
			for _, name := range names {
				entries = append(entries, job.Entry{
					Name: name,
					Spec: func() (checks.Spec, error) { return checks.Spec{Timeout: new(time.Hour)}, nil },
					Use:  func(r job.Reporter) { must(t, r.Success(t.Context(), nil)) },
				})
			}
			return job.Sync(t.Context(), p.registry, tag, entries, config)
		}
		paused := func() (slugs []string) {
			list, err := p.mon.Project(p.project).Checks(t.Context(), checks.Query{})
			must(t, err)
			for _, c := range list {
				if c.Status == checks.StatusPaused {
					slugs = append(slugs, c.Slug)
				}
			}
			return slugs
		}
		ask := &job.SyncConfig{PauseGone: true}
		must(t, sync("billing", nil, "invoice", "dunning"))
		must(t, sync("backup", ask, "copy", "verify"))
		must(t, sync("billing", nil, "invoice"))
		must(t, sync("billing", &job.SyncConfig{}, "invoice"))
		equal(t, "paused, though nobody asked", paused(), []string(nil))
		must(t, sync("billing", nil))
		for _, tag := range []string{"billing", "backup", "", " ", "billing backup", "billing\n", "\xff"} {
			if err := sync(tag, ask); !errors.As(err, new(*checks.FieldError)) {
				t.Errorf("tag %q without jobs: error %v", tag, err)
			}
		}
		equal(t, "paused without jobs", paused(), []string(nil))
		for _, tag := range []string{"", " ", "billing backup", "\xff"} {
			err := sync(tag, nil, "stray")
			if e, ok := errors.AsType[*checks.FieldError](err); !ok || e.Field != "tag" {
				t.Errorf("tag %q: error %v", tag, err)
			}
		}
		if _, err := p.mon.Project(p.project).CheckBySlug(t.Context(), "stray"); !errors.Is(err, checks.ErrNotFound) {
			t.Errorf("a job without a valid tag has a check: %v", err)
		}
		must(t, sync("billing", ask, "invoice"))
		equal(t, "paused", paused(), []string{"dunning"})
	})
}
