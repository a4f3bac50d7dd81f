package lists_test

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/pings"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/pagetest"
)

var rowNames = regexp.MustCompile(`<a class="name"[^>]*>([^<]*)</a>`)

// names returns the names of the rows of a list, in order.
func names(a *pagetest.Answer) (names []string) {
	for _, found := range rowNames.FindAllStringSubmatch(a.Body, -1) {
		names = append(names, found[1])
	}
	return names
}

// TestListUrgent shows what is down first, the newest before the others, since when and why.
func TestListUrgent(t *testing.T) {
	s := pagetest.New(t)
	b := s.SignedIn(s.Keys.ReadWrite)
	first := s.Create(checks.Spec{Name: new("a-first"), Timeout: new(24 * time.Hour)})
	second := s.Create(checks.Spec{Name: new("b-second"), Timeout: new(24 * time.Hour)})
	missed := s.Create(checks.Spec{Name: new("c-missed"), Timeout: new(time.Hour), Grace: new(time.Hour)})
	silent := s.Create(checks.Spec{Name: new("d-silent")})
	s.Ping(missed, pings.Signal{})
	s.Ping(first, pings.Signal{Kind: pings.Failure, ExitStatus: new(2), Body: []byte("exporting ledger\ncp: <disk> full: No space left on device\n")})
	s.Advance(90 * time.Minute)
	s.Ping(second, pings.Signal{Kind: pings.Failure, Body: []byte("From: cron@example.org\r\nSubject: failed\r\n\r\nerror: cannot connect to db1\r\n")})
	s.Ping(silent, pings.Signal{Kind: pings.Failure})
	s.Advance(13*time.Hour + 30*time.Minute)
	page := b.Get(s.Path("")).Is(http.StatusOK).Has("exit 2: cp: &lt;disk&gt; full: No space left on device", ">15 h<", "error: cannot connect to db1", "a run was missed", `<small class="why">failed<`)
	if got, want := names(page), []string{"c-missed", "b-second", "d-silent", "a-first"}; !slices.Equal(got, want) {
		t.Errorf("the order is %v, want %v", got, want)
	}
	b.Get(s.Path("?sort=-state")).Has(`aria-sort="descending"`)
	for sort, want := range map[string]string{"name": "a-first", "-name": "d-silent", "last": "b-second", "-last": "c-missed"} {
		if got := names(b.Get(s.Path("?sort=" + sort))); got[0] != want {
			t.Errorf("sorted by %s: %v, want %s first", sort, got, want)
		}
	}
	b.Get(s.Path("?sort=name")).Has(`<th aria-sort="ascending"><a href="?sort=-name">`)
}

// TestListFold leaves out healthy checks if there are many, unless the viewer searches, sorts or asks for them.
func TestListFold(t *testing.T) {
	s := pagetest.New(t)
	b := s.SignedIn(s.Keys.ReadWrite)
	for i := range 30 {
		s.Ping(s.Create(checks.Spec{Name: new(fmt.Sprintf("job-%02d", i))}), pings.Signal{})
	}
	s.Ping(s.Create(checks.Spec{Name: new("broken")}), pings.Signal{Kind: pings.Failure})
	s.Create(checks.Spec{Name: new("fresh")})
	page := b.Get(s.Path("")).Has("Show 30 healthy checks", `href="?all=1"`, "All 32")
	if got := names(page); !slices.Equal(got, []string{"broken", "fresh"}) {
		t.Errorf("shown: %v", got)
	}
	if fold, fresh := strings.Index(page.Body, `id="fold"`), strings.Index(page.Body, ">fresh<"); fold > fresh {
		t.Error("the healthy checks are not in their place")
	}
	for _, query := range []string{"?all=1", "?sort=name"} {
		if n := len(names(b.Get(s.Path(query)).HasNo("healthy checks"))); n != 32 {
			t.Errorf("%s: %d checks", query, n)
		}
	}
	if n := len(names(b.Get(s.Path("?q=job")))); n != 30 {
		t.Errorf("a search shows %d checks", n)
	}
}

// TestListSearchAddress finds a check by what stands in a crontab.
func TestListSearchAddress(t *testing.T) {
	s := pagetest.New(t)
	b := s.SignedIn(s.Keys.ReadWrite)
	c := s.Create(checks.Spec{Name: new("backup"), Slug: new("backup")})
	s.Create(checks.Spec{Name: new("backup-2"), Slug: new("backup-2")})
	id := c.ID.String()
	for _, text := range []string{
		id, strings.ToUpper(id), "https://ops.example.org/ping/" + id, "https://ops.example.org/ping/" + id + "/fail?rid=1", c.UniqueKey(),
		"curl -fsS -m 10 https://ops.example.org/ping/" + id + "/$? >/dev/null", id + "@example.org",
		"https://ops.example.org/ping/" + s.Project.PingKey + "/backup", s.Project.PingKey + "/backup/start", s.Project.PingKey + "+backup@example.org",
	} {
		if got := names(b.Get(s.Path("?q=" + url.QueryEscape(text)))); !slices.Equal(got, []string{"backup"}) {
			t.Errorf("%s finds %v", text, got)
		}
	}
	b.Get(s.Path("?q=https://ops.example.org/ping/0123456789abcdefghijkl/backup")).Has("belongs to another project")
}

// TestListNobody counts the checks that alert nobody, also through groups without members and integrations for recoveries.
func TestListNobody(t *testing.T) {
	s := pagetest.New(t)
	b := s.SignedIn(s.Keys.ReadWrite)
	hook := s.Channel(channels.Webhook, "hook", map[string]string{"url_down": "https://example.org/"})
	ups := s.Channel(channels.Webhook, "ups", map[string]string{"url_down": "https://example.org/", "notify": "up"})
	group := s.Channel(channels.Group, "group", map[string]string{"channels": hook.ID.String()})
	s.Create(checks.Spec{Name: new("reached"), Channels: new(hook.ID.String())})
	s.Create(checks.Spec{Name: new("by-group"), Channels: new(group.ID.String())})
	b.Get(s.Path("")).HasNo("nobody")
	s.Create(checks.Spec{Name: new("none")})
	s.Create(checks.Spec{Name: new("only-up"), Channels: new(ups.ID.String())})
	b.Get(s.Path("")).Has("<b>2</b> alert nobody", `href="?reach=nobody"`)
	if got := names(b.Get(s.Path("?reach=nobody"))); !slices.Equal(got, []string{"none", "only-up"}) {
		t.Errorf("listed: %v", got)
	}
}

// TestListDifference sends an open list of 1,000 checks what has changed: rows that are new, differ or moved, and which are
// gone.
func TestListDifference(t *testing.T) {
	s := pagetest.New(t)
	b := s.SignedIn(s.Keys.ReadWrite)
	var list []checks.Check
	for i := range 1000 {
		list = append(list, s.Create(checks.Spec{Name: new(fmt.Sprintf("job-%04d", i)), Timeout: new(24 * time.Hour)}))
	}
	path := s.Path("?all=1")
	token := regexp.MustCompile(`data-rows="([^"]+)"`)
	page := b.Get(path)
	b.Header.Set("Rollcall-Rows", token.FindStringSubmatch(page.Body)[1])
	b.Header.Set("Rollcall-Version", "older")
	s.Advance(time.Hour) // relative times differ, which the page knows itself
	s.Ping(list[500], pings.Signal{Kind: pings.Failure})
	if _, err := s.Mon.Project(s.Project.ID).Delete(t.Context(), list[7].ID); err != nil {
		t.Fatal(err)
	}
	s.Create(checks.Spec{Name: new("job-0500b")})
	change := b.Get(path).Is(http.StatusOK)
	if got := names(change); !slices.Equal(got, []string{"job-0500", "job-0500b"}) {
		t.Errorf("sent: %v", got)
	}
	change.Has(`<tr data-after="" class="is-down"`, `<tr data-after="c-`+list[499].UniqueKey()+`" class="is-new"`, `data-gone="c-`+list[7].UniqueKey()+`"`)
	if len(change.Body) > 12_000 {
		t.Errorf("%d bytes of %d", len(change.Body), len(page.Body))
	}
	b.Header.Set("Rollcall-Rows", "unknown")
	b.Header.Set("Rollcall-Version", "other")
	if n := len(names(b.Get(path))); n != 1000 {
		t.Errorf("an unknown page gets %d rows", n)
	}
}

// TestSavedViews keeps a filter under a name, in one browser, as a link.
func TestSavedViews(t *testing.T) {
	s := pagetest.New(t)
	for i := range 14 {
		s.Create(checks.Spec{Name: new(fmt.Sprintf("job-%02d", i)), Tags: []string{fmt.Sprintf("t%02d", i), "prod"}})
	}
	s.Create(checks.Spec{Name: new("other")})
	b, stranger := s.SignedIn(s.Keys.ReadOnly), s.SignedIn(s.Keys.ReadOnly)
	b.Get(s.Path("")).Has(`href="?tag=prod">prod <span class="soft">14</span>`, "<option>t13</option>", "tag:prod").HasNo("Save view", "Saved views")
	b.Get(s.Path("?q=tag:prod+is:new+job-03")).Has("1 check found", ">job-03<", `href="?q=job-03&amp;state=new" aria-current="true">prod`, "Save view").HasNo(">job-04<")
	b.Get(s.Path("?q=is:silent+other")).Has(`value="other"`, `name="reach" value="nobody"`)

	saved := b.Post(s.Path("view?state=new&tag=prod&page=7"), url.Values{"name": {" Mine <b> "}}).Is(http.StatusSeeOther)
	link := saved.Header.Get("Location")
	if link != s.Path("?state=new&tag=prod&view=Mine+%3Cb%3E") {
		t.Errorf("saved as %s", link)
	}
	b.Get(link).Has("Saved in this browser", "<h1>Mine &lt;b&gt;</h1>", `aria-current="true">Mine &lt;b&gt;</a>`, "Forget view").HasNo("Save view", "Mine <b>")
	b.Get(s.Path("")).Has("Saved views", "Mine &lt;b&gt;")
	stranger.Get(s.Path("")).HasNo("Saved views")
	stranger.Get(link).Has("<h1>Mine &lt;b&gt;</h1>", ">job-03<")
	for i := range 12 {
		b.Post(s.Path("view?state=down"), url.Values{"name": {fmt.Sprint("view ", i)}}).Is(http.StatusSeeOther)
	}
	b.Get(s.Path("")).Has("keeps 12 views", ">view 10<").HasNo(">view 11<")
	b.Post(s.Path("view?state=new&tag=prod&view=Mine+%3Cb%3E"), url.Values{"name": {"Mine <b>"}, "forget": {"1"}}).Is(http.StatusSeeOther)
	b.Get(s.Path("?view=x")).Has(">view 10<").HasNo("Mine")
	b.Post(s.Path("view?state=down"), url.Values{"name": {" \x01 "}}).Is(http.StatusSeeOther)
	b.Get(s.Path("")).Has("Give the view a name")
}

// TestListAlike shows checks that are down for one reason as one row, before the others. The row selects them all, has one button for those
// that nobody has, and leads to the list of them.
func TestListAlike(t *testing.T) {
	s := pagetest.New(t)
	b := s.SignedIn(s.Keys.ReadWrite)
	fail := func(name, output string, tags ...string) checks.Check {
		c := s.Create(checks.Spec{Name: &name, Tags: tags, Timeout: new(24 * time.Hour)})
		s.Ping(c, pings.Signal{Kind: pings.Failure, ExitStatus: new(2), Body: []byte(output)})
		return c
	}
	var full []checks.Check
	for i := range 60 {
		full = append(full, fail(fmt.Sprintf("full <b>-%02d", i), fmt.Sprintf("tar: /backup/%d: No space left on device\n", i), "db", fmt.Sprint("t", i%2)))
	}
	for i := range 3 {
		fail(fmt.Sprint("few-", i), "", "db")
	}
	for i := range 90 {
		fail(fmt.Sprintf("other-%02d", i), fmt.Sprintf("error: %s\n", strings.Repeat(string(rune('a'+i%26)), 3+i/26)))
	}
	_, err := s.Mon.Project(s.Project.ID).Acknowledge(t.Context(), full[7].ID, checks.AckSpec{By: "Anna"})
	pagetest.NoError(t, err)
	page := b.Get(s.Path("")).Is(http.StatusOK).Has(">60 checks fail the same way</a> <span class=\"tag\">db</span>", `<small class="why">No space left on device</small>`,
		"full &lt;b&gt;-00, full &lt;b&gt;-01, full &lt;b&gt;-02 and 57 more", ">I have all 59</button>", "acknowledged by Anna (1)", "1–80 of 94", ">few-1<", "All 153").HasNo(">t0</span>", ">full &lt;b&gt;-00<")
	if got := names(page); len(got) != 80 || !strings.HasPrefix(got[0], "60 checks") {
		t.Errorf("%d rows, the first %q", len(got), got[0])
	}
	if n := len(names(b.Get(s.Path("?page=2")).Has("81–94 of 94").HasNo("fail the same way"))); n != 14 {
		t.Errorf("%d rows on the second page", n)
	}
	for _, query := range []string{"?sort=name", "?all=1"} {
		b.Get(s.Path(query)).HasNo("checks fail the same way")
	}
	b.Get(s.Path("?tag=t1")).Has("30 checks fail the same way").HasNo("few-1")
	link := regexp.MustCompile(`\?alike=g-[0-9a-z]+`).FindString(page.Body) + "&state=down"
	listed := b.Get(s.Path(link)).Has("fail the same way <span", "All 60 matches", ">full &lt;b&gt;-00<").HasNo("few-1", "other-01")
	if n := len(names(listed)); n != 60 {
		t.Errorf("the group has %d rows", n)
	}
	reader := s.SignedIn(s.Keys.ReadOnly).Get(s.Path("")).Has("60 checks fail the same way").HasNo("I have", full[0].ID.String(), "Anna")
	if n := len(names(reader)); n != 80 {
		t.Errorf("a reader sees %d rows", n)
	}

	ids := strings.Join(pagetest.IDs(full[:3]...), " ")
	b.Post(s.Path("bulk"), url.Values{"action": {"acknowledge"}, "check": {ids}}).Is(http.StatusSeeOther)
	b.Get(s.Path("")).Has("Acknowledged: you have 3 checks.", ">I have all 56</button>")
	if to := b.Post(s.Path("bulk"+link), url.Values{"action": {"acknowledge"}, "all": {"1"}}).Is(http.StatusSeeOther).Header.Get("Location"); to != s.Path(link) {
		t.Errorf("the button leads to %s", to)
	}
	b.Get(s.Path("")).Has("Acknowledged: you have 56 checks. Anna has 1. You had 3 already.")
	for _, c := range full[1:] { // those that are left stay in the list that somebody watches
		s.Ping(c, pings.Signal{})
	}
	if got := names(b.Get(s.Path(link))); !slices.Equal(got, []string{"full &lt;b&gt;-00"}) {
		t.Errorf("left: %v", got)
	}
	b.Get(s.Path("?alike=%22x")).Has(">other-00<")
}
