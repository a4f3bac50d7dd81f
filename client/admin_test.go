package client_test

import (
	"errors"
	"io"
	"maps"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/channels/standard"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/gate"
	"github.com/rollcall-dev/rollcall/client"
	"github.com/rollcall-dev/rollcall/server"
)

// admin returns a client with a key of the installation.
func (s *site) admin() *client.Client {
	s.Helper()
	key, _, err := s.mon.Installation().CreateKey(s.Context())
	if err != nil {
		s.Fatal(err)
	}
	c, err := client.New(s.url, key, nil)
	if err != nil {
		s.Fatal(err)
	}
	return c
}

func TestProjects(t *testing.T) {
	s := serve(t, server.Config{}, "paid")
	c := s.admin()
	equal(t, "is an admin key", []bool{c.HasAdminKey(), s.client.HasAdminKey()}, []bool{true, false})
	made, keys, err := c.Projects().Create(t.Context(), checks.ProjectSpec{Name: "shop", Account: "shops", Plan: "free", MaxChecks: 7})
	if err != nil {
		t.Fatal(err)
	}
	stored, err := s.mon.Projects().ByID(t.Context(), made.ID)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "created", made, checks.Project{ID: stored.ID, Name: "shop", Account: "shops", Plan: "free", MaxChecks: 7, PingKey: stored.PingKey, Storm: gate.DefaultStorm()})
	for _, text := range []string{keys.ReadWrite, keys.ReadOnly} {
		if key, err := s.mon.Projects().Authenticate(t.Context(), text); err != nil || key.ProjectID != made.ID || key.Scope.Right().Edits() != (text == keys.ReadWrite) {
			t.Errorf("%v, %v", key, err)
		}
	}
	got, err := c.Projects().ByID(t.Context(), made.ID)
	equal(t, "read", []any{got, err}, []any{made, error(nil)})
	list, err := c.Projects().List(t.Context())
	equal(t, "list", []any{len(list), list[1], err}, []any{2, made, error(nil)})

	_, _, err = c.Projects().Create(t.Context(), checks.ProjectSpec{Name: "shop"})
	_, taken := c.Projects().Update(t.Context(), made.ID, checks.ProjectUpdate{Name: new("Backups")})
	if !only(err, checks.ErrExists) || !only(taken, checks.ErrExists) {
		t.Errorf("a name in use: %v, %v", err, taken)
	}
	_, _, err = c.Projects().Create(t.Context(), checks.ProjectSpec{Name: "x", Plan: "gold"})
	if refused, ok := errors.AsType[*checks.FieldError](err); !ok || refused.Field != "plan" {
		t.Errorf("a wrong plan: %v", err)
	}
	renamed, err := c.Projects().Update(t.Context(), made.ID, checks.ProjectUpdate{Name: new("market")})
	equal(t, "renamed", []any{renamed.Name, err}, []any{"market", error(nil)})
	stormy, err := c.Projects().Update(t.Context(), made.ID, checks.ProjectUpdate{StormChecks: new(3), StormWindow: new(2 * time.Minute)})
	equal(t, "settings of storms", []any{stormy.Name, stormy.Storm, err}, []any{"market", gate.Storm{Checks: 3, Window: 2 * time.Minute}, error(nil)})
	for field, update := range map[string]checks.ProjectUpdate{
		"storm_checks": {StormChecks: new(1)}, "storm_window": {StormWindow: new(time.Second / 2)},
	} {
		_, err := c.Projects().Update(t.Context(), made.ID, update)
		if refused, ok := errors.AsType[*checks.FieldError](err); !ok || refused.Field != field {
			t.Errorf("%+v: %v, want an error about %s", update, err, field)
		}
	}
	if err := c.Projects().Delete(t.Context(), made.ID); err != nil {
		t.Error(err)
	}
	if _, err := c.Projects().ByID(t.Context(), made.ID); !only(err, checks.ErrNotFound) {
		t.Errorf("deleted: %v", err)
	}
	for call, err := range adminCalls(t.Context(), c.Project(s.project.ID)) {
		switch call {
		case "pages", "create page", "projects", "create project", "set policy":
			if err != nil {
				t.Errorf("%s: %v", call, err)
			}
		case "create channel", "upsert channel":
			if refused, ok := errors.AsType[*channels.SettingError](err); !ok || *refused != (channels.SettingError{Kind: "email", Setting: "to", Reason: "is missing"}) {
				t.Errorf("%s: %v", call, err)
			}
		default:
			if !only(err, checks.ErrNotFound) {
				t.Errorf("%s: %v", call, err)
			}
		}
	}
}

// A key of the installation names the project of each request. The clients of its projects are apart, but for their pauses.
func TestProjectOfRequests(t *testing.T) {
	s := serve(t, server.Config{}, "paid")
	c := s.admin()
	made, _, err := c.Projects().Create(t.Context(), checks.ProjectSpec{Name: "shop"})
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.Checks(t.Context(), checks.Query{})
	if refused, ok := errors.AsType[*checks.FieldError](err); !ok || refused.Field != "project" {
		t.Errorf("no project: %v", err)
	}
	if _, err := c.Project(someID).Checks(t.Context(), checks.Query{}); !only(err, checks.ErrNotFound) {
		t.Errorf("no such project: %v", err)
	}
	shop := c.Project(made.ID)
	order, err := shop.Create(t.Context(), checks.Spec{Slug: new("orders"), Tags: []string{"a&b"}})
	if err != nil {
		t.Fatal(err)
	}
	for place, want := range map[*client.Client]int{shop: 1, c.Project(s.project.ID): 0} {
		list, err := place.Checks(t.Context(), checks.Query{Slug: "orders", Tags: []string{"a&b"}})
		equal(t, "checks", []any{len(list), err}, []any{want, error(nil)})
	}
	if _, err := c.Project(s.project.ID).Check(t.Context(), order.ID); !only(err, checks.ErrNotFound) {
		t.Errorf("a check of another project: %v", err)
	}
	registered, err := shop.Register(t.Context(), checks.Spec{Slug: new("orders")})
	again, _ := c.Project(made.ID).Register(t.Context(), checks.Spec{Slug: new("orders")})
	if err != nil || registered != again {
		t.Errorf("one pinger for each check: %v", err)
	}
	var document struct{ Checks []any }
	if err := shop.Fetch(t.Context(), "/api/v1/checks/?tag=x", &document); err != nil || document.Checks == nil {
		t.Error(err)
	}
}

func TestChannels(t *testing.T) {
	s := serve(t, server.Config{}, "paid")
	c := s.admin().Project(s.project.ID)
	hook := channels.Channel{Kind: "webhook", Name: "hook", Settings: map[string]string{
		"url_down": "https://example.org/x", "headers_down": "Authorization: s3cret", "body_down": "token", "method_down": "PUT",
	}, Sources: map[string]string{"body_down": "$BODY"}}
	made, err := c.CreateChannel(t.Context(), hook)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "created", made, channels.Channel{
		ID: made.ID, Kind: "webhook", Name: "hook", Settings: map[string]string{"method_down": "PUT", "method_up": "POST"},
		Sources: hook.Sources, Hidden: []string{"body_down", "headers_down", "url_down"},
	})
	got, err := c.Channel(t.Context(), made.ID)
	equal(t, "read", []any{got, err}, []any{made, error(nil)})
	saved := func() channels.Channel {
		list, err := s.mon.Project(s.project.ID).Channels(t.Context())
		if err != nil || len(list) != 1 {
			t.Fatal(len(list), err)
		}
		return list[0]
	}
	edit := func(settings, sources map[string]string) error {
		_, err := c.UpdateChannel(t.Context(), made.ID, func(c channels.Channel) (channels.Channel, error) {
			maps.Copy(c.Settings, settings)
			c.Sources = sources
			return c, nil
		})
		return err
	}
	if err := edit(map[string]string{"method_down": "GET"}, nil); err != nil {
		t.Fatal(err)
	}
	hook.Settings["method_down"], hook.Settings["method_up"] = "GET", "POST"
	equal(t, "what is hidden stays", []any{saved().Settings, saved().Sources}, []any{hook.Settings, hook.Sources})
	hook.Settings["headers_down"] = ""
	if err := edit(hook.Settings, hook.Sources); err != nil {
		t.Fatal(err)
	}
	delete(hook.Settings, "headers_down")
	equal(t, "unless it is removed", []any{saved().Settings, saved().Sources}, []any{hook.Settings, hook.Sources})
	if err := edit(map[string]string{"url_down": "https://example.org/x", "body_down": "plain"}, nil); err != nil {
		t.Fatal(err)
	}
	equal(t, "a new value without a source", []any{saved().Settings["body_down"], len(saved().Sources)}, []any{"plain", 0})

	err = edit(map[string]string{"url_up": "https://example.net/"}, nil)
	if refused, ok := errors.AsType[*channels.SettingError](err); !ok || refused.Setting != "url_down" || !strings.HasPrefix(refused.Reason, "must be given again") {
		t.Errorf("a kept secret for another receiver: %v", err)
	}
	stop := errors.New("stop")
	if _, err := c.UpdateChannel(t.Context(), made.ID, func(c channels.Channel) (channels.Channel, error) { return c, stop }); err != stop {
		t.Errorf("the error of edit: %v", err)
	}
	if _, err := c.CreateChannel(t.Context(), channels.Channel{Kind: "pigeon"}); !strings.Contains(err.Error(), "kind is unknown") {
		t.Error(err)
	}
	if _, created, err := c.UpsertChannel(t.Context(), hook); created || err != nil {
		t.Errorf("an upsert of what exists: %v, %v", created, err)
	}
	equal(t, "upserted", []any{saved().ID, saved().Sources}, []any{made.ID, hook.Sources})
	if err := c.DeleteChannel(t.Context(), made.ID); err != nil {
		t.Error(err)
	}
	if _, err := c.Channel(t.Context(), made.ID); !only(err, checks.ErrNotFound) {
		t.Errorf("deleted: %v", err)
	}
	if _, created, err := c.UpsertChannel(t.Context(), hook); !created || err != nil {
		t.Errorf("an upsert of nothing: %v, %v", created, err)
	}
	kinds, err := s.reader.ChannelKinds(t.Context())
	if err != nil || len(kinds) < 20 || kinds[0].Kind != "email" || !kinds[0].Settings[0].Required {
		t.Errorf("%d kinds, %v", len(kinds), err)
	}
}

func TestStatusPages(t *testing.T) {
	s := serve(t, server.Config{}, "paid")
	c := s.admin().Project(s.project.ID)
	page := checks.StatusPage{Slug: "shop", Title: "Shop", Description: "Two\nlines", Tags: []string{"a", "b"},
		Names: map[uuid.UUID]string{uuid.New(): "Payments"}, MinOutage: time.Minute}
	made, err := c.CreateStatusPage(t.Context(), page)
	page.ID = made.ID
	equal(t, "created", []any{made, err}, []any{page, error(nil)})
	if _, err := c.CreateStatusPage(t.Context(), page); !only(err, checks.ErrExists) {
		t.Errorf("a slug in use: %v", err)
	}
	page.Slug, page.Tags, page.Names, page.MinOutage = "market", nil, nil, 0
	changed, err := c.UpdateStatusPage(t.Context(), page)
	equal(t, "changed", []any{changed, err}, []any{page, error(nil)})
	list, err := c.StatusPages(t.Context())
	equal(t, "list", []any{list, err}, []any{[]checks.StatusPage{page}, error(nil)})
	page.Title = ""
	_, err = c.UpdateStatusPage(t.Context(), page)
	if refused, ok := errors.AsType[*checks.FieldError](err); !ok || refused.Field != "title" {
		t.Errorf("no title: %v", err)
	}
	page.Title, page.MinOutage = "Shop", time.Millisecond
	_, err = c.UpdateStatusPage(t.Context(), page)
	if refused, ok := errors.AsType[*checks.FieldError](err); !ok || refused.Field != "min_outage" {
		t.Errorf("a part of a second: %v", err)
	}
	if err := c.DeleteStatusPage(t.Context(), made.ID); err != nil {
		t.Error(err)
	}
	if err := c.DeleteStatusPage(t.Context(), made.ID); !only(err, checks.ErrNotFound) {
		t.Errorf("deleted twice: %v", err)
	}
}

// Only what may take effect twice is sent again after a failure that may hide a success.
func TestAdminRetries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tries := make(map[string]int)
		web := &http.Client{Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
			request := r.Method + " " + strings.Replace(strings.TrimPrefix(r.URL.Path, "/api/v3/"), someID.String(), "id", 1)
			if r.Body != nil {
				if body, _ := io.ReadAll(r.Body); strings.Contains(string(body), `"unique":["name"]`) {
					request += " unique"
				}
			}
			tries[request]++
			if request == "GET channels/id" {
				return respond(r, 200, "application/json", `{"id": "`+someID.String()+`", "settings": {}}`), nil
			}
			return respond(r, 503, "application/json", `{"error": "away"}`), nil
		})}
		c, err := client.New("https://rollcall.example.org", someKey, &client.Config{HTTPClient: web, Tries: 3})
		if err != nil {
			t.Fatal(err)
		}
		adminCalls(t.Context(), c)
		equal(t, "tries", tries, map[string]int{
			"GET channels/id": 2, "POST channels/": 1, "POST channels/ unique": 3, "PUT channels/id": 3, "DELETE channels/id": 1,
			"GET status-pages/": 3, "POST status-pages/": 1, "PUT status-pages/id": 3, "DELETE status-pages/id": 1,
			"GET projects/": 3, "GET projects/id": 3, "POST projects/": 1, "PUT projects/id": 3, "POST projects/id/ping-key": 1, "DELETE projects/id": 1,
			"PUT escalation/": 3,
		})
	})
}

// A 429 pauses the clients of all projects.
func TestProjectsShareThePause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{answers: []any{respond(nil, 429, "application/json", `{"error": "slow down"}`, "Retry-After", "60")}, success: `{"status_pages": []}`}
		c := s.client(t, client.Config{})
		var group sync.WaitGroup
		for range 2 {
			group.Go(func() {
				if _, err := c.Project(uuid.New()).StatusPages(t.Context()); err != nil {
					t.Error(err)
				}
			})
			synctest.Wait()
		}
		group.Wait()
		equal(t, "requests", []bool{s.at[0] == 0, s.at[1] >= time.Minute, s.at[2] >= time.Minute}, []bool{true, true, true})
	})
}

// TestKindsOfProject: a client gets of each kind what a form needs.
func TestKindsOfProject(t *testing.T) {
	s := serve(t, server.Config{}, "paid")
	kinds, err := s.admin().Projects().Kinds(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range standard.Kinds() {
		if kinds[i].Kind != want.Kind || kinds[i].Setup != want.Setup || kinds[i].Settings[0].Primary != want.Settings[0].Primary {
			t.Errorf("%s: %+v", want.Kind, kinds[i])
		}
	}
}
