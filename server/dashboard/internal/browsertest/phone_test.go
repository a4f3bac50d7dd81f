package browsertest_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/pings"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/browsertest"
)

// phone is what a page has of a phone of 375 by 812 pixels.
var phone = browsertest.Size{Width: 375, Height: 812}

// TestPhone is a night on call: what is down says since when and why, its page shows the verdict and the failing output at once,
// and 200 checks fit few screens.
func TestPhone(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	c := s.create(checks.Spec{Name: new("nightly-backup-of-the-ledger"), Tags: []string{"prod", "db"}, Schedule: new("0 3 * * *"), TZ: new("Europe/Riga"),
		Desc: new("Copies the ledger to the second site."), Grace: new(90 * time.Minute), Channels: new("")})
	for i := range 199 {
		other := s.create(checks.Spec{Name: new(fmt.Sprintf("job-%03d-of-the-harbor", i)), Timeout: new(24 * time.Hour), Channels: new("")})
		s.ping(other.ID, pings.Success)
	}
	s.ping(c.ID, pings.Success, "done")
	s.advance(time.Minute)
	output := strings.Repeat("copied another volume\n", 20) + "rsync: write failed: No space left on device (28)"
	_, err := s.mon.Ping(t.Context(), c.ID, pings.Signal{Kind: pings.Failure, ExitStatus: new(11), Body: []byte(output)})
	s.must(err)
	s.advance(3 * time.Hour)

	page := s.browser(s.keys.ReadWrite)
	page.Resize(phone)
	page.Go(s.path(""))
	for _, want := range []string{"down 3 h", "exit 11: ", "No space left on device", "next in "} {
		page.WaitText("#rows tr:first-child", want)
	}
	screens := func() float64 {
		return browsertest.Eval[float64](page, "document.documentElement.scrollHeight / innerHeight")
	}
	if n := screens(); n > 2 {
		t.Errorf("200 checks, with what is well folded, take %.1f screens", n)
	}
	page.Go(s.path("?all=1"))
	if n := page.Count("#rows tr"); n < 200 {
		t.Errorf("the list has %d rows", n)
	}
	if n := screens(); n > 7.5 {
		t.Errorf("200 checks take %.1f screens", n)
	}
	page.Click("#rows tr:first-child input")
	page.WaitText("#picked", "1 selected")
	if height := browsertest.Eval[int](page, "document.getElementById('bulkbar').offsetHeight"); height > 120 {
		t.Errorf("the bar for many checks is %d px high", height)
	}
	page.Fits()
	page.Submit("button[value=edit]")
	page.WaitText("h1", "Edit 1 check")
	s.ping(c.ID, pings.Log) // the address of this page is that of a form: it is not fetched again
	page.WaitText("h1", "Edit 1 check")
	page.Go("/checks/" + c.UniqueKey())
	for what, selector := range map[string]string{"headline": ".say", "cause": ".say .mono", "facts": ".told", "button": ".say .have .btn"} {
		if end := browsertest.Eval[int](page, "Math.round(document.querySelector("+browsertest.Quote(selector)+").getBoundingClientRect().bottom)"); end > int(phone.Height) {
			t.Errorf("the %s ends at %d, below the first screen", what, end)
		}
	}
	if height := browsertest.Eval[int](page, "document.querySelector('.say .have .btn').offsetHeight"); height < 44 {
		t.Errorf("the button is %d px high", height)
	}
	if page.Count("details.fold[open]") > 0 || page.Count("details.fold") == 0 {
		t.Error("the snippets of a check that was pinged are not folded")
	}

	// A run whose times are of another day in the zone of the check.
	s.advance(7 * time.Hour)
	s.ping(c.ID, pings.Start)
	s.advance(10 * time.Minute)
	s.ping(c.ID, pings.Success)
	page.Go("/checks/" + c.UniqueKey())
	page.WaitText("#log", "Riga)")
	page.Resize(browsertest.Narrow)
	page.Fits()
}
