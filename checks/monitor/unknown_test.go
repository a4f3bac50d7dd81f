package monitor_test

import (
	"context"
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/gate"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/flips"
	"github.com/rollcall-dev/rollcall/pings"
)

// TestUnknownIsNotFound calls every method that names a project or a check, with one that does not exist, and those about a
// check with one of another project.
func TestUnknownIsNotFound(t *testing.T) {
	each(t, func(t *testing.T, s setup) {
		c := s.create(t, checks.Spec{Slug: new("job")})
		channel, err := s.CreateChannel(t.Context(), s.project.ID, channels.Webhook, "ops", map[string]string{"url_down": "https://example.org"})
		must(t, err)
		keys, err := s.Keys(t.Context(), s.project.ID)
		must(t, err)
		page, err := s.CreateStatusPage(t.Context(), checks.StatusPage{ProjectID: s.project.ID, Slug: "acme", Title: "Acme"})
		must(t, err)
		other, err := s.Monitor.OpenProject(t.Context(), "other")
		must(t, err)
		ctx, none := t.Context(), uuid.New()
		refused := func(what string, methods map[string]error) {
			t.Helper()
			for name, err := range methods {
				if !errors.Is(err, checks.ErrNotFound) || !errors.As(err, new(*monitor.Error)) {
					t.Errorf("%s: %s: error %v, want ErrNotFound and what it is about", what, name, err)
				}
			}
			for method := range reflect.TypeFor[*monitor.Project]().Methods() {
				in := method.Type
				if in.NumIn() > 2 && in.In(2) == reflect.TypeFor[uuid.UUID]() && methods[method.Name] == nil {
					t.Errorf("%s is not tested", method.Name)
				}
			}
		}
		refused("an unknown project", unknownIn(ctx, s.Monitor.Project(none), c, channel, keys[0], page, true))
		refused("another project", unknownIn(ctx, other, c, channel, keys[0], page, false))
		missing := func(_ any, err error) error { return err }
		two := func(_, _ any, err error) error { return err }
		for name, err := range map[string]error{
			"Check": missing(s.Check(ctx, none)), "Ping": missing(s.Ping(ctx, none, pings.Signal{})),
			"PingSlug":      two(s.PingSlug(ctx, "none", "job", true, pings.Signal{})),
			"CheckIDBySlug": missing(s.Projects().CheckIDBySlug(ctx, "none", "job")), "CheckByBadgeKey": missing(s.Projects().CheckByBadgeKey(ctx, none)),
			"Checks": missing(checks.Stored(s.Monitor.Project(none).Checks(ctx, checks.Query{}))), "LastDurations": missing(s.Monitor.Project(none).LastDurations(ctx)),
			"RecentPings":  missing(s.Monitor.Project(none).RecentPings(ctx, nil, c.CreatedAt, 1)),
			"LastFailures": missing(s.Monitor.Project(none).LastFailures(ctx, nil, 1)),
			"ByID":         missing(s.Projects().ByID(ctx, none)), "ByName": missing(s.Projects().ByName(ctx, "none")),
			"ByBadgeKey": missing(s.Projects().ByBadgeKey(ctx, "none")), "Delete": s.Projects().Delete(ctx, none),
			"Authenticate": missing(s.Projects().Authenticate(ctx, "rcw_xxxxxxxxxxxxxxxxxxxxxxxxxxxx")),
			"Transfer":     missing(s.Monitor.Project(s.project.ID).Transfer(ctx, c.ID, none)),
		} {
			if !errors.Is(err, checks.ErrNotFound) || !errors.As(err, new(*monitor.Error)) {
				t.Errorf("%s: error %v, want ErrNotFound and what it is about", name, err)
			}
		}
		if err := missing(s.Monitor.Project(s.project.ID).Check(ctx, none)); err.Error() != "monitor: check "+none.String()+": not found" {
			t.Errorf("error %v", err)
		}
	})
}

// unknownIn returns the errors of the methods of a project that has none of the others. With all, the project does not exist
// either.
func unknownIn(
	ctx context.Context, p *monitor.Project, c checks.Check, channel channels.Channel, key checks.Key, page checks.StatusPage, all bool,
) map[string]error {
	missing := func(_ any, err error) error { return err }
	errs := map[string]error{
		"Check": missing(p.Check(ctx, c.ID)), "Update": missing(p.Update(ctx, c.ID, checks.Spec{})), "Pause": missing(p.Pause(ctx, c.ID)),
		"UpdateFunc":  missing(p.UpdateFunc(ctx, c.ID, func(checks.Check) (checks.Spec, error) { return checks.Spec{}, nil })),
		"Acknowledge": missing(p.Acknowledge(ctx, c.ID, checks.AckSpec{})), "Unacknowledge": missing(p.Unacknowledge(ctx, c.ID)),
		"Resume": missing(p.Resume(ctx, c.ID)), "Delete": missing(p.Delete(ctx, c.ID)),
		"Restore":  missing(p.Restore(ctx, c.ID, c.State, c.CreatedAt)),
		"Transfer": missing(p.Transfer(ctx, c.ID, c.ProjectID)), "Pings": missing(checks.Collect(p.Pings(ctx, c.ID, checks.PingQuery{}))), "PingBody": missing(p.PingBody(ctx, c.ID, 1)),
		"PingWithBody": missing(p.PingWithBody(ctx, c.ID, 1)),
		"Flips":        missing(checks.Collect(p.Flips(ctx, c.ID, flips.Range{}))), "Downtime": missing(p.Downtime(ctx, c.ID, time.Time{}, time.Time{})),
		"Stats":         missing(p.Stats(ctx, c.ID, time.Time{}, time.Time{})),
		"UpdateChannel": missing(p.UpdateChannel(ctx, channel.ID, func(c channels.Channel) (channels.Channel, error) { return c, nil })),
		"DeleteChannel": p.DeleteChannel(ctx, channel.ID), "TestChannel": p.TestChannel(ctx, channel.ID), "DeleteKey": p.DeleteKey(ctx, key.ID),
		"DeleteStatusPage": p.DeleteStatusPage(ctx, page.ID), "UpdateStatusPage": missing(p.UpdateStatusPage(ctx, page)),
		"CheckBySlug": missing(p.CheckBySlug(ctx, c.Slug)), "CheckByUniqueKey": missing(p.CheckByUniqueKey(ctx, c.UniqueKey())),
		"Window": missing(p.Window(ctx, page.ID)), "EndWindow": missing(p.EndWindow(ctx, page.ID)),
		"RetryDeliveries": missing(p.RetryDeliveries(ctx, []int64{1})),
	}
	for _, err := range p.Events(ctx, c.ID, monitor.EventQuery{}) {
		errs["Events"] = err
	}
	if !all {
		return errs
	}
	_, _, errs["Upsert"] = p.Upsert(ctx, checks.Spec{Slug: new("job")}, checks.UniqueSlug)
	_, _, errs["UpsertChannel"] = p.UpsertChannel(ctx, channel)
	_, _, errs["CreateKey"] = p.CreateKey(ctx, checks.ReadOnly)
	for _, err := range p.Deliveries(ctx, checks.DeliveryQuery{}) {
		errs["Deliveries"] = err
	}
	for name, err := range map[string]error{
		"Create": missing(p.Create(ctx, checks.Spec{})), "Checks": missing(p.Checks(ctx, checks.Query{})), "Tags": missing(p.Tags(ctx)),
		"CreateChannel": missing(p.CreateChannel(ctx, channel)), "Channels": missing(p.Channels(ctx)), "Keys": missing(p.Keys(ctx)),
		"StatusPages": missing(p.StatusPages(ctx)), "CreateStatusPage": missing(p.CreateStatusPage(ctx, page)),
		"Windows": missing(p.Windows(ctx, checks.WindowQuery{})), "AddWindow": missing(p.AddWindow(ctx, gate.Window{Kind: gate.Snooze, Duration: time.Hour})),
		"RetryFailed": missing(p.RetryFailed(ctx)), "Register": missing(p.Register(ctx, checks.Spec{Slug: new("job")})),
		"PauseExcept": p.PauseExcept(ctx, "tag", []string{"backup"}),
	} {
		errs[name] = err
	}
	return errs
}

func TestCheckBySlug(t *testing.T) {
	each(t, func(t *testing.T, s setup) {
		c := s.create(t, checks.Spec{Slug: new("job"), Channels: new("*")})
		s.create(t, checks.Spec{})
		for range 2 {
			s.create(t, checks.Spec{Slug: new("twice")})
		}
		if got, err := s.CheckBySlug(t.Context(), s.project.ID, "job"); err != nil || !got.Equal(c) {
			t.Errorf("found %+v, want %+v; error %v", got, c, err)
		}
		for slug, want := range map[string]error{
			"twice": checks.ErrAmbiguousSlug, "none": checks.ErrNotFound, "": checks.ErrNotFound, "JOB": checks.ErrNotFound, "\xff": checks.ErrNotFound,
		} {
			if _, err := s.CheckBySlug(t.Context(), s.project.ID, slug); !errors.Is(err, want) {
				t.Errorf("slug %q: error %v, want %v", slug, err, want)
			}
		}
	})
}
