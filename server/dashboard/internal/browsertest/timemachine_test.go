package browsertest_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/pings"
)

// TestTimeMachine goes back on the board to a night in which two jobs failed, and opens the output of one with a click on its
// mark: with and without JavaScript.
func TestTimeMachine(t *testing.T) {
	t.Parallel()
	for name, script := range map[string]bool{"with JavaScript": true, "without JavaScript": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			day := checks.Spec{Name: new("backup"), Timeout: new(24 * time.Hour), Grace: new(time.Hour)}
			backup := s.create(day)
			day.Name = new("export")
			export := s.create(day)
			s.advance(14 * time.Hour) // 02:00 on Monday
			s.ping(backup.ID, pings.Failure, "pg_dump: error: No space left on device")
			s.advance(5 * time.Minute)
			s.ping(export.ID, pings.Failure, "disk full")
			s.advance(22 * time.Hour)
			s.ping(backup.ID, pings.Success)
			s.ping(export.ID, pings.Success)
			s.advance(50 * time.Hour)

			page := s.browserOf(t, s.keys.ReadOnly)
			if !script {
				page.NoScript()
			}
			page.Go(s.path("board"))
			for range 3 {
				page.Submit(".when [rel=prev]") // a day back
			}
			page.WaitText(".zone", "Mon 23 Nov 02:05, UTC")
			page.WaitText(".lead", "2 runs failed between Sun 22 Nov 02:05 and Tue 24 Nov 02:05.")
			page.Submit(".head a[href*='span=6h']")
			if script {
				page.Axe()
				page.Dark(true)
				page.Axe()
			}
			page.Fits()
			page.Submit(fmt.Sprintf("#l-%s .failed a", backup.UniqueKey()))
			page.WaitText("pre.terminal", "pg_dump: error: No space left on device")
			page.Submit("a[href*='/failures?']")
			page.WaitText("main", "export 5 min later 02:05:00 disk full")
			page.Submit("a[href*='/board?']")
			page.WaitText(".zone", "Mon 23 Nov 02:00, UTC")
			page.Submit(".when a[href='?span=6h']")
			page.WaitText(".lead", "in the last 6 hours.")
		})
	}
}
