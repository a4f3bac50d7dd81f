package check_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/gate"
	"github.com/rollcall-dev/rollcall/pings"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/pagetest"
)

// TestRehearsal shows for one check and for all who would be notified, and when.
func TestRehearsal(t *testing.T) {
	s := pagetest.New(t)
	s.Browser().Get(s.Path("rehearsal")).Is(http.StatusSeeOther)
	editor, reader := s.SignedIn(s.Keys.ReadWrite), s.SignedIn(s.Keys.ReadOnly)
	editor.Get(s.Path("rehearsal")).Is(http.StatusOK).Has("No checks yet")
	p := s.Mon.Project(s.Project.ID)
	for name, settings := range map[string]map[string]string{
		"Ops<b>": {"to": "ops@example.org"}, "Recovery": {"to": "log@example.org", "notify": "up"},
	} {
		if _, err := p.CreateChannel(t.Context(), channels.Channel{Kind: channels.Email, Name: name, Settings: settings}); err != nil {
			t.Fatal(err)
		}
	}
	backup := s.Create(checks.Spec{Name: new("backup"), Schedule: new("0 3 * * *"), TZ: new("Europe/Riga"), Grace: new(20 * time.Minute),
		QuietHours: new("22:00-06:00"), AlertAfter: new(2), Channels: new("*")})
	alone := s.Create(checks.Spec{Name: new("alone")})
	s.Create(checks.Spec{Name: new("waiting"), Channels: new("Ops<b>")})
	quietly := s.Create(checks.Spec{Name: new("quietly"), Channels: new("Recovery")})
	for _, c := range []checks.Check{backup, alone, quietly} {
		s.Ping(c, pings.Signal{})
	}
	for _, b := range []*pagetest.Browser{editor, reader} {
		b.In("America/New_York").Get("/checks/"+backup.UniqueKey()).Is(http.StatusOK).Has("Who would be notified",
			"If it does not report, Ops&lt;b&gt; is notified tomorrow 23:00, 1 day 2 h after it goes down.",
			"Quiet hours hold the alert until tomorrow 23:00.", "<details class=\"steps\"><summary>", "sends recovery alerts only", "no alert yet", s.Path("rehearsal"))
	}
	editor.Get("/checks/"+backup.UniqueKey()+"?rehearse=failure").Has("If it fails now, Ops&lt;b&gt; is notified", "The job reports a failure.", "<details class=\"steps\" open>")
	editor.Get("/checks/"+alone.UniqueKey()).Has("If it does not report, no one is notified: no integrations.", `/edit#channels">Choose integrations</a>`)
	page := editor.Get(s.Path("rehearsal")).Is(http.StatusOK).Has("If every job missed its next run", "<b class=\"down\">2 checks</b> would notify no one",
		" and <b class=\"\">1 check</b> would notify someone later", "Recovery sends recovery alerts only", "Choose integrations of alone", "after the first ping: ", "2 failures in a row, quiet hours",
		"Integrations <span class=\"soft\">2</span>")
	pagetest.WellFormed(t, page.Body)
	editor.Get(s.Path("rehearsal?rehearse=failure")).Is(http.StatusOK).Has("If every job failed now")
	reader.Get(s.Path("rehearsal")).Is(http.StatusOK).HasNo("Choose integrations", backup.ID.String())
	if _, err := p.AddWindow(t.Context(), gate.Window{Kind: gate.Maintenance, Duration: 96 * time.Hour}); err != nil {
		t.Fatal(err)
	}
	editor.Get(s.Path("rehearsal")).Is(http.StatusOK).Has("2 failures in a row, quiet hours, maintenance")
}
