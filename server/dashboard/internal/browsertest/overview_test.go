package browsertest_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"

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

// TestBadNight is a night in which 100 jobs failed alike. On a phone the overview is one screen, and one button takes all on. What is
// unfolded stays so while the page follows. In the list, Enter in the field for a tag acknowledges nothing.
func TestBadNight(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	list := s.badNight(t, 100)
	page := s.browser(s.keys.ReadWrite)
	page.Resize(phone)
	page.Go(s.path("overview"))
	page.WaitText(".happened button", "I have all 100")
	page.Fits()
	page.Targets()
	if n := browsertest.Eval[float64](page, "document.querySelector('.happened').getBoundingClientRect().bottom / innerHeight"); n > 1 {
		t.Errorf("100 equal failures take %.2f screens", n)
	}
	if n := browsertest.Eval[float64](page, "document.documentElement.scrollHeight / innerHeight"); n > 2 {
		t.Errorf("the overview takes %.2f screens", n)
	}
	if n := page.Count("details.steps li"); n != 100 {
		t.Errorf("%d checks are folded", n)
	}
	stay(page)
	page.Click("details.steps summary")
	_, err := s.mon.Project(s.project.ID).Acknowledge(t.Context(), list[0], checks.AckSpec{By: "Anna"})
	s.must(err)
	page.WaitText(".happened button", "I have all 99")
	if !browsertest.Eval[bool](page, "document.querySelector('details.steps').open") {
		t.Error("the group was folded while the page followed")
	}
	page.Submit(".happened button")
	page.WaitText(".notice", "Acknowledged: you have 99 checks.")
	page.WaitText(".owner", "acknowledged by the API key")
	if n := page.Count("form.have"); n != 0 {
		t.Errorf("%d buttons are left", n)
	}
	page.Submit(".notice button")
	page.WaitText(".notice", "Undone for 99 checks.")

	// The list has them in one row too. What a search selects of it counts when the row is whole again.
	page.Go(s.path(""))
	page.WaitText("#rows tr:first-child .name", "100 checks fail the same way")
	if n := page.Count("#rows tr"); n != 1 {
		t.Errorf("100 equal failures take %d rows", n)
	}
	page.Fits()
	page.Targets()
	page.Type("#filter input[type=search]", "backup-00")
	page.WaitText("#rows tr:first-child .name", "10 checks fail the same way")
	page.Click("#rows tr:first-child input")
	page.WaitText("#picked", "10 selected")
	page.Type("#filter input[type=search]", "backup-0")
	page.WaitText("#rows tr:first-child .name", "100 checks fail the same way")
	if !browsertest.Eval[bool](page, "document.querySelector('#rows input').indeterminate") {
		t.Error("a group of which some are selected looks as if none were")
	}
	page.Type("#bulkbar input[name=tag]", "harbor")
	page.Leave(func() { page.Press("\r") })
	page.WaitText(".notice", "Tagged 10 checks.")
	page.Go(s.path(""))
	page.Submit("#rows tr:first-child .btn")
	page.WaitText(".notice", "Acknowledged: you have 99 checks.")
	page.Submit(".notice button")
	page.WaitText(".notice", "Undone for 99 checks.")
	page.Submit("#rows tr:first-child .next a")
	page.WaitText(".tagbar", "fail the same way")
	if n := page.Count("#rows tr"); n != 80 {
		t.Errorf("the first page of the group has %d rows", n)
	}
	page.Click("#allmatches")
	page.Submit("#bulkbar button[value=acknowledge]:not([hidden])")
	page.WaitText(".notice", "Acknowledged: you have 99 checks. Anna has 1.")
}

// badNight creates jobs that fail alike.
func (s *site) badNight(t *testing.T, n int) (ids []uuid.UUID) {
	t.Helper()
	for i := range n {
		c := s.create(checks.Spec{Name: new(fmt.Sprintf("backup-%03d-of-the-harbor", i)), Timeout: new(24 * time.Hour)})
		_, err := s.mon.Ping(t.Context(), c.ID, pings.Signal{Kind: pings.Failure, ExitStatus: new(2), Body: []byte(fmt.Sprintf("tar: /backup/%d: No space left on device\n", i))})
		s.must(err)
		s.advance(time.Second)
		ids = append(ids, c.ID)
	}
	return ids
}
