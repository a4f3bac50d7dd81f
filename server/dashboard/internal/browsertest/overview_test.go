package browsertest_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/pings"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/browsertest"
)

// TestOverview goes from the first page to the failing output in one click, with and without JavaScript. With it, an open page
// follows.
func TestOverview(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	c := s.create(checks.Spec{Name: new("ledger"), Timeout: new(24 * time.Hour)})
	s.ping(c.ID, pings.Success)
	s.advance(time.Minute)
	s.ping(c.ID, pings.Failure, "exporting ledger", "tar: /backup: No space left on device")
	s.advance(time.Hour)
	for _, scripts := range []bool{false, true} {
		t.Run(fmt.Sprintf("scripts %v", scripts), func(t *testing.T) {
			page := s.browserOf(t, s.keys.ReadOnly)
			if !scripts {
				page.NoScript()
			}
			page.Go("/")
			page.WaitText("h1", "Overview")
			page.WaitText(".lead", "1 failed.")
			page.WaitText("#o-"+c.UniqueKey(), "down 1 h")
			page.Resize(browsertest.Narrow)
			page.Fits()
			page.Submit("p.why a")
			page.WaitText("main", "exporting ledger")
			if want := "/checks/" + c.UniqueKey() + "/pings/2"; page.Path() != want {
				t.Errorf("the click leads to %s, want %s", page.Path(), want)
			}
			if scripts {
				page.Go("/")
				stay(page)
				s.ping(c.ID, pings.Success)
				page.WaitText("#o-"+c.UniqueKey(), "failed, now up")
			}
		})
	}
}
