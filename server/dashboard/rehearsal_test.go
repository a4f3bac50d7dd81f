package dashboard_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/pings"
)

// TestRehearsal shows for one check and for all who would be notified, and when.
func TestRehearsal(t *testing.T) {
	s := newSite(t)
	s.browser().get(s.path("rehearsal")).is(http.StatusSeeOther)
	editor, reader := s.signedIn(s.keys.ReadWrite), s.signedIn(s.keys.ReadOnly)
	editor.get(s.path("rehearsal")).is(http.StatusOK).has("No checks yet")
	p := s.mon.Project(s.project.ID)
	for name, settings := range map[string]map[string]string{
		"Ops<b>": {"to": "ops@example.org"}, "Recovery": {"to": "log@example.org", "notify": "up"},
	} {
		if _, err := p.CreateChannel(t.Context(), channels.Channel{Kind: channels.Email, Name: name, Settings: settings}); err != nil {
			t.Fatal(err)
		}
	}
	backup := s.create(checks.Spec{Name: new("backup"), Schedule: new("0 3 * * *"), TZ: new("Europe/Riga"), Grace: new(20 * time.Minute),
		QuietHours: new("22:00-06:00"), AlertAfter: new(2), Channels: new("*")})
	alone := s.create(checks.Spec{Name: new("alone")})
	s.create(checks.Spec{Name: new("waiting"), Channels: new("Ops<b>")})
	quietly := s.create(checks.Spec{Name: new("quietly"), Channels: new("Recovery")})
	for _, c := range []checks.Check{backup, alone, quietly} {
		s.report(c, pings.Signal{})
	}
	for _, b := range []*browser{editor, reader} {
		b.in("America/New_York").get("/checks/"+backup.UniqueKey()).is(http.StatusOK).has("Who would be notified",
			"If it does not report, Ops&lt;b&gt; is notified tomorrow 23:00, 1 day 2 h after it goes down.",
			"Quiet hours hold the alert until tomorrow 23:00.", "<details class=\"steps\"><summary>", "sends recovery alerts only", "no alert yet", s.path("rehearsal"))
	}
	editor.get("/checks/"+backup.UniqueKey()+"?rehearse=failure").has("If it fails now, Ops&lt;b&gt; is notified", "The job reports a failure.", "<details class=\"steps\" open>")
	editor.get("/checks/" + alone.UniqueKey()).has("If it does not report, no one is notified: no integrations.")
	page := editor.get(s.path("rehearsal")).is(http.StatusOK).has("If every job missed its next run", "<b class=\"down\">2 checks</b> would notify no one",
		" and <b class=\"\">1 check</b> would notify someone later", "Recovery sends recovery alerts only", "Choose integrations of alone", "after the first ping: ", "2 failures in a row, quiet hours",
		"Integrations <span class=\"soft\">2</span>")
	well(t, page.body)
	editor.get(s.path("rehearsal?rehearse=failure")).is(http.StatusOK).has("If every job failed now")
	reader.get(s.path("rehearsal")).is(http.StatusOK).hasNo("Choose integrations", backup.ID.String())
}
