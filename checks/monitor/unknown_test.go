package monitor_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/flips"
	"github.com/rollcall-dev/rollcall/pings"
)

// TestUnknownIsNotFound calls every method that names a project or a check, with one that does not exist.
func TestUnknownIsNotFound(t *testing.T) {
	each(t, func(t *testing.T, s setup) {
		c := s.create(t, checks.Spec{Slug: new("job")})
		channel, err := s.CreateChannel(t.Context(), s.project.ID, channels.Webhook, "ops", map[string]string{"url_down": "https://example.org"})
		must(t, err)
		keys, err := s.Keys(t.Context(), s.project.ID)
		must(t, err)
		ctx, none := t.Context(), uuid.New()
		methods := map[string]func() error{
			// Of a project.
			"Create": func() error { _, err := s.Create(ctx, none, checks.Spec{}); return err },
			"Upsert": func() error {
				_, _, err := s.Upsert(ctx, none, checks.Spec{Slug: new("job")}, checks.UniqueSlug)
				return err
			},
			"Checks":           func() error { _, err := s.Checks(ctx, none, monitor.CheckQuery{}); return err },
			"CheckBySlug":      func() error { _, err := s.CheckBySlug(ctx, none, "job"); return err },
			"CheckByUniqueKey": func() error { _, err := s.CheckByUniqueKey(ctx, none, c.UniqueKey()); return err },
			"Tags":             func() error { _, err := s.Tags(ctx, none); return err },
			"RecentPings":      func() error { _, err := s.RecentPings(ctx, none, nil, c.CreatedAt, 1); return err },
			"LastDurations":    func() error { _, err := s.LastDurations(ctx, none); return err },
			"CreateChannel": func() error {
				_, err := s.CreateChannel(ctx, none, channel.Kind, "ops", channel.Settings)
				return err
			},
			"AddChannel": func() error {
				_, err := s.AddChannel(ctx, channels.Channel{ProjectID: none, Kind: channel.Kind, Settings: channel.Settings})
				return err
			},
			"UpsertChannel": func() error {
				_, _, err := s.UpsertChannel(ctx, none, channel.Kind, "ops", channel.Settings)
				return err
			},
			"UpdateChannel":    func() error { _, err := s.UpdateChannel(ctx, none, channel.ID, channel.Settings, nil); return err },
			"DeleteChannel":    func() error { return s.DeleteChannel(ctx, none, channel.ID) },
			"TestChannel":      func() error { return s.TestChannel(ctx, none, channel.ID) },
			"Channels":         func() error { _, err := s.Channels(ctx, none); return err },
			"StatusPages":      func() error { _, err := s.StatusPages(ctx, none); return err },
			"DeleteStatusPage": func() error { return s.DeleteStatusPage(ctx, none, uuid.New()) },
			"Deliveries": func() error {
				_, err := s.Deliveries(ctx, monitor.DeliveryQuery{Project: none})
				return err
			},
			"RetryDeliveries":       func() error { _, err := s.RetryDeliveries(ctx, none); return err },
			"RetryFailedDeliveries": func() error { _, err := s.RetryFailedDeliveries(ctx, none); return err },
			"Project":               func() error { _, err := s.Project(ctx, none); return err },
			"ProjectByName":         func() error { _, err := s.ProjectByName(ctx, "none"); return err },
			"DeleteProject":         func() error { return s.DeleteProject(ctx, none) },
			"CreateKey":             func() error { _, _, err := s.CreateKey(ctx, none, true); return err },
			"Keys":                  func() error { _, err := s.Keys(ctx, none); return err },
			"RevokeKey":             func() error { return s.RevokeKey(ctx, none, keys[0].ID) },
			"Authenticate":          func() error { _, err := s.Authenticate(ctx, "rcw_xxxxxxxxxxxxxxxxxxxxxxxxxxxx"); return err },
			"PingSlug":              func() error { _, _, err := s.PingSlug(ctx, "none", "job", true, pings.Signal{}); return err },
			"CheckIDBySlug":         func() error { _, err := s.CheckIDBySlug(ctx, "none", "job"); return err },
			"ProjectByBadgeKey":     func() error { _, err := s.ProjectByBadgeKey(ctx, "none"); return err },
			// Of a check.
			"Update":  func() error { _, err := s.Update(ctx, none, checks.Spec{}); return err },
			"Pause":   func() error { _, err := s.Pause(ctx, none); return err },
			"Resume":  func() error { _, err := s.Resume(ctx, none); return err },
			"Delete":  func() error { _, err := s.Delete(ctx, none); return err },
			"Check":   func() error { _, err := s.Check(ctx, none); return err },
			"Ping":    func() error { _, err := s.Ping(ctx, none, pings.Signal{}); return err },
			"History": func() error { _, err := s.History(ctx, none, monitor.HistoryQuery{}); return err },
			"Transfer": func() error {
				c := s.create(t, checks.Spec{})
				if _, err := s.Transfer(ctx, c.ID, none); !errors.Is(err, checks.ErrNotFound) {
					return fmt.Errorf("to an unknown project: %w", err)
				}
				_, err := s.Transfer(ctx, none, s.project.ID)
				return err
			},
			"UpdateFunc": func() error {
				_, err := s.UpdateFunc(ctx, none, func(checks.Check) (checks.Spec, error) { return checks.Spec{}, nil })
				return err
			},
			"UpdateChannelFunc": func() error {
				_, err := s.UpdateChannelFunc(ctx, none, channel.ID, func(c channels.Channel) (channels.Channel, error) { return c, nil })
				return err
			},
			"Pings":           func() error { _, err := s.Pings(ctx, none); return err },
			"PingBody":        func() error { _, err := s.PingBody(ctx, none, 1); return err },
			"Flips":           func() error { _, err := s.Flips(ctx, none, flips.Window{}); return err },
			"Downtime":        func() error { _, err := s.Downtime(ctx, none, time.Time{}, time.Time{}); return err },
			"Stats":           func() error { _, err := s.Stats(ctx, none, time.Time{}, time.Time{}); return err },
			"CheckByBadgeKey": func() error { _, err := s.CheckByBadgeKey(ctx, none); return err },
		}
		for name, call := range methods {
			if err := call(); !errors.Is(err, checks.ErrNotFound) {
				t.Errorf("%s: error %v, want ErrNotFound", name, err)
			}
		}
		sessions := []string{"EndSession", "SessionEnded"} // whose identifiers the monitor does not know
		for method := range reflect.TypeFor[*monitor.Monitor]().Methods() {
			in := method.Type
			if slices.Contains(sessions, method.Name) {
				continue
			}
			if in.NumIn() > 2 && in.In(1) == reflect.TypeFor[context.Context]() && in.In(2) == reflect.TypeFor[uuid.UUID]() && methods[method.Name] == nil {
				t.Errorf("%s is not tested", method.Name)
			}
		}
	})
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
