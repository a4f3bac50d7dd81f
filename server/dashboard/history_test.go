package dashboard_test

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
	"github.com/rollcall-dev/rollcall/checks/people"
	"github.com/rollcall-dev/rollcall/pings"
	"github.com/rollcall-dev/rollcall/server/dashboard/accounts"
)

// TestHistory lists what happened in a project, and filters it. Pages together hold each entry once. Without an audit log, the
// changes are those that the database knows.
func TestHistory(t *testing.T) {
	t.Run("audited", func(t *testing.T) { testHistory(t, newSite(t), 1) })
	t.Run("not audited", func(t *testing.T) {
		s := newSite(t)
		mon, err := monitor.New(s.db, &monitor.Config{Now: s.now, Channels: standard.Kinds(), DeliveredElsewhere: true})
		if err != nil {
			t.Fatal(err)
		}
		s.mon = mon
		s.web.Config.Handler = s.newPages()
		b := s.signedIn(s.keys.ReadOnly)
		b.get(s.path("history")).is(http.StatusOK).has("Nothing yet")
		testHistory(t, s, 0)
	})
}

// testHistory tests a history that has some entries of the project itself.
func testHistory(t *testing.T, s *site, own int) {
	s.browser().get(s.path("history")).is(http.StatusSeeOther)
	b := s.signedIn(s.keys.ReadOnly)
	p := s.mon.Project(s.project.ID)
	ops, err := p.CreateChannel(t.Context(), channels.Channel{Kind: channels.Email, Name: "ops<b>", Settings: map[string]string{"to": "ops@example.org"}})
	if err != nil {
		t.Fatal(err)
	}
	s.advance(time.Minute)
	backup := s.create(checks.Spec{Name: new("backup"), Channels: new("*")})
	export := s.create(checks.Spec{Name: new("export")})
	flaps := 0
	for range 40 { // both at one instant
		for _, kind := range []pings.Kind{pings.Failure, pings.Success} {
			s.advance(time.Hour)
			flaps++
			s.report(backup, pings.Signal{Kind: kind})
			s.report(export, pings.Signal{Kind: kind})
		}
	}
	s.advance(time.Hour)
	if _, err := p.Pause(t.Context(), export.ID); err != nil {
		t.Fatal(err)
	}
	page := b.get(s.path("history")).is(http.StatusOK).has(">export</a> was paused", ">backup</a> is up again", "the job reported success", "ops&lt;b&gt;", "Alert: ")
	entry := regexp.MustCompile(`<tr><td class="keep when">`)
	older := regexp.MustCompile(`href="(\?[^"]*)" rel="next"`)
	entries := 0
	for pages := 1; ; pages++ {
		entries += len(entry.FindAllString(page.body, -1))
		link := older.FindStringSubmatch(page.body)
		if link == nil {
			break
		}
		if pages > 20 {
			t.Fatal("the pages do not end")
		}
		page = b.get(s.path("history") + html.UnescapeString(link[1])).is(http.StatusOK)
	}
	page.has(">backup</a> was created", "ops&lt;b&gt;</span> was created")
	if want := 2*flaps + flaps + 1 + 3 + own; entries != want { // flips, alerts, the pause, and what was created
		t.Errorf("%d entries, want %d", entries, want)
	}
	b.get(s.path("history?check=export")).has("export").hasNo(">backup</a>", "Alert: ")
	b.get(s.path("history?integration="+ops.ID.String())).has("Alert: ").hasNo("went down", ">export</a>")
	b.get(s.path("history?kind=changes")).has("was created").hasNo("went down", "Alert: ")
	if page := b.get(s.path("history?kind=status")); strings.Contains(page.body, "Alert: ") {
		t.Error("a filter by status changes shows alerts")
	}
	b.get(s.path("history?check=nothing")).has("No check matches")
	b.get(s.path("history?before=x&kind=y")).is(http.StatusOK)
	b.get(s.path("history?integration=x")).is(http.StatusNotFound)
}

// TestAuditPages: the history of a project and the page of a check say who changed what. Viewers see neither values nor names,
// and only owners see addresses.
func TestAuditPages(t *testing.T) {
	s := newSite(t)
	key := s.key(checks.Admin)
	b := s.signedIn(key)
	c := s.create(checks.Spec{Name: new("Nightly backup"), Desc: new("<i>old</i>")})
	s.advance(time.Minute)
	edit := "/checks/" + c.UniqueKey() + "/"
	b.post(edit+"pause", nil).is(http.StatusSeeOther)
	s.advance(time.Minute)
	b.post(edit+"resume", nil).is(http.StatusSeeOther)
	if _, err := s.mon.Project(s.project.ID).Update(t.Context(), c.ID, checks.Spec{Desc: new("new\u202e"), Grace: new(2 * time.Hour)}); err != nil {
		t.Fatal(err)
	}
	hint := key[:8]
	for _, path := range []string{s.path("history?kind=changes"), s.path("history"), "/checks/" + c.UniqueKey()} {
		page := b.get(path).is(http.StatusOK)
		page.has("was created", "by an embedding program", "was paused", "was resumed", "by the API key "+hint+"… from 127.0.0.1",
			"&lt;i&gt;old&lt;/i&gt;</del> → <ins>new</ins>", "<del>1h</del> → <ins>2h</ins>")
		if n := strings.Count(page.body, "was paused"); n != 1 {
			t.Errorf("%s names the pause %d times", path, n)
		}
		s.signedIn(s.keys.ReadOnly).get(path).is(http.StatusOK).has("was changed", "was paused").hasNo(hint, "by an embedding program", "→", "127.0.0.1", "&lt;i&gt;")
	}
}

// TestHistoryOfRights: only owners see in the history which keys exist and who has accounts. Others get as many entries a page.
func TestHistoryOfRights(t *testing.T) {
	v, _ := configured(t, newSite(t), accounts.Config{KeySignIn: true})
	v.create(checks.Spec{Name: new("Nightly backup")})
	v.advance(time.Minute)
	for range 60 { // more than a page
		v.key(checks.ReadWrite)
	}
	for _, role := range []people.Role{people.Owner, people.Editor, people.Viewer} {
		v.person(string(role)+"@example.org", role)
	}
	noError(t, v.people.SetRole(t.Context(), v.person("promoted@example.org", people.Viewer).ID, v.project.ID, people.Editor))
	for name, b := range map[string]*browser{
		"viewer": v.as("viewer@example.org"), "editor": v.as("editor@example.org"),
		"read-only key": v.signedIn(v.keys.ReadOnly), "read-ids key": v.signedIn(v.key(checks.ReadIDs)), "read-write key": v.signedIn(v.keys.ReadWrite),
	} {
		page := b.get(v.path("history?kind=changes")).is(http.StatusOK).has("Nightly backup")
		for _, word := range []string{"API key", "Account", "rcr_", "rci_", "rcw_", "promoted@"} {
			if strings.Contains(page.body, word) {
				t.Errorf("%s: the history has %q", name, word)
			}
		}
	}
	for _, b := range []*browser{v.as("owner@example.org"), v.signedIn(v.key(checks.Admin))} {
		b.get(v.path("history?kind=changes")).is(http.StatusOK).has("API key", "rcw_", "promoted@", "got another role")
	}
}
