package dashboard_test

import (
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/pings"
	"github.com/rollcall-dev/rollcall/server"
	"github.com/rollcall-dev/rollcall/server/dashboard"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/pagetest"
)

// Whoever is signed in acknowledges by the link of an alert in their own name, whatever the form says. Other sites and people of other
// projects do not have that name.
func TestAcknowledgeLinkSignedIn(t *testing.T) {
	s := pagetest.New(t)
	web, err := server.New(s.Mon, &server.Config{BaseURL: s.Web.URL, Dashboard: &dashboard.Config{}, Authorize: func(r *http.Request) (server.Access, error) {
		if r.Header.Get("As") == "" {
			return server.Access{}, server.ErrSignedOut
		}
		project, err := uuid.Parse(r.Header.Get("In"))
		return server.Access{Name: r.Header.Get("As"), Projects: []server.ProjectAccess{{ProjectID: project, Right: checks.Read}}}, err
	}})
	pagetest.NoError(t, err)
	t.Cleanup(web.Pages().(*dashboard.Dashboard).Close)
	s.Web.Config.Handler = web
	c := s.Create(checks.Spec{Name: new("backup")})
	s.Ping(c, pings.Signal{Kind: pings.Failure})
	link := web.AcknowledgeURL(t.Context(), s.Check(c))
	const by = "anna@example.org"
	b := s.Browser()
	b.Header.Set("As", by)
	b.Header.Set("In", s.Project.ID.String())
	b.Get(link).Is(http.StatusOK).Has("You are signed in as "+by, ": the job reported a failure.", "/checks/"+c.UniqueKey()+`">Open the check</a>`).HasNo("Your name")
	b.Post(link, url.Values{"name": {"Mallory"}}).Is(http.StatusOK).Has("You have it.", "Open the check")
	if a := s.Check(c).Ack; a.By != by {
		t.Errorf("acknowledged by %q, not by %q", a.By, by)
	}
	b.Get(link).Has("You have had it since", "Save")
	b.Header.Set("Sec-Fetch-Site", "cross-site")
	b.Post(link, url.Values{"take_over": {"1"}}).Is(http.StatusUnprocessableEntity).Has("Say who you are.")
	other := s.Browser()
	other.Header.Set("As", "eve@example.org")
	other.Header.Set("In", uuid.NewString())
	other.Get(link).Has("Your name", " has had it since", "Take it over").HasNo("You are signed in", "Open the check")
}

// Who may only read sees that an outage is acknowledged, and not by whom.
func TestWhoAcknowledgedIsForEditors(t *testing.T) {
	s, _ := pagetest.WithReceiver(t)
	hook := s.Channel(channels.Webhook, "hook", map[string]string{"url_down": "http://127.0.0.1/"})
	c := s.Create(checks.Spec{Name: new("backup"), RepeatEvery: new(time.Hour), Channels: new(hook.ID.String())})
	s.Ping(c, pings.Signal{Kind: pings.Failure})
	s.Tick()
	_, err := s.Mon.Project(s.Project.ID).Acknowledge(t.Context(), c.ID, checks.AckSpec{By: "anna@example.org", Note: "disk full"})
	pagetest.NoError(t, err)
	s.Advance(time.Hour)
	s.Tick() // the reminder is dropped
	viewer, editor := s.SignedIn(s.Keys.ReadOnly), s.SignedIn(s.Keys.ReadWrite)
	for _, page := range []string{"", "overview", "board", "deliveries", "history", "integrations"} {
		viewer.Get(s.Path(page)).Is(http.StatusOK).HasNo("anna@example.org")
	}
	viewer.Get("/checks/"+c.UniqueKey()).Is(http.StatusOK).Has("by somebody", "disk full").HasNo("anna@example.org")
	editor.Get("/checks/" + c.UniqueKey()).Is(http.StatusOK).Has("by anna@example.org")
	editor.Get(s.Path("overview")).Has("acknowledged by anna@example.org")
}
