package monitor_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
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
		upsert := func(name, to string, want bool) channels.Channel {
			t.Helper()
			c, created, err := s.UpsertChannel(ctx, s.project.ID, channels.Email, name, map[string]string{"to": to})
			if err != nil || created != want || c.Name != name || c.Settings["to"] != to || c.ProjectID != s.project.ID {
				t.Errorf("created %t %v, want %t; error %v", created, c, want, err)
			}
			return c
		}
		first := upsert("ops", "a@example.org", true)
		check := s.create(t, checks.Spec{Channels: new("ops")})
		s.clock.Advance(time.Second)
		same := upsert("ops", "a@example.org", false)
		changed := upsert("ops", "b@example.org", false)
		upsert("dev", "a@example.org", true)
		upsert("ops", "b@example.org", false)
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
		for _, want := range []bool{true, false} {
			for _, c := range []channels.Channel{
				{Kind: channels.Webhook, Name: "hook", Settings: map[string]string{"url_down": "https://example.org/"}},
				{Kind: channels.Group, Name: "all", Settings: map[string]string{"channels": "*"}},
			} {
				if _, created, err := s.UpsertChannel(t.Context(), s.project.ID, c.Kind, c.Name, c.Settings); created != want || err != nil {
					t.Errorf("%s: created %t, want %t; error %v", c.Name, created, want, err)
				}
			}
		}
	})
}

// TestUpsertChannelKeepsSources leaves a channel alone that package declare made with the same value.
func TestUpsertChannelKeepsSources(t *testing.T) {
	each(t, func(t *testing.T, s setup) {
		settings, sources := map[string]string{"to": "ops@example.org"}, map[string]string{"to": "$ROLLCALL_OPS"}
		_, err := s.Monitor.Project(s.project.ID).CreateChannel(t.Context(), channels.Channel{
			Kind: channels.Email, Name: "ops", Settings: settings, Sources: sources,
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
			c, created, err := s.UpsertChannel(ctx, test.project, test.kind, test.name, test.settings)
			if err == nil || !strings.HasPrefix(err.Error(), "monitor: project "+test.project.String()+": "+test.want) || created || c.ID != uuid.Nil {
				t.Errorf("%s %q: %v %t, error %v, want %s", test.kind, test.name, c, created, err, test.want)
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
			_, fresh, err := s.UpsertChannel(t.Context(), s.project.ID, channels.Email, "ops", map[string]string{"to": "ops@example.org"})
			if err != nil {
				t.Error(err)
			}
			if fresh {
				created.Add(1)
			}
		})
		if list, err := s.Channels(t.Context(), s.project.ID); err != nil || len(list) != 1 || created.Load() != 1 {
			t.Errorf("%d created, the project has %v; error %v", created.Load(), list, err)
		}
	})
}

// TestUpdateChannel changes the name and the settings of a channel by what is stored, and nothing if the function fails.
func TestUpdateChannel(t *testing.T) {
	each(t, func(t *testing.T, s setup) {
		ctx := t.Context()
		first, err := s.CreateChannel(ctx, s.project.ID, channels.Email, "ops", map[string]string{"to": "a@example.org"})
		must(t, err)
		check := s.create(t, checks.Spec{Channels: new("ops")})
		changed, err := s.Monitor.Project(s.project.ID).UpdateChannel(ctx, first.ID, func(c channels.Channel) (channels.Channel, error) {
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
			if _, err := s.Monitor.Project(s.project.ID).UpdateChannel(ctx, test.id, test.edit); err == nil || !strings.Contains(err.Error(), test.text) {
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

// TestConfigured tells kinds without a notifier from those that can send.
func TestConfigured(t *testing.T) {
	send := channels.NotifierFunc(func(context.Context, channels.Channel, channels.Notification) error { return nil })
	mon, err := monitor.New(dbtest.Memory(t), &monitor.Config{Channels: []channels.Type{
		{Kind: channels.Email, Notifier: send}, {Kind: channels.Webhook, Missing: "no account"}, {Kind: "twice", Notifier: send}, {Kind: "twice"},
	}})
	must(t, err)
	for kind, want := range map[channels.Kind]string{
		channels.Email: "<nil>", channels.Group: "<nil>", channels.Webhook: "no account",
		channels.SMS: `integrations of the kind "sms" are not configured on this server`,
		"twice":      `integrations of the kind "twice" are not configured on this server`,
	} {
		err := mon.Configured(kind)
		if lacks, ok := errors.AsType[*channels.NotConfiguredError](err); fmt.Sprint(err) != want || err != nil && (!ok || lacks.Kind != kind) {
			t.Errorf("%s: %v, want %s", kind, err, want)
		}
	}
	if _, err := monitor.New(dbtest.Memory(t), &monitor.Config{Channels: []channels.Type{{Doc: "Beeps."}}}); err == nil {
		t.Error("no error for a type without a kind")
	}
}

// TestReady asks a kind before new settings are stored, outside of any transaction, and not about what stays as it is.
func TestReady(t *testing.T) {
	ctx := t.Context()
	var asked []string
	var mon *monitor.Monitor
	var project checks.Project
	kind := channels.Type{
		Kind: "pager", Notifier: &inbox{}, Settings: []channels.Setting{{Name: "number"}},
		Ready: func(ctx context.Context, settings map[string]string) error {
			asked = append(asked, settings["number"])
			switch settings["number"] {
			case "0":
				return &channels.SettingError{Setting: "number", Reason: "is not assigned"}
			case "1":
				return &channels.NotConfiguredError{Kind: "pager", Missing: "no account"}
			case "2": // somebody else changes the channel meanwhile
				_, _, err := on(mon).UpsertChannel(ctx, project.ID, "pager", "renamed", map[string]string{"number": "9"})
				return err
			}
			return nil
		},
	}
	store := dbtest.SQLite(t).Open(t)
	for _, elsewhere := range []bool{false, true} {
		var err error
		mon, err = monitor.New(store, &monitor.Config{Channels: []channels.Type{kind}, DeliveredElsewhere: elsewhere})
		must(t, err)
		project, err = on(mon).OpenProject(ctx, fmt.Sprint(elsewhere))
		must(t, err)
		create := func(name, number string) string {
			_, err := on(mon).CreateChannel(ctx, project.ID, "pager", name, map[string]string{"number": number})
			return strings.TrimPrefix(fmt.Sprint(err), fmt.Sprintf("monitor: project %s: ", project.ID))
		}
		if got := create("a", "0"); got != "pager: number is not assigned" {
			t.Errorf("a setting: %s", got)
		}
		if got := create("a", "1"); got == "no account" == elsewhere {
			t.Errorf("no account, delivered elsewhere %v: %s", elsewhere, got)
		}
		if got := create("b", "3"); got != "<nil>" {
			t.Errorf("ready: %s", got)
		}
		list, err := on(mon).Channels(ctx, project.ID)
		must(t, err)
		b := list[len(list)-1]
		asked = nil
		_, err = mon.Project(project.ID).UpdateChannel(ctx, b.ID, func(c channels.Channel) (channels.Channel, error) {
			c.Name = "renamed"
			return c, nil
		})
		must(t, err)
		_, err = on(mon).UpdateChannel(ctx, project.ID, b.ID, b.Settings, nil)
		must(t, err)
		if asked != nil {
			t.Errorf("asked about %q, which are stored", asked)
		}
		if _, err := mon.Project(project.ID).UpdateChannel(ctx, b.ID, func(c channels.Channel) (channels.Channel, error) {
			c.Settings["number"] += "2"
			c.Settings["number"] = strings.TrimPrefix(c.Settings["number"], "3")
			return c, nil
		}); err != nil {
			t.Error(err)
		}
		if want := []string{"2", "9", "92"}; !slices.Equal(asked, want) {
			t.Errorf("asked about %q, want %q", asked, want)
		}
	}
}
