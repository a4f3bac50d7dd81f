package integrations_test

import (
	"html"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/channels/standard"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/pings"
	"github.com/rollcall-dev/rollcall/server/dashboard/accounts"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/pagetest"
	"github.com/rollcall-dev/rollcall/server/people"
)

// TestHistory lists what happened in a project, and filters it. Pages together hold each entry once. Without an audit log, the
// changes are those that the database knows.
func TestHistory(t *testing.T) {
	t.Run("audited", func(t *testing.T) { testHistory(t, pagetest.New(t), 1) })
	t.Run("not audited", func(t *testing.T) {
		s := pagetest.New(t)
		mon, err := monitor.New(s.DB, &monitor.Config{Now: s.Now, Channels: standard.Kinds(), DeliveredElsewhere: true})
		if err != nil {
			t.Fatal(err)
		}
		s.Mon = mon
		s.Serve()
		b := s.SignedIn(s.Keys.ReadOnly)
		b.Get(s.Path("history")).Is(http.StatusOK).Has("Nothing yet")
		testHistory(t, s, 0)
	})
}

// testHistory tests a history that has some entries of the project itself.
func testHistory(t *testing.T, s *pagetest.Site, own int) {
	s.Browser().Get(s.Path("history")).Is(http.StatusSeeOther)
	b := s.SignedIn(s.Keys.ReadOnly)
	p := s.Mon.Project(s.Project.ID)
	ops, err := p.CreateChannel(t.Context(), channels.Channel{Kind: channels.Email, Name: "ops<b>", Settings: map[string]string{"to": "ops@example.org"}})
	if err != nil {
		t.Fatal(err)
	}
	s.Advance(time.Minute)
	backup := s.Create(checks.Spec{Name: new("backup"), Channels: new("*")})
	export := s.Create(checks.Spec{Name: new("export")})
	flaps := 0
	for range 40 { // both at one instant
		for _, kind := range []pings.Kind{pings.Failure, pings.Success} {
			s.Advance(time.Hour)
			flaps++
			s.Ping(backup, pings.Signal{Kind: kind})
			s.Ping(export, pings.Signal{Kind: kind})
		}
	}
	s.Advance(time.Hour)
	if _, err := p.Pause(t.Context(), export.ID); err != nil {
		t.Fatal(err)
	}
	page := b.Get(s.Path("history")).Is(http.StatusOK).Has(">export</a> was paused", ">backup</a> is up again", "the job reported success", "ops&lt;b&gt;", "Alert: ")
	entry := regexp.MustCompile(`<tr><td class="keep when">`)
	older := regexp.MustCompile(`href="(\?[^"]*)" rel="next"`)
	entries := 0
	for pages := 1; ; pages++ {
		entries += len(entry.FindAllString(page.Body, -1))
		link := older.FindStringSubmatch(page.Body)
		if link == nil {
			break
		}
		if pages > 20 {
			t.Fatal("the pages do not end")
		}
		page = b.Get(s.Path("history") + html.UnescapeString(link[1])).Is(http.StatusOK)
	}
	page.Has(">backup</a> was created", "ops&lt;b&gt;</span> was created")
	if want := 2*flaps + flaps + 1 + 3 + own; entries != want { // flips, alerts, the pause, and what was created
		t.Errorf("%d entries, want %d", entries, want)
	}
	b.Get(s.Path("history?check=export")).Has("export").HasNo(">backup</a>", "Alert: ")
	b.Get(s.Path("history?integration="+ops.ID.String())).Has("Alert: ").HasNo("went down", ">export</a>")
	b.Get(s.Path("history?kind=changes")).Has("was created").HasNo("went down", "Alert: ")
	if page := b.Get(s.Path("history?kind=status")); strings.Contains(page.Body, "Alert: ") {
		t.Error("a filter by status changes shows alerts")
	}
	b.Get(s.Path("history?check=nothing")).Has("No check matches")
	b.Get(s.Path("history?before=x&kind=y")).Is(http.StatusOK)
	b.Get(s.Path("history?integration=x")).Is(http.StatusNotFound)
}

// TestHistoryOfRights: only owners see in the history which keys exist and who has accounts. Others get as many entries a page.
func TestHistoryOfRights(t *testing.T) {
	v := pagetest.New(t).Town(accounts.Config{KeySignIn: true})
	v.Create(checks.Spec{Name: new("Nightly backup")})
	v.Advance(time.Minute)
	for range 60 { // more than a page
		v.Key(checks.ReadWrite)
	}
	for _, role := range []people.Role{people.Owner, people.Editor, people.Viewer} {
		v.Person(string(role)+"@example.org", role)
	}
	pagetest.NoError(t, v.People.SetRole(t.Context(), v.Person("promoted@example.org", people.Viewer).ID, v.Project.ID, people.Editor))
	for name, b := range map[string]*pagetest.Browser{
		"viewer": v.As("viewer@example.org"), "editor": v.As("editor@example.org"),
		"read-only key": v.SignedIn(v.Keys.ReadOnly), "read-ids key": v.SignedIn(v.Key(checks.ReadIDs)), "read-write key": v.SignedIn(v.Keys.ReadWrite),
	} {
		page := b.Get(v.Path("history?kind=changes")).Is(http.StatusOK).Has("Nightly backup")
		for _, word := range []string{"API key", "Account", "rcr_", "rci_", "rcw_", "promoted@"} {
			if strings.Contains(page.Body, word) {
				t.Errorf("%s: the history has %q", name, word)
			}
		}
	}
	for _, b := range []*pagetest.Browser{v.As("owner@example.org"), v.SignedIn(v.Key(checks.Admin))} {
		b.Get(v.Path("history?kind=changes")).Is(http.StatusOK).Has("API key", "rcw_", "promoted@", "got another role")
	}
}
