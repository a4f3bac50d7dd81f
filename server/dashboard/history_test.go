package dashboard_test

import (
	"html"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/pings"
)

// TestHistory lists what happened in a project, and filters it. Pages together hold each entry once.
func TestHistory(t *testing.T) {
	s := newSite(t)
	s.browser().get(s.path("history")).is(http.StatusSeeOther)
	b := s.signedIn(s.keys.ReadOnly)
	b.get(s.path("history")).is(http.StatusOK).has("Nothing yet")
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
	if want := 2*flaps + flaps + 1 + 3; entries != want { // flips, alerts, the pause, and what was created
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
