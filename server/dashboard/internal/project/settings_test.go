package project_test

import (
	"errors"
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/channels/standard"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/gate"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/pagetest"
)

func TestRenameProject(t *testing.T) {
	s := pagetest.New(t)
	other, _, err := s.Mon.Projects().Create(t.Context(), checks.ProjectSpec{Name: "other"})
	pagetest.NoError(t, err)
	b := s.Owner()
	rename := func(name string) *pagetest.Answer { return b.Post(s.Path("settings"), url.Values{"name": {name}}) }
	rename(other.Name).Is(http.StatusConflict).Has("Another project has this name.", `value="other"`)
	rename(" ").Is(http.StatusBadRequest).Has("Not saved", "The name is empty.")
	rename(" <b>new</b> ").Is(http.StatusSeeOther)
	b.Get(s.Path("settings")).Is(http.StatusOK).Has("Renamed.", "<h1>&lt;b&gt;new&lt;/b&gt;</h1>")
	s.SignedIn(s.Keys.ReadOnly).Post(s.Path("settings"), url.Values{"name": {"x"}}).Is(http.StatusForbidden)
}

func TestGrouping(t *testing.T) {
	s := pagetest.New(t)
	b, reader := s.Owner(), s.SignedIn(s.Keys.ReadOnly)
	save := func(checks, window string) *pagetest.Answer {
		return b.Post(s.Path("grouping"), url.Values{"storm_checks": {checks}, "storm_window": {window}})
	}
	b.Get(s.Path("settings")).Is(http.StatusOK).Has(`value="5"`, `value="1 min"`).HasNo("from 5 checks")
	reader.Get(s.Path("settings")).Has("from 5 checks within 1 min")
	save("x", "1m").Is(http.StatusBadRequest).Has("Not saved", "The number of checks is not a number.", `value="x"`)
	save("1", "1m").Is(http.StatusBadRequest).Has("Not saved", "The number of checks is too small: 1, the minimum is 2.", `aria-invalid="true"`)
	save("5", "soon").Is(http.StatusBadRequest).Has("Not saved", "The window is not a duration such as 90s, 30 min, 1h30m or 1 day.", `value="soon"`)
	save("5", "2h").Is(http.StatusBadRequest).Has("Not saved", "The window is out of range: 2 h, it takes 10 s to 1 h.")
	save(" 3 ", "90s").Is(http.StatusSeeOther)
	b.Get(s.Path("settings")).Is(http.StatusOK).Has("Saved.", `value="3"`, `value="1 min 30 s"`)
	reader.Get(s.Path("settings")).Has("from 3 checks within 1 min 30 s")
	save("0", "90s").Is(http.StatusSeeOther)
	reader.Get(s.Path("settings")).Is(http.StatusOK).Has("<dd>off</dd>")
	s.SignedIn(s.Keys.ReadWrite).Post(s.Path("grouping"), url.Values{"storm_checks": {"3"}, "storm_window": {"1m"}}).Is(http.StatusForbidden)
}

// TestGroupingExample: the page says what a storm of the project as it is does to its integrations, as the gate decides.
func TestGroupingExample(t *testing.T) {
	s := pagetest.New(t, func(c *pagetest.Config) { c.Monitor.Channels = standard.Kinds() })
	b := s.Owner()
	s.Channel(channels.Email, "ops", map[string]string{"to": "ops@example.org"})
	s.Channel(channels.Webhook, "wiki", map[string]string{"url_down": "https://example.org/"})
	const n = 7
	for range n - 3 {
		s.Create(checks.Spec{Channels: new("*")})
	}
	b.Get(s.Path("settings")).Is(http.StatusOK).HasNo("would get")
	for range 3 {
		s.Create(checks.Spec{Channels: new("*")})
	}
	s.Create(checks.Spec{Channels: new("")})
	b.Get(s.Path("settings")).Has("Now, if all 7 checks went down within 1 min, ops would get at most 5 messages: the first 4 alone, and one about the others. Wiki would get one for each check.")

	var burst gate.Burst
	storm, alone, waiting := gate.DefaultStorm(), 0, 0
	for i := range n {
		now := pagetest.Start.Add(time.Duration(i) * 8 * time.Second)
		burst.Want(storm, uuid.New(), now)
		if burst.Decide(storm, now, now).Action == gate.Wait {
			waiting++
			continue
		}
		burst.Left(now)
		alone++
	}
	if alone != 4 || waiting != 3 {
		t.Errorf("the gate sends %d alone, and %d wait", alone, waiting)
	}
}

func TestProjectSettings(t *testing.T) {
	s, _ := pagetest.WithReceiver(t)
	s.Create(checks.Spec{Name: new("backup"), Slug: new("backup")})
	s.Channel("pager", "house", map[string]string{"server_url": "https://house.example.org", "token": "t0psecret"})
	b := s.Owner()
	b.Get(s.Path("settings")).Is(http.StatusOK).Has("backups", "the latest 1000 of each check", "3 API keys")
	file := b.Get(s.Path("export")).Is(http.StatusOK).Has("slug: backup", "house.example.org").HasNo("t0psecret", s.Project.PingKey)
	if got := file.Header.Get("Content-Disposition"); got != "attachment; filename=backups.yaml" {
		t.Errorf("Content-Disposition %q", got)
	}
	s.SignedIn(s.Keys.ReadOnly).Get(s.Path("export")).Is(http.StatusForbidden)

	b.Get(s.Path("delete")).Is(http.StatusOK).Has("1 check ", "1 integration")
	b.Post(s.Path("delete"), url.Values{"name": {"Backups"}}).Is(http.StatusBadRequest).Has("Nothing was deleted")
	s.SignedIn(s.Keys.ReadOnly).Post(s.Path("delete"), url.Values{"name": {"backups"}}).Is(http.StatusForbidden)
	if _, err := s.Mon.Projects().ByID(t.Context(), s.Project.ID); err != nil {
		t.Fatal(err)
	}
	b.Post(s.Path("delete"), url.Values{"name": {" backups "}}).Is(http.StatusSeeOther)
	if _, err := s.Mon.Projects().ByID(t.Context(), s.Project.ID); !errors.Is(err, checks.ErrNotFound) {
		t.Errorf("the project: %v", err)
	}
	b.Get("/").Is(http.StatusSeeOther)
}
