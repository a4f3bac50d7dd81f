package browsertest_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/pings"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/browsertest"
)

// row selects a check in the list, and state the cell with its state.
func row(c checks.Check) string   { return "#c-" + c.UniqueKey() }
func state(c checks.Check) string { return row(c) + " .state" }

// stay marks the document, so that stayed can tell a reload.
func stay(page *browsertest.Page) { browsertest.Eval[any](page, "window.stayed = true") }

func stayed(t *testing.T, page *browsertest.Page) {
	t.Helper()
	if !browsertest.Eval[bool](page, "window.stayed === true") {
		t.Error("the page was loaded again")
	}
}

// TestLive makes a check and watches it live through its states, without a reload.
func TestLive(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	page := s.browser(s.keys.ReadWrite)
	page.WaitText("main", "No checks yet")
	stay(page)
	maker := s.browser(s.keys.ReadWrite)
	maker.Submit("a[href$='/checks/new']")
	maker.Type("#name", "nightly-backup")
	maker.Submit(".actions .primary")
	page.WaitText("#rows", "nightly-backup")
	list, err := checks.Stored(s.mon.Project(s.project.ID).Checks(t.Context(), checks.Query{}))
	s.must(err)
	c := list[0]
	page.WaitText(state(c), "new")

	answer, err := http.Post(s.url+"/ping/"+c.ID.String(), "text/plain", nil)
	s.must(err)
	answer.Body.Close()
	page.WaitText(state(c), "up")
	s.clock.Advance(c.Timeout)
	page.WaitText(state(c), "late")
	s.clock.Advance(c.Grace)
	page.WaitText(state(c), "down")
	page.Wait("document.title.startsWith('1 down')")
	page.Wait("document.querySelector('link[rel=icon]').href.includes('down')")
	s.ping(c.ID, pings.Success)
	page.WaitText(state(c), "up")
	page.Wait("!document.title.includes('down')")
	stayed(t, page)
}

// TestTwoBrowsers changes a check in one browser while another looks on.
func TestTwoBrowsers(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	c := s.create(checks.Spec{Name: new("orders-export")})
	other := s.create(checks.Spec{Name: new("sitemap")})
	editor, viewer := s.browser(s.keys.ReadWrite), s.browser(s.keys.ReadOnly)
	viewer.WaitText(state(c), "new")
	stay(viewer)
	editor.Click(row(c) + " input[type=checkbox]")
	editor.Submit("button[value=pause]")
	viewer.WaitText(state(c), "paused")
	editor.WaitText(state(c), "paused")
	if _, err := s.mon.Project(other.ProjectID).Update(t.Context(), other.ID, checks.Spec{Name: new("sitemap-2")}); err != nil {
		t.Fatal(err)
	}
	for _, page := range []*browsertest.Page{editor, viewer} {
		page.WaitText("#rows", "sitemap-2")
	}
	stayed(t, viewer)
}

// TestRestart stops the server under an open page and starts it again. The page says so, and recovers by itself.
func TestRestart(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	c := s.create(checks.Spec{Name: new("sitemap"), Timeout: new(time.Hour), Grace: new(time.Hour)})
	s.ping(c.ID, pings.Success)
	page := s.browser(s.keys.ReadWrite)
	page.Tolerate("net::ERR_") // the server is away
	page.WaitText(state(c), "up")
	stay(page)
	s.stop()
	page.WaitText("#offline", "Connection lost")
	s.clock.Advance(24 * time.Hour)
	s.start()
	page.WaitText(state(c), "down")
	page.Wait("document.querySelector('#offline').hidden")
	s.ping(c.ID, pings.Success)
	page.WaitText(state(c), "up")
	stayed(t, page)
}
