package browsertest_test

import (
	"fmt"
	"testing"

	"github.com/chromedp/chromedp/kb"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/pings"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/browsertest"
)

// TestSelection selects a range, searches for something else, and tags what is selected, by Enter. Undo takes it back.
func TestSelection(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	var list []checks.Check
	for i := range 5 {
		list = append(list, s.create(checks.Spec{Name: new(fmt.Sprintf("job-%d", i))}))
	}
	page := s.browser(s.keys.ReadWrite)
	page.Go(s.path(""))
	page.Click(row(list[1]) + " input")
	browsertest.Eval[any](page, fmt.Sprintf("document.querySelector('%s input').dispatchEvent(new MouseEvent('click', {bubbles: true, shiftKey: true})), 0", row(list[3])))
	page.WaitText("#picked", "3 selected")
	page.Type("input[type=search]", "job-3")
	page.WaitText("#picked", "3 selected, 2 not shown")
	page.Type("input[name=tag]", "nightly")
	page.Leave(func() { page.Press(kb.Enter) })
	page.WaitText(".notice", "Tagged 3 checks.")
	for i, c := range list {
		got, err := s.mon.Project(s.project.ID).Check(t.Context(), c.ID)
		s.must(err)
		if tagged := len(got.TagList()) == 1; tagged != (i >= 1 && i <= 3) || got.Status == checks.StatusPaused {
			t.Errorf("%s has the tags %q and is %s", c.Name, got.TagList(), got.Status)
		}
	}
	page.Submit(".notice button")
	page.WaitText(".notice", "Undone for 3 checks.")
}

// TestBulkWithoutScript tags by Enter, pauses all that match and undoes it, and deletes after a page that asks.
func TestBulkWithoutScript(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	c, other := s.create(checks.Spec{Name: new("backup")}), s.create(checks.Spec{Name: new("export")})
	page := s.browser(s.keys.ReadWrite)
	page.NoScript()
	page.Tolerate("status of 404")
	page.Click(row(c) + " input")
	page.Type("input[name=tag]", "nightly")
	page.Leave(func() { page.Press(kb.Enter) })
	page.WaitText(".notice", "Tagged 1 check.")
	page.Click("#allmatches")
	page.Submit("button[value=pause]")
	page.WaitText(".notice", "Paused 2 checks.")
	page.WaitText(state(other), "paused")
	page.Submit(".notice button")
	page.WaitText(state(other), "new")
	page.Click(row(other) + " input")
	page.Submit("button[value=delete]")
	page.WaitText("h1", "Delete 1 check?")
	page.WaitText(".names", "export")
	page.Submit(".actions .danger")
	page.WaitText(".notice", "Deleted 1 check.")
}

// TestDifference watches rows of an open list move, come and go. The server sends only these.
func TestDifference(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	var list []checks.Check
	for i := range 8 {
		list = append(list, s.create(checks.Spec{Name: new(fmt.Sprintf("job-%d", i))}))
	}
	page := s.browser(s.keys.ReadWrite)
	page.Go(s.path(""))
	stay(page)
	browsertest.Eval[any](page, fmt.Sprintf("document.querySelector('%s').kept = true", row(list[2])))
	page.Click(row(list[4]) + " input")
	s.ping(list[6].ID, pings.Failure, "disk full")
	page.WaitText("#rows tr:first-child", "job-6")
	page.WaitText("#rows tr:first-child .why", "disk full")
	_, err := s.mon.Project(s.project.ID).Delete(t.Context(), list[0].ID)
	s.must(err)
	s.create(checks.Spec{Name: new("job-3b")})
	page.WaitText("#rows .name", "job-6\njob-1\njob-2\njob-3\njob-3b\njob-4\njob-5\njob-7")
	page.Wait("!document.querySelector('#rows [data-after], #rows [data-same]')")
	page.WaitText("#picked", "1 selected")
	if !browsertest.Eval[bool](page, fmt.Sprintf("document.querySelector('%s').kept === true", row(list[2]))) {
		t.Error("a row that has not changed was made again")
	}
	stayed(t, page)
}
