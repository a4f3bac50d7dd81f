package monitor_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/dbtest"
)

// TestBoundsBeforeTransactions refuses what is too long or too much before it opens a transaction, for which all pings wait on
// SQLite.
func TestBoundsBeforeTransactions(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, db dbtest.DB) {
		transactions := 0
		s := newSetup(t, &dbtest.Hooked{Store: db.Open(t), Around: func(op string, do func() error) error {
			if op == "Update" {
				transactions++
			}
			return do()
		}}, checks.ProjectSpec{Name: "own"})
		ctx := t.Context()
		project := s.Project(s.project.ID)
		check := s.create(t, checks.Spec{Tags: []string{"db"}})
		page, err := project.CreateStatusPage(ctx, checks.StatusPage{Slug: "acme", Title: "Acme"})
		must(t, err)
		hook := channels.Channel{Kind: channels.Webhook, Name: "hook", Settings: map[string]string{"url_down": "https://example.org/"}}
		stored, err := project.CreateChannel(ctx, hook)
		must(t, err)

		long := strings.Repeat("x", 950_000)
		many := make([]string, 150_000)
		for i := range many {
			many[i] = fmt.Sprint(i)
		}
		edited := func(edit func(c *channels.Channel)) channels.Channel {
			c := hook
			c.Settings = maps.Clone(c.Settings)
			edit(&c)
			return c
		}
		replace := func(c channels.Channel) error {
			_, err := project.UpdateChannel(ctx, stored.ID, func(channels.Channel) (channels.Channel, error) { return c, nil })
			return err
		}
		for name, test := range map[string]struct {
			field string
			do    func() error
		}{
			"tags of a check":    {"tags", func() error { _, err := project.Create(ctx, checks.Spec{Tags: many}); return err }},
			"a tag of a check":   {"tags", func() error { _, err := project.Update(ctx, check.ID, checks.Spec{Tags: []string{long}}); return err }},
			"zone of a check":    {"tz", func() error { _, err := project.Create(ctx, checks.Spec{TZ: &long}); return err }},
			"methods of a check": {"methods", func() error { _, err := project.Create(ctx, checks.Spec{Methods: &long}); return err }},
			"channels of a check": {"channels", func() error {
				_, err := project.Update(ctx, check.ID, checks.Spec{Channels: new(strings.Join(many, ","))})
				return err
			}},
			"tags of a new page": {"tags", func() error {
				_, err := project.CreateStatusPage(ctx, checks.StatusPage{Slug: "b", Title: "B", Tags: many})
				return err
			}},
			"one tag, many times": {"tags", func() error {
				_, err := project.CreateStatusPage(ctx, checks.StatusPage{Slug: "b", Title: "B", Tags: slices.Repeat([]string{"a"}, 1000)})
				return err
			}},
			"tags of a page": {"tags", func() error {
				_, err := project.UpdateStatusPage(ctx, checks.StatusPage{ID: page.ID, Slug: "acme", Title: "Acme", Tags: many})
				return err
			}},
			"name of a channel": {"name", func() error {
				_, err := project.CreateChannel(ctx, edited(func(c *channels.Channel) { c.Name = long }))
				return err
			}},
			"blank name": {"name", func() error { return replace(edited(func(c *channels.Channel) { c.Name = " \u00a0" })) }},
			"name of an upsert": {"name", func() error {
				_, _, err := project.UpsertChannel(ctx, edited(func(c *channels.Channel) { c.Name = long }))
				return err
			}},
			"setting of a channel": {"url_down", func() error { return replace(edited(func(c *channels.Channel) { c.Settings["url_down"] += long })) }},
			"unknown settings":     {"0", func() error { return replace(edited(func(c *channels.Channel) { fill(c.Settings, many) })) }},
			"source of a setting": {"sources", func() error {
				return replace(edited(func(c *channels.Channel) { c.Sources = map[string]string{"url_down": long} }))
			}},
			"source with a line end": {"sources", func() error {
				return replace(edited(func(c *channels.Channel) { c.Sources = map[string]string{"url_down": "$A\n"} }))
			}},
			"name of a project": {"name", func() error {
				_, err := s.Projects().Update(ctx, s.project.ID, checks.ProjectUpdate{Name: new(long)})
				return err
			}},
			"project of blanks": {"name", func() error { _, _, err := s.Projects().Create(ctx, checks.ProjectSpec{Name: " \u200b "}); return err }},
			"project for all": {"name", func() error {
				_, err := s.Projects().Update(ctx, s.project.ID, checks.ProjectUpdate{Name: new("*")})
				return err
			}},
			"account of blanks": {"account", func() error {
				_, _, err := s.Projects().Create(ctx, checks.ProjectSpec{Name: "b", Account: "  "})
				return err
			}},
		} {
			transactions = 0
			err := test.do()
			field := ""
			if e, ok := errors.AsType[*checks.FieldError](err); ok {
				field = e.Field
			} else if e, ok := errors.AsType[*channels.SettingError](err); ok {
				field = e.Setting
			}
			if field != test.field || transactions != 0 || len(err.Error()) > 1000 {
				t.Errorf("%s: error %.200v about %q with %d transactions, want one about %q before any", name, err, field, transactions, test.field)
			}
		}
	})
}

func fill(settings map[string]string, names []string) {
	for _, name := range names {
		settings[name] = name
	}
}

// TestSourcesOfMissingSettings keeps no source of a value that the channel does not have.
func TestSourcesOfMissingSettings(t *testing.T) {
	each(t, func(t *testing.T, s setup) {
		sources := map[string]string{"url_down": "$URL", "body_down": "$BODY"}
		fill(sources, []string{"a", "b"})
		c, err := s.Project(s.project.ID).CreateChannel(t.Context(), channels.Channel{
			Kind: channels.Webhook, Settings: map[string]string{"url_down": "https://example.org/"}, Sources: sources,
		})
		if err != nil || !maps.Equal(c.Sources, map[string]string{"url_down": "$URL"}) {
			t.Errorf("sources %v, error %v", c.Sources, err)
		}
	})
}

// TestTagsThatNoCheckHas reads no check for tags that are longer together than those of a check.
func TestTagsThatNoCheckHas(t *testing.T) {
	each(t, func(t *testing.T, s setup) {
		check := s.create(t, checks.Spec{Tags: []string{"db", "prod"}})
		many := []string{"db"}
		for i := range 500 {
			many = append(many, fmt.Sprint(i))
		}
		for _, test := range []struct {
			tags []string
			want []uuid.UUID
		}{{slices.Repeat([]string{"db", "prod"}, 1000), []uuid.UUID{check.ID}}, {many, nil}, {[]string{"db prod"}, nil}, {[]string{"d\x00"}, nil}} {
			list, err := s.Project(s.project.ID).Checks(t.Context(), checks.Query{Tags: test.tags})
			var got []uuid.UUID
			for _, c := range list {
				got = append(got, c.ID)
			}
			if err != nil || !slices.Equal(got, test.want) {
				t.Errorf("%d tags select %v, error %v, want %v", len(test.tags), got, err, test.want)
			}
		}
	})
}

// TestBoundsOfProjects refuses one more channel, key and status page than a project may have, and longer settings than those of
// its channels may be together. What is there can still change.
func TestBoundsOfProjects(t *testing.T) {
	db := dbtest.Memory(t)
	s := newSetup(t, db, checks.ProjectSpec{Name: "p"})
	ctx := t.Context()
	project := s.Project(s.project.ID)
	body := strings.Repeat("x", 10_000)
	long := func(name string) channels.Channel {
		settings := map[string]string{"url_down": "https://example.org/", "url_up": "https://example.org/"}
		for _, part := range []string{"body_down", "body_up", "headers_down", "headers_up"} {
			settings[part] = "X: " + body[:9_000]
		}
		return channels.Channel{ProjectID: s.project.ID, Kind: channels.Webhook, Name: name, Settings: settings}
	}
	var list []func(ctx context.Context, tx store.Tx) error
	for i := range 55 { // almost 2,000,000 bytes
		c := long(fmt.Sprint("long ", i))
		c.ID = uuid.New()
		list = append(list, func(ctx context.Context, tx store.Tx) error { return writer(ctx, tx).SaveChannel(ctx, c) })
	}
	save := func() {
		must(t, db.Contract().(store.Store).Update(ctx, func(ctx context.Context, tx store.Tx) error {
			for _, save := range list {
				if err := save(ctx, tx); err != nil {
					return err
				}
			}
			return nil
		}))
		list = nil
	}
	save()
	refused := func(what string, err error, want string) {
		t.Helper()
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", what, err, want)
		}
	}
	_, err := project.CreateChannel(ctx, long("one more"))
	refused("settings", err, "settings are too long: those of all channels of the project would have 20")
	small := channels.Channel{Kind: channels.Email, Name: "mail", Settings: map[string]string{"to": "a@example.org"}}
	mail, err := project.CreateChannel(ctx, small)
	must(t, err)
	_, _, err = project.UpsertChannel(ctx, channels.Channel{Kind: channels.Webhook, Name: "long 7", Settings: map[string]string{"url_down": "https://example.net/"}})
	must(t, err) // it becomes shorter

	for i := range checks.MaxChannels - 56 {
		c := channels.Channel{ID: uuid.New(), ProjectID: s.project.ID, Kind: channels.Email, Name: fmt.Sprint(i), Settings: small.Settings}
		list = append(list, func(ctx context.Context, tx store.Tx) error { return writer(ctx, tx).SaveChannel(ctx, c) })
	}
	for i := range checks.MaxKeys - 2 { // the project began with two
		k := checks.Key{ID: uuid.New(), ProjectID: s.project.ID, Hash: sha256.Sum256([]byte{byte(i), byte(i >> 8)})}
		list = append(list, func(ctx context.Context, tx store.Tx) error { return writer(ctx, tx).SaveKey(ctx, k) })
	}
	var last checks.StatusPage
	for i := range checks.MaxStatusPages {
		p := checks.StatusPage{ID: uuid.New(), ProjectID: s.project.ID, Slug: fmt.Sprint(i), Title: "a"}
		list = append(list, func(ctx context.Context, tx store.Tx) error { return writer(ctx, tx).SaveStatusPage(ctx, p) })
		last = p
	}
	save()
	_, err = project.CreateChannel(ctx, small)
	refused("channels", err, "project has 500 channels, the maximum")
	_, _, err = project.UpsertChannel(ctx, channels.Channel{Kind: channels.Email, Name: "mail", Settings: map[string]string{"to": "b@example.org"}})
	must(t, err)
	_, err = project.Create(ctx, checks.Spec{Channels: new("*")})
	must(t, err)
	must(t, project.DeleteChannel(ctx, mail.ID))
	_, err = project.CreateChannel(ctx, small)
	must(t, err)
	_, _, err = project.CreateKey(ctx, checks.ReadOnly)
	refused("keys", err, "project has 1000 API keys, the maximum")
	_, err = project.CreateStatusPage(ctx, checks.StatusPage{Slug: "more", Title: "More"})
	refused("status pages", err, "project has 100 status pages, the maximum")
	_, err = project.UpdateStatusPage(ctx, last)
	must(t, err)
}

// writer returns what makes changes in a transaction, of which the audit log has no entry.
func writer(ctx context.Context, tx store.AdminTx) store.Writer {
	w, err := tx.Change(ctx)
	if err != nil {
		panic(err)
	}
	return w
}
