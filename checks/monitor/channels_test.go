package monitor_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/dbtest"
)

// TestUpsertChannel makes one channel out of repeated calls, replaces its settings, and leaves its checks alone.
func TestUpsertChannel(t *testing.T) {
	each(t, func(t *testing.T, s setup) {
		ctx := t.Context()
		upsert := func(name, to string, want monitor.ChannelChange) channels.Channel {
			t.Helper()
			c, change, err := s.UpsertChannel(ctx, s.project.ID, channels.Email, name, map[string]string{"to": to})
			if err != nil || change != want || c.Name != name || c.Settings["to"] != to || c.ProjectID != s.project.ID {
				t.Errorf("%v %v, want %s; error %v", change, c, want, err)
			}
			return c
		}
		first := upsert("ops", "a@example.org", monitor.ChannelCreated)
		check := s.create(t, checks.Spec{Channels: new("ops")})
		s.clock.Advance(time.Second)
		same := upsert("ops", "a@example.org", monitor.ChannelUnchanged)
		changed := upsert("ops", "b@example.org", monitor.ChannelUpdated)
		upsert("dev", "a@example.org", monitor.ChannelCreated)
		upsert("ops", "b@example.org", monitor.ChannelUnchanged)
		if same.ID != first.ID || changed.ID != first.ID {
			t.Errorf("channels %v, %v and %v, want one", first.ID, same.ID, changed.ID)
		}
		if list, err := s.Channels(ctx, s.project.ID); err != nil || len(list) != 2 || list[0].Settings["to"] != "b@example.org" {
			t.Errorf("channels %v, error %v", list, err)
		}
		if c, err := s.Check(ctx, check.ID); err != nil || len(c.Channels) != 1 || c.Channels[0] != first.ID {
			t.Errorf("the check has the channels %v, error %v", c.Channels, err)
		}
	})
}

// TestUpsertChannelDefaults compares settings as they are stored: with defaults and with the members of groups.
func TestUpsertChannelDefaults(t *testing.T) {
	each(t, func(t *testing.T, s setup) {
		for _, want := range []monitor.ChannelChange{monitor.ChannelCreated, monitor.ChannelUnchanged} {
			for _, c := range []channels.Channel{
				{Kind: channels.Webhook, Name: "hook", Settings: map[string]string{"url_down": "https://example.org/"}},
				{Kind: channels.Group, Name: "all", Settings: map[string]string{"channels": "*"}},
			} {
				if _, change, err := s.UpsertChannel(t.Context(), s.project.ID, c.Kind, c.Name, c.Settings); change != want || err != nil {
					t.Errorf("%s: %v, want %v; error %v", c.Name, change, want, err)
				}
			}
		}
	})
}

// TestUpsertChannelKeepsSources leaves a channel alone that package declare made with the same value.
func TestUpsertChannelKeepsSources(t *testing.T) {
	each(t, func(t *testing.T, s setup) {
		settings, sources := map[string]string{"to": "ops@example.org"}, map[string]string{"to": "$ROLLCALL_OPS"}
		_, err := s.AddChannel(t.Context(), channels.Channel{
			ProjectID: s.project.ID, Kind: channels.Email, Name: "ops", Settings: settings, Sources: sources,
		})
		must(t, err)
		for _, test := range []struct {
			to   string
			want map[string]string
		}{{"ops@example.org", sources}, {"dev@example.org", nil}} {
			_, _, err := s.UpsertChannel(t.Context(), s.project.ID, channels.Email, "ops", map[string]string{"to": test.to})
			must(t, err)
			list, err := s.Channels(t.Context(), s.project.ID)
			must(t, err)
			if diff := cmp.Diff(test.want, list[0].Sources); diff != "" {
				t.Errorf("sources after %s (-want +got):\n%s", test.to, diff)
			}
		}
	})
}

// TestUpsertChannelErrors changes nothing when it fails.
func TestUpsertChannelErrors(t *testing.T) {
	each(t, func(t *testing.T, s setup) {
		ctx, mail := t.Context(), map[string]string{"to": "ops@example.org"}
		for _, name := range []string{"ops", "twice", "twice"} {
			_, err := s.CreateChannel(ctx, s.project.ID, channels.Email, name, mail)
			must(t, err)
		}
		before, err := s.Channels(ctx, s.project.ID)
		must(t, err)
		for _, test := range []struct {
			project  uuid.UUID
			kind     channels.Kind
			name     string
			settings map[string]string
			want     string
		}{
			{s.project.ID, channels.Email, "", mail, "name is empty"},
			{s.project.ID, channels.Email, "twice", mail, `name is that of 2 channels: "twice"`},
			{s.project.ID, channels.Webhook, "ops", nil, `kind cannot change: the channel "ops" has the kind "email", not "webhook"`},
			{s.project.ID, channels.Email, "ops", nil, "email: to is missing"},
			{s.project.ID, "pager", "new", nil, `kind is unknown: "pager"`},
			{uuid.New(), channels.Email, "ops", mail, checks.ErrNotFound.Error()},
		} {
			c, change, err := s.UpsertChannel(ctx, test.project, test.kind, test.name, test.settings)
			if err == nil || !strings.HasPrefix(err.Error(), test.want) || change != "" || c.ID != uuid.Nil {
				t.Errorf("%s %q: %v %v, error %v, want %s", test.kind, test.name, c, change, err, test.want)
			}
		}
		after, err := s.Channels(ctx, s.project.ID)
		must(t, err)
		if diff := cmp.Diff(before, after); diff != "" {
			t.Errorf("the channels have changed (-before +after):\n%s", diff)
		}
	})
}

// TestUpsertChannelAtOnce starts many programs at once. One of them creates the channel.
func TestUpsertChannelAtOnce(t *testing.T) {
	each(t, func(t *testing.T, s setup) {
		var created atomic.Int64
		together(16, func(int) {
			_, change, err := s.UpsertChannel(t.Context(), s.project.ID, channels.Email, "ops", map[string]string{"to": "ops@example.org"})
			if err != nil {
				t.Error(err)
			}
			if change == monitor.ChannelCreated {
				created.Add(1)
			}
		})
		if list, err := s.Channels(t.Context(), s.project.ID); err != nil || len(list) != 1 || created.Load() != 1 {
			t.Errorf("%d created, the project has %v; error %v", created.Load(), list, err)
		}
	})
}

// TestUnknownNotifier refuses a notifier that no channel could use.
func TestUnknownNotifier(t *testing.T) {
	store := dbtest.SQLite(t).Open(t)
	pager := map[channels.Kind]channels.Notifier{"pager": &inbox{}}
	_, err := monitor.New(store, &monitor.Config{Notifiers: pager})
	if want := `monitor: Config.Notifiers has the kind "pager", which Config.Kinds does not list`; err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
	_, err = monitor.New(store, &monitor.Config{Notifiers: pager, Kinds: []channels.KindInfo{{Kind: "pager"}}})
	must(t, err)
}

// TestUpdateChannelFunc changes the name and the settings of a channel by what is stored, and nothing if the function fails.
func TestUpdateChannelFunc(t *testing.T) {
	each(t, func(t *testing.T, s setup) {
		ctx := t.Context()
		first, err := s.CreateChannel(ctx, s.project.ID, channels.Email, "ops", map[string]string{"to": "a@example.org"})
		must(t, err)
		check := s.create(t, checks.Spec{Channels: new("ops")})
		changed, err := s.UpdateChannelFunc(ctx, s.project.ID, first.ID, func(c channels.Channel) (channels.Channel, error) {
			c.Name, c.Settings["to"] = "night", "b@example.org,"+c.Settings["to"]
			c.Kind, c.ID = channels.Webhook, uuid.New() // ignored
			return c, nil
		})
		must(t, err)
		if changed.ID != first.ID || changed.Name != "night" || changed.Kind != channels.Email || changed.Settings["to"] != "b@example.org,a@example.org" {
			t.Errorf("changed to %#v", changed)
		}
		want := errors.New("no")
		for _, test := range []struct {
			id   uuid.UUID
			edit func(channels.Channel) (channels.Channel, error)
			text string
		}{
			{first.ID, func(c channels.Channel) (channels.Channel, error) { c.Settings["to"] = "x"; return c, want }, "no"},
			{first.ID, func(c channels.Channel) (channels.Channel, error) { c.Settings["to"] = "x"; return c, nil }, "email: to is not"},
			{first.ID, func(c channels.Channel) (channels.Channel, error) { c.Name = strings.Repeat("x", 101); return c, nil }, "name is too long"},
			{uuid.New(), func(c channels.Channel) (channels.Channel, error) { return c, nil }, checks.ErrNotFound.Error()},
		} {
			if _, err := s.UpdateChannelFunc(ctx, s.project.ID, test.id, test.edit); err == nil || !strings.HasPrefix(err.Error(), test.text) {
				t.Errorf("error %v, want %q", err, test.text)
			}
		}
		list, err := s.Channels(ctx, s.project.ID)
		must(t, err)
		if len(list) != 1 || list[0].Name != "night" || list[0].Settings["to"] != changed.Settings["to"] {
			t.Errorf("stored: %v %v", list, list[0].Settings)
		}
		if c, err := s.Check(ctx, check.ID); err != nil || len(c.Channels) != 1 || c.Channels[0] != first.ID {
			t.Errorf("the check has the channels %v, error %v", c.Channels, err)
		}
	})
}

// TestConfigured tells kinds without a notifier, and notifiers that lack something, from those that can send.
func TestConfigured(t *testing.T) {
	mon, err := monitor.New(dbtest.Memory(t), &monitor.Config{Notifiers: map[channels.Kind]channels.Notifier{
		channels.Email:   channels.NotifierFunc(func(context.Context, channels.Channel, channels.Notification) error { return nil }),
		channels.Webhook: lacking{},
	}})
	must(t, err)
	if _, missing := errors.AsType[*monitor.NotConfiguredError](mon.Configured(channels.SMS)); !missing {
		t.Errorf("sms: %v", mon.Configured(channels.SMS))
	}
	if mon.Configured(channels.Email) != nil || mon.Configured(channels.Group) != nil {
		t.Errorf("email: %v, group: %v", mon.Configured(channels.Email), mon.Configured(channels.Group))
	}
	if err := mon.Configured(channels.Webhook); err == nil || err.Error() != "no account" {
		t.Errorf("webhook: %v", err)
	}
}

// lacking is a notifier that says what it lacks.
type lacking struct{}

func (lacking) Notify(context.Context, channels.Channel, channels.Notification) error {
	return errors.New("no account")
}
func (lacking) Configured() error { return errors.New("no account") }
