package client_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rollcall-dev/rollcall/badges"
	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/channels/standard"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/declare"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/dbtest"
	"github.com/rollcall-dev/rollcall/client"
	"github.com/rollcall-dev/rollcall/server"
)

// startEmpty starts a server without a project.
func startEmpty(t *testing.T) (*monitor.Monitor, *httptest.Server) {
	t.Helper()
	mon, err := monitor.New(dbtest.SQLite(t).Open(t), &monitor.Config{Channels: standard.Kinds(), DeliveredElsewhere: true})
	if err != nil {
		t.Fatal(err)
	}
	signer, err := badges.NewSigner([]byte("0123456789abcdef0123456789abcdef"))
	if err != nil {
		t.Fatal(err)
	}
	srv, err := server.New(mon, &server.Config{Signer: signer})
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(srv)
	t.Cleanup(web.Close)
	return mon, web
}

// startJobs starts a server with a project, and returns a client for each kind of key.
func startJobs(t *testing.T) (mon *monitor.Monitor, project checks.Project, readWrite, readOnly *client.Client) {
	t.Helper()
	mon, web := startEmpty(t)
	project, keys, err := mon.Projects().Create(t.Context(), checks.ProjectSpec{Name: "jobs"})
	if err != nil {
		t.Fatal(err)
	}
	var clients [2]*client.Client
	for i, key := range []string{keys.ReadWrite, keys.ReadOnly} {
		if clients[i], err = client.New(web.URL, key, &client.Config{HTTPClient: web.Client()}); err != nil {
			t.Fatal(err)
		}
	}
	return mon, project, clients[0], clients[1]
}

// Applying a file through a server has the same effect as applying it in process: afterwards, a plan on either side is
// empty.
func TestSameAsInProcess(t *testing.T) {
	mon, project, c, readOnly := startJobs(t)
	for _, name := range []string{"ops", "pager"} {
		if _, err := mon.Project(project.ID).CreateChannel(t.Context(), channels.Channel{Kind: "email", Name: name, Settings: map[string]string{"to": "a@example.org"}}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := mon.Project(project.ID).Create(t.Context(), checks.Spec{Slug: new("old")}); err != nil {
		t.Fatal(err)
	}
	if _, err := mon.Project(project.ID).Create(t.Context(), checks.Spec{Slug: new("simple"), Schedule: new("0 3 * * *"), Desc: new("gone")}); err != nil {
		t.Fatal(err)
	}
	doc, err := declare.Parse([]byte(`
projects:
- name: jobs
  channels:
  - {name: ops, kind: email, settings: {to: a@example.org}}
  checks:
  - {slug: simple, name: "Ünï", tags: [b, a], timeout: 90s, grace: 60, channels: [pager, ops]}
  - {slug: cron, schedule: "*/5 * * * *", tz: US/Pacific, methods: POST, manual_resume: true, start_kw: "a,b", success_kw: c, failure_kw: d,
     filter_subject: true, filter_body: true, filter_http_body: true, filter_default_fail: true, desc: "two\nlines", channels: "*"}
  maintenance:
  - {name: patches, checks: [simple, cron], tags: b, schedule: "0 2 * * SUN", duration: 90m, tz: Europe/Riga}
`), nil)
	if err != nil {
		t.Fatal(err)
	}
	options := &declare.Options{Prune: true}
	if _, err := declare.NewPlan(t.Context(), declare.OnProject(c), doc, options); err == nil || !strings.Contains(err.Error(), `the channel "pager" cannot be deleted with a read-write key`) {
		t.Errorf("pruning channels: %v", err)
	}
	doc.Projects[0].Channels = nil
	plan, err := declare.NewPlan(t.Context(), declare.OnProject(c), doc, options)
	if err != nil {
		t.Fatal(err)
	}
	if created, updated, deleted := plan.Count(); created != 2 || updated != 1 || deleted != 1 {
		t.Errorf("%d, %d, %d:\n%s", created, updated, deleted, plan)
	}
	local, err := declare.NewPlan(t.Context(), declare.OnProjects(mon.Projects()), doc, options)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(local.String(), plan.String()); diff != "" {
		t.Errorf("the plans differ (-in process +server):\n%s", diff)
	}
	if _, err := plan.Apply(t.Context(), declare.OnProject(c), nil); err != nil {
		t.Fatal(err)
	}
	for name, place := range map[string]declare.Target{"server": declare.OnProject(c), "in process": declare.OnProjects(mon.Projects())} {
		again, err := declare.NewPlan(t.Context(), place, doc, options)
		if err != nil {
			t.Fatal(err)
		}
		if again.String() != "" {
			t.Errorf("%s: still to do:\n%s", name, again)
		}
	}
	if _, err := declare.NewPlan(t.Context(), declare.OnProject(readOnly), doc, nil); err == nil {
		t.Error("a read-only key was accepted")
	}
}

// A client that could not be made is no target.
func TestNoTarget(t *testing.T) {
	var none *client.Client
	for name, target := range map[string]declare.Target{"projects": declare.OnProjects(none.Projects()), "project": declare.OnProject(none)} {
		if _, err := declare.Diff(t.Context(), target, []checks.Spec{{Slug: new("a")}}, nil); err == nil || !strings.Contains(err.Error(), "target") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A key of the installation, one of a project, and no server: which project a name means.
func TestProjectByName(t *testing.T) {
	s := serve(t, server.Config{}, "paid")
	key, _, err := s.mon.Project(s.project.ID).CreateKey(t.Context(), checks.Admin)
	if err != nil {
		t.Fatal(err)
	}
	own, err := client.New(s.url, key, nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string][2]string{"Backups": {"", ""}, "": {"not found", ""}, "other": {"not found", "unauthorized"}} {
		for i, c := range []*client.Client{s.admin(), own} {
			got, err := c.Projects().ByName(t.Context(), name)
			if meaning(err) != want[i] || err == nil && got.ID != s.project.ID {
				t.Errorf("%q with key %d: %v, %v", name, i, got, err)
			}
		}
	}
	for field, spec := range map[string]checks.ProjectSpec{"first": {First: true}, "no-keys": {NoKeys: true}, "ping-key": {PingKey: s.project.PingKey}} {
		spec.Name = "more"
		_, _, err := s.admin().Projects().Create(t.Context(), spec)
		if e, ok := errors.AsType[*checks.FieldError](err); !ok || e.Field != field {
			t.Errorf("%s: %v", field, err)
		}
	}
}

// A proxy that answers 404 instead of the server has deleted nothing, and shows no empty project.
func TestProxyInFront(t *testing.T) {
	mon, project, c, _ := startJobs(t)
	for _, slug := range []string{"a", "b"} {
		if _, err := mon.Project(project.ID).Create(t.Context(), checks.Spec{Slug: &slug}); err != nil {
			t.Fatal(err)
		}
	}
	doc, err := declare.Parse([]byte("checks: [{slug: a}]"), nil)
	if err != nil {
		t.Fatal(err)
	}
	prune := &declare.Options{Prune: true}
	plan, err := declare.NewPlan(t.Context(), declare.OnProject(c), doc, prune)
	if err != nil || len(plan.Changes) != 1 {
		t.Fatal(plan.Changes, err)
	}
	for _, status := range []int{200, 404} {
		nginx := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			w.WriteHeader(status)
			_, _ = io.WriteString(w, "<html><center>nginx</center></html>")
		}))
		defer nginx.Close()
		wrong, err := client.New(nginx.URL, strings.Repeat("x", 32), nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := plan.Apply(t.Context(), declare.OnProject(wrong), nil); !errors.Is(err, client.ErrNotRollcall) {
			t.Errorf("apply, %d: %v", status, err)
		}
		if _, err := declare.NewPlan(t.Context(), declare.OnProject(wrong), doc, prune); !errors.Is(err, client.ErrNotRollcall) {
			t.Errorf("plan, %d: %v", status, err)
		}
	}
	if all, err := checks.Stored(mon.Project(project.ID).Checks(t.Context(), checks.Query{})); err != nil || len(all) != 2 {
		t.Error(len(all), err)
	}
}
