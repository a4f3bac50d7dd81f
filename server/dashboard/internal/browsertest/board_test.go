package browsertest_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp/kb"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/pings"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/browsertest"
)

// TestBoard holds the board against runs of known times.
func TestBoard(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	hour := new(time.Hour)
	backup := s.create(checks.Spec{Name: new("backup"), Schedule: new("0 18 * * *"), Grace: hour})
	etl := s.create(checks.Spec{Name: new("etl"), Schedule: new("0 0,12 * * *"), Grace: new(3 * time.Hour)})
	busy := s.create(checks.Spec{Name: new("busy"), Timeout: new(5 * time.Minute), Grace: new(30 * time.Minute)})
	s.ping(backup.ID, pings.Success)
	s.ping(etl.ID, pings.Start)
	s.advance(2 * time.Hour)
	s.ping(etl.ID, pings.Success)
	for i := range 120 { // ten hours
		kind := pings.Success
		if i == 60 {
			kind = pings.Failure
		}
		s.ping(busy.ID, kind)
		s.advance(5 * time.Minute)
	}
	s.ping(etl.ID, pings.Start)
	s.ping(busy.ID, pings.Success)

	page := s.browser(s.keys.ReadOnly)
	page.TimeZone("Europe/Riga")
	page.Go(s.path("board"))
	page.Go(s.path("board")) // with the zone
	page.WaitText(".zone", "Mon 23 Nov 02:00, Europe/Riga")
	page.WaitText(".lead", "1 run is missing. 1 run failed in the last 24 hours. 1 running now.")
	marks := func(name, kind string) string {
		return fmt.Sprintf(`[...document.querySelectorAll(".lane")].find(l => l.querySelector(".name").textContent.startsWith(%q)).querySelectorAll(".line > .%s")`, name, kind)
	}
	for kind, want := range map[string]int{"backup missed": 1, "backup expected": 1, "etl run": 1, "etl running": 1, "busy band": 1, "busy failed": 1, "busy many": 1} {
		name, class, _ := strings.Cut(kind, " ")
		if got := browsertest.Eval[int](page, marks(name, class)+".length"); got != want {
			t.Errorf("%d marks of kind %s, want %d", got, kind, want)
		}
	}
	// A run of two hours, twelve hours ago, on an axis of two days.
	box := browsertest.Eval[[]float64](page, `(() => { const r = `+marks("etl", "run")+`[0].querySelector("rect").getBoundingClientRect();
		const l = document.querySelector(".line").getBoundingClientRect(); return [(r.left - l.left) / l.width, r.width / l.width]; })()`)
	if at, length := box[0], box[1]; at < .249 || at > .251 || length < .041 || length > .043 {
		t.Errorf("the run is at %.3f and %.3f long, want 0.25 and 0.042", at, length)
	}

	browsertest.Eval[any](page, `[...document.querySelectorAll(".lane .who")].find(l => l.textContent.includes("etl")).focus()`)
	page.Press(kb.ArrowRight)
	page.WaitText("#tip", "Succeeded Sun 22 Nov 14:00–16:00 took 2 h pings 1 and 2")
	page.Press(kb.ArrowRight)
	page.WaitText("#tip", "Running since Mon 23 Nov 02:00")
	page.Press(kb.Escape)
	page.Wait(`document.querySelector("#tip").hidden`)

	stay(page)
	s.advance(20 * time.Minute)
	s.ping(etl.ID, pings.Success)
	s.ping(backup.ID, pings.Success)
	page.Wait(marks("etl", "running") + ".length == 0")
	page.WaitText(".lead", "1 run failed and 1 run was missed")
	stayed(t, page)

	for _, size := range []browsertest.Size{browsertest.Wide, browsertest.Narrow} {
		page.Resize(size)
		page.Fits()
		if n := browsertest.Eval[int](page, `(() => { const seen = [...document.querySelectorAll(".labels text")].filter(t => t.checkVisibility()).map(t => t.getBoundingClientRect()).sort((a, b) => a.left - b.left);
			return seen.filter((box, i) => i && box.left < seen[i - 1].right).length; })()`); n > 0 {
			t.Errorf("%d labels of the axis overlap at %d pixels", n, size.Width)
		}
	}
	page.Axe()
	page.Dark(true)
	page.Axe()
}
