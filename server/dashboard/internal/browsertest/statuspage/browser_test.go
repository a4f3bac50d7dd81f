package statuspage_test

import (
	"strings"
	"testing"
	"time"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/pings"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/browsertest"
)

// varied is a world with checks in all states, incidents of many days, and hostile names.
func varied(t *testing.T) *world {
	w := newWorld(t)
	w.clock.Advance(-20 * 24 * time.Hour)
	for _, name := range hostile {
		c := w.check(name)
		for range 3 {
			w.clock.Advance(26 * time.Hour)
			w.sweep()
			w.ping(c, pings.Success)
		}
	}
	w.clock.Set(noon)
	w.sweep()
	paused := w.check("Paused")
	_, err := w.Project(paused.ProjectID).Pause(t.Context(), paused.ID)
	w.must(err)
	w.ping(w.check("Up"), pings.Success)
	w.ping(w.check("Late"), pings.Success)
	w.clock.Advance(time.Hour)
	w.ping(w.check("Failed"), pings.Failure)
	w.check("New")
	w.page(checks.StatusPage{
		Slug: "acme", Title: strings.Repeat("Wide ", 20), Description: strings.Repeat("W", 500) + "\n\n" + hostile[0],
	})
	return w
}

func TestPageInBrowser(t *testing.T) {
	w := varied(t)
	page := browsertest.Open(t, w.url)
	page.Go("/jobs/status/acme")
	page.WaitText(".verdict", "services are down")
	for _, size := range []browsertest.Size{browsertest.Wide, browsertest.Narrow} {
		for _, dark := range []bool{false, true} {
			page.Resize(size)
			page.Dark(dark)
			page.Fits()
			page.Axe()
		}
	}
	if page.Count("script") != 1 || page.Count(".services img") != 0 || page.Count(".services b") != 0 {
		t.Error("a name has left its place")
	}
}

// TestPageIsCurrent changes a check under an open page, which follows without a reload.
func TestPageIsCurrent(t *testing.T) {
	w := newWorld(t)
	c := w.check("Shop")
	w.ping(c, pings.Success)
	w.page(checks.StatusPage{Slug: "acme", Title: "Acme"})
	page := browsertest.Open(t, w.url)
	page.TimeZone("Europe/Riga")
	page.Go("/jobs/status/acme")
	page.WaitText(".say", "The service is up.")
	page.WaitText("#zone", "Times in Europe/Riga; days in UTC.")
	browsertest.Eval[any](page, "window.kept = true; undefined")
	show := func() { // instead of the half minute after which a page looks by itself
		browsertest.Eval[any](page, "document.dispatchEvent(new Event('visibilitychange')); undefined")
	}
	w.clock.Advance(9 * time.Hour)
	show()
	page.WaitText(".say", "The service is down.")
	page.WaitText(".incidents .when", "17:00 – now")
	if !browsertest.Eval[bool](page, "window.kept === true && document.title.startsWith('1 down') && document.getElementById('icon').href.includes('icon-down')") {
		t.Error("the page was loaded again, or its title or its icon is old")
	}
	w.clock.Advance(time.Hour) // 22:00 in UTC, the next day in Riga
	w.ping(c, pings.Success)
	show()
	page.WaitText(".say", "The service is up.")
	page.WaitText(".incidents .when", "17:00 – 1 Apr, 01:00")
}

// TestPageWithoutScript reads a page with scripts turned off.
func TestPageWithoutScript(t *testing.T) {
	w := newWorld(t)
	w.ping(w.check("Shop"), pings.Failure)
	w.page(checks.StatusPage{Slug: "acme", Title: "Acme"})
	page := browsertest.Open(t, w.url)
	page.NoScript()
	page.Go("/jobs/status/acme")
	page.WaitText(".say", "The service is down.")
	page.WaitText("#zone", "All times are UTC.")
	if page.Count("meta[http-equiv=refresh]") != 1 {
		t.Error("the page does not refresh itself")
	}
	page.Fits()
}
