package browsertest_test

import (
	"testing"
	"time"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/pings"
)

// TestRehearsal goes from the integrations to the check that reaches no one, gives it one, and sees who would be notified:
// with and without JavaScript.
func TestRehearsal(t *testing.T) {
	t.Parallel()
	for name, script := range map[string]bool{"with JavaScript": true, "without JavaScript": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			_, err := s.mon.Project(s.project.ID).CreateChannel(t.Context(), channels.Channel{Kind: channels.Email, Name: "ops", Settings: map[string]string{"to": "ops@example.org"}})
			s.must(err)
			c := s.create(checks.Spec{Name: new("backup"), Timeout: new(time.Hour), Grace: new(10 * time.Minute), QuietHours: new("13:00-15:00")})
			s.ping(c.ID, pings.Success)
			page := s.browserOf(t, s.keys.ReadWrite)
			if !script {
				page.NoScript()
			}
			page.Go(s.path("integrations"))
			page.Submit("a[href$='/rehearsal']")
			page.WaitText(".lead", "1 check would notify no one")
			page.Submit(".rehearsed .act a")
			page.Click("#channels input[type=checkbox]")
			page.Submit("main form.form .primary")
			page.WaitText(".told", "If it does not report, ops is notified at 15:00, 1 h 50 min after it goes down.")
			page.Click("#rehearsal summary")
			page.WaitText("#rehearsal", "Quiet hours hold the alert until 15:00.")
			page.Submit("#rehearsal a[href*='rehearse=failure']")
			page.WaitText(".told", "If it fails now, ops is notified at 12:00.")
			page.Submit("#rehearsal .after a")
			page.WaitText(".lead", "1 check would notify someone later")
			if script {
				page.Axe()
				page.Dark(true)
				page.Axe()
			}
			page.Fits()
		})
	}
}
