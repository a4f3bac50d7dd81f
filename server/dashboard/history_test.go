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
	"github.com/rollcall-dev/rollcall/pings"
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
	b := s.signedIn(s.keys.ReadWrite)
	c := s.create(checks.Spec{Name: new("Nightly backup"), Desc: new("<i>old</i>")})
	s.advance(time.Minute)
	edit := "/checks/" + c.UniqueKey() + "/"
	b.post(edit+"pause", nil).is(http.StatusSeeOther)
	s.advance(time.Minute)
	b.post(edit+"resume", nil).is(http.StatusSeeOther)
	if _, err := s.mon.Project(s.project.ID).Update(t.Context(), c.ID, checks.Spec{Desc: new("new\u202e"), Grace: new(2 * time.Hour)}); err != nil {
		t.Fatal(err)
	}
	hint := s.keys.ReadWrite[:8]
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
