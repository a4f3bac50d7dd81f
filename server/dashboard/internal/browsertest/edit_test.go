package browsertest_test

import (
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp/kb"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/browsertest"
)

// editPaths adds a check with hostile texts in all settings, and returns the paths of the pages that change it.
func (s *site) editPaths() []string {
	s.Helper()
	for _, name := range []string{"ops", hostile[:80]} {
		_, err := s.mon.Project(s.project.ID).CreateChannel(s.Context(), channels.Channel{Kind: channels.Webhook, Name: name, Settings: map[string]string{"url_down": "https://example.org/"}})
		s.must(err)
	}
	c := s.create(checks.Spec{
		Name: new(hostile[:100]), Slug: new("hostile"), Tags: []string{"<b>tag</b>"}, Desc: new("</textarea>" + hostile), Schedule: new("30 3 * * *"), TZ: new("Europe/Riga"),
		StartKW: new("</pre>" + hostile), SuccessKW: new(`"<b>`), FilterHTTPBody: new(true), MaxRuntime: new(time.Hour),
		QuietHours: new("Mon..Fri 22:00-06:00; Sat,Sun 00:00-24:00"), Channels: new("*"),
	})
	check := "/checks/" + c.UniqueKey()
	return []string{s.path("checks/new"), check + "/edit", check + "/copy", check + "/pause", check + "/delete", check + "/transfer"}
}

// TestEditWithPreview makes a check by keyboard, and looks at what is shown while it is typed.
func TestEditWithPreview(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	page := s.browser(s.keys.ReadWrite)
	page.Tolerate("status of 422", "status of 404")
	page.Go(s.path("checks/new"))
	page.Click("#name")
	page.Press("Nächtliches Backup!")
	page.Wait("document.getElementById('slug').value == 'nachtliches-backup'")
	page.Click("#kind-schedule")
	page.Click("#schedule")
	page.Press("0 3 * *")
	page.Resize(phone)
	page.WaitText(".field:has(#schedule) .wrong", "Schedule")
	if !page.InView("#schedule-wrong") {
		t.Error("on a phone, what is wrong with the schedule is out of sight")
	}
	page.Resize(browsertest.Wide)
	page.Press(" *")
	page.WaitText("#times", "at 03:00 every day")
	page.WaitText("#say", "at 03:00 every day")
	page.Wait("document.querySelectorAll('#times tbody tr').length == 10")
	page.Press("x")
	page.Wait("document.querySelector('#times .stale')")
	if got := page.Text("#times .stale"); !strings.Contains(got, "at 03:00 every day") {
		t.Errorf("the last good preview is %q", got)
	}
	page.Press(kb.Backspace)
	page.Wait("!document.querySelector('#times .stale')")

	page.Click("summary:has(+ .two #quiet_hours)")
	page.Click("#quiet_hours")
	page.Press("Sat,Sun 00:00-24:00")
	page.WaitText("#week", "Quiet now, until")
	page.Click("summary:has(+ .two #start_kw)")
	page.Click("#filter_http_body")
	page.Click("#failure_kw")
	page.Press("ERROR")
	page.Click("#sample_body")
	page.Press("an ERROR <b>here</b>")
	page.WaitText("#try mark", "ERROR")
	page.WaitText("#try strong", "a failure")

	page.Click("#grace")
	page.Press("0")
	page.Click(".actions .primary")
	page.WaitText("#problems", "Grace time has no unit")
	if f := page.Focused(); f.Name != "div#problems" {
		t.Errorf("after an error the focus is on %v", f)
	}
	if got := browsertest.Eval[string](page, "document.getElementById('slug').value"); got != "nachtliches-backup" {
		t.Errorf("after an error the slug is %q", got)
	}
	page.Click("#problems a")
	if f := page.Focused(); f.Name != "input#grace" {
		t.Errorf("the link of an error leads to %v", f)
	}
	browsertest.Eval[any](page, "document.getElementById('grace').value = '2 h', 0")
	page.Submit(".actions .primary")
	list, err := checks.Stored(s.mon.Project(s.project.ID).Checks(t.Context(), checks.Query{}))
	s.must(err)
	if len(list) != 1 || list[0].Schedule != "0 3 * * *" || list[0].Grace != 2*time.Hour || list[0].QuietHours == "" || list[0].Slug != "nachtliches-backup" {
		t.Errorf("the page made %+v", list)
	}
}

// TestScheduleInWords types a schedule in words, on a phone too. The preview says how it is understood, and what it has said is
// saved without a question.
func TestScheduleInWords(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	page := s.browser(s.keys.ReadWrite)
	page.Tolerate("status of 404")
	for i, size := range []browsertest.Size{browsertest.Wide, phone} {
		page.Resize(size)
		page.Go(s.path("checks/new"))
		page.Click("#kind-schedule")
		page.Click("#schedule")
		page.Press("evry day at 3")
		page.WaitText(".field:has(#schedule) .wrong", "did you mean every?")
		browsertest.Eval[any](page, "document.getElementById('schedule').value = '', 0")
		page.Press("every day at 3")
		page.WaitText(".field:has(#schedule)", "“every day at 3” is understood as 0 3 * * *. The time was read as 03:00, on a 24-hour clock; write pm for 15:00.")
		page.WaitText("#times", "A ping is expected at 03:00 every day")
		page.WaitText("#say", "understood as 0 3 * * *")
		if !page.InView(".field:has(#schedule) [data-at]") {
			t.Errorf("at %v, how the words are understood is out of sight", size)
		}
		page.Wait("!document.querySelector('.field:has(#schedule) .wrong')")
		page.Wait("document.querySelectorAll('#times tbody tr').length == 10")
		page.Fits()
		page.Axe()
		page.Submit(".actions .primary")
		page.WaitText("main", "“every day at 3” is stored as 0 3 * * *: at 03:00 every day.")
		list, err := checks.Stored(s.mon.Project(s.project.ID).Checks(t.Context(), checks.Query{}))
		s.must(err)
		if len(list) != i+1 || list[i].Schedule != "0 3 * * *" {
			t.Fatalf("the page made %+v", list)
		}
	}
	page.Go(s.path("checks/new"))
	page.Click("#kind-schedule")
	page.Click("#schedule")
	page.Press("every 90 minutes")
	page.WaitText(".field:has(#schedule)", "is understood as an interval of 1 h 30 min.")
	page.WaitText("#times", "A ping is expected within 1 h 30 min of the last one.")
	page.Press("x") // an error takes the place of what was understood
	page.WaitText(".field:has(#schedule) .wrong", "did you mean minutes?")
	page.Wait("!document.querySelector('[name=seen]') && !document.querySelector('.field [data-at]')")
}

// TestEditWithoutScript makes and changes a check in a browser that runs no scripts.
func TestEditWithoutScript(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	page := s.browser(s.keys.ReadWrite)
	page.NoScript()
	page.Tolerate("status of 404")
	page.Go(s.path("checks/new"))
	page.Click("#name")
	page.Press("backup")
	page.Click("#kind-schedule")
	page.Click("#schedule")
	page.Press("15 4 * * *")
	page.Submit("button[name=preview]")
	page.WaitText("#times", "at 04:15 every day")
	page.Click("#schedule")
	browsertest.Eval[any](page, "document.getElementById('schedule').value = '', 0")
	page.Press("every day at 4:15")
	page.Submit("button[name=preview]")
	page.WaitText("#times", "“every day at 4:15” is understood as 15 4 * * *.")
	page.Click("#name")
	page.Leave(func() { page.Press(kb.Enter) })
	list, err := checks.Stored(s.mon.Project(s.project.ID).Checks(t.Context(), checks.Query{}))
	s.must(err)
	if len(list) != 1 || list[0].Schedule != "15 4 * * *" || list[0].Name != "backup" {
		t.Fatalf("the page made %+v", list)
	}
	page.Go("/checks/" + list[0].UniqueKey() + "/delete")
	page.Submit("form .danger")
	page.WaitText("main", "Deleted backup.")
}
