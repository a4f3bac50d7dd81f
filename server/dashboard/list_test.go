package dashboard_test

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
)

var rowNames = regexp.MustCompile(`<a class="name"[^>]*>([^<]*)</a>`)

// names returns the names of the rows of a list, in order.
func (a *answer) names() (names []string) {
	for _, found := range rowNames.FindAllStringSubmatch(a.body, -1) {
		names = append(names, found[1])
	}
	return names
}

func (s *site) ping(c checks.Check, signal pings.Signal) {
	s.t.Helper()
	if _, err := s.mon.Ping(s.t.Context(), c.ID, signal); err != nil {
		s.t.Fatal(err)
	}
}

// TestListUrgent shows what is down first, the newest before the others, since when and why.
func TestListUrgent(t *testing.T) {
	s := newSite(t)
	b := s.signedIn(s.keys.ReadWrite)
	first := s.create(checks.Spec{Name: new("a-first"), Timeout: new(24 * time.Hour)})
	second := s.create(checks.Spec{Name: new("b-second"), Timeout: new(24 * time.Hour)})
	missed := s.create(checks.Spec{Name: new("c-missed"), Timeout: new(time.Hour), Grace: new(time.Hour)})
	silent := s.create(checks.Spec{Name: new("d-silent")})
	s.ping(missed, pings.Signal{})
	s.ping(first, pings.Signal{Kind: pings.Failure, ExitStatus: new(2), Body: []byte("exporting ledger\ncp: <disk> full: No space left on device\n")})
	s.advance(90 * time.Minute)
	s.ping(second, pings.Signal{Kind: pings.Failure, Body: []byte("From: cron@example.org\r\nSubject: failed\r\n\r\nerror: cannot connect to db1\r\n")})
	s.ping(silent, pings.Signal{Kind: pings.Failure})
	s.advance(13*time.Hour + 30*time.Minute)
	page := b.get(s.path("")).is(http.StatusOK).has("exit 2: cp: &lt;disk&gt; full: No space left on device", ">15 h<", "error: cannot connect to db1", "a run was missed", `<small class="why">failed<`)
	if got, want := page.names(), []string{"c-missed", "b-second", "d-silent", "a-first"}; !slices.Equal(got, want) {
		t.Errorf("the order is %v, want %v", got, want)
	}
	b.get(s.path("?sort=-state")).has(`aria-sort="descending"`)
	for sort, want := range map[string]string{"name": "a-first", "-name": "d-silent", "last": "b-second", "-last": "c-missed"} {
		if got := b.get(s.path("?sort=" + sort)).names(); got[0] != want {
			t.Errorf("sorted by %s: %v, want %s first", sort, got, want)
		}
	}
	b.get(s.path("?sort=name")).has(`<th aria-sort="ascending"><a href="?sort=-name">`)
}

// TestListFold leaves out healthy checks if there are many, unless the viewer searches, sorts or asks for them.
func TestListFold(t *testing.T) {
	s := newSite(t)
	b := s.signedIn(s.keys.ReadWrite)
	for i := range 30 {
		s.ping(s.create(checks.Spec{Name: new(fmt.Sprintf("job-%02d", i))}), pings.Signal{})
	}
	s.ping(s.create(checks.Spec{Name: new("broken")}), pings.Signal{Kind: pings.Failure})
	s.create(checks.Spec{Name: new("fresh")})
	page := b.get(s.path("")).has("Show 30 healthy checks", `href="?all=1"`, "All 32")
	if got := page.names(); !slices.Equal(got, []string{"broken", "fresh"}) {
		t.Errorf("shown: %v", got)
	}
	if fold, fresh := strings.Index(page.body, `id="fold"`), strings.Index(page.body, ">fresh<"); fold > fresh {
		t.Error("the healthy checks are not in their place")
	}
	for _, query := range []string{"?all=1", "?sort=name"} {
		if n := len(b.get(s.path(query)).hasNo("healthy checks").names()); n != 32 {
			t.Errorf("%s: %d checks", query, n)
		}
	}
	if n := len(b.get(s.path("?q=job")).names()); n != 30 {
		t.Errorf("a search shows %d checks", n)
	}
}

// TestListSearchAddress finds a check by what stands in a crontab.
func TestListSearchAddress(t *testing.T) {
	s := newSite(t)
	b := s.signedIn(s.keys.ReadWrite)
	c := s.create(checks.Spec{Name: new("backup"), Slug: new("backup")})
	s.create(checks.Spec{Name: new("backup-2"), Slug: new("backup-2")})
	id := c.ID.String()
	for _, text := range []string{
		id, strings.ToUpper(id), "https://ops.example.org/ping/" + id, "https://ops.example.org/ping/" + id + "/fail?rid=1", c.UniqueKey(),
		"curl -fsS -m 10 https://ops.example.org/ping/" + id + "/$? >/dev/null", id + "@example.org",
		"https://ops.example.org/ping/" + s.project.PingKey + "/backup", s.project.PingKey + "/backup/start", s.project.PingKey + "+backup@example.org",
	} {
		if got := b.get(s.path("?q=" + url.QueryEscape(text))).names(); !slices.Equal(got, []string{"backup"}) {
			t.Errorf("%s finds %v", text, got)
		}
	}
	b.get(s.path("?q=https://ops.example.org/ping/0123456789abcdefghijkl/backup")).has("belongs to another project")
}

// TestListNobody counts the checks that alert nobody, also through groups without members and integrations for recoveries.
func TestListNobody(t *testing.T) {
	s := newSite(t)
	b := s.signedIn(s.keys.ReadWrite)
	hook := s.channel(channels.Webhook, "hook", map[string]string{"url_down": "https://example.org/"})
	ups := s.channel(channels.Webhook, "ups", map[string]string{"url_down": "https://example.org/", "notify": "up"})
	group := s.channel(channels.Group, "group", map[string]string{"channels": hook.ID.String()})
	s.create(checks.Spec{Name: new("reached"), Channels: new(hook.ID.String())})
	s.create(checks.Spec{Name: new("by-group"), Channels: new(group.ID.String())})
	b.get(s.path("")).hasNo("nobody")
	s.create(checks.Spec{Name: new("none")})
	s.create(checks.Spec{Name: new("only-up"), Channels: new(ups.ID.String())})
	b.get(s.path("")).has("<b>2</b> alert nobody", `href="?reach=nobody"`)
	if got := b.get(s.path("?reach=nobody")).names(); !slices.Equal(got, []string{"none", "only-up"}) {
		t.Errorf("listed: %v", got)
	}
}

// TestListDifference sends an open list of 1,000 checks what has changed: rows that are new, differ or moved, and which are
// gone.
func TestListDifference(t *testing.T) {
	s := newSite(t)
	b := s.signedIn(s.keys.ReadWrite)
	var list []checks.Check
	for i := range 1000 {
		list = append(list, s.create(checks.Spec{Name: new(fmt.Sprintf("job-%04d", i)), Timeout: new(24 * time.Hour)}))
	}
	path := s.path("?all=1")
	token := regexp.MustCompile(`data-rows="([^"]+)"`)
	page := b.get(path)
	b.header.Set("Rollcall-Rows", token.FindStringSubmatch(page.body)[1])
	b.header.Set("Rollcall-Version", "older")
	s.advance(time.Hour) // relative times differ, which the page knows itself
	s.ping(list[500], pings.Signal{Kind: pings.Failure})
	if _, err := s.mon.Project(s.project.ID).Delete(t.Context(), list[7].ID); err != nil {
		t.Fatal(err)
	}
	s.create(checks.Spec{Name: new("job-0500b")})
	change := b.get(path).is(http.StatusOK)
	if got := change.names(); !slices.Equal(got, []string{"job-0500", "job-0500b"}) {
		t.Errorf("sent: %v", got)
	}
	change.has(`<tr data-after="" class="is-down"`, `<tr data-after="c-`+list[499].UniqueKey()+`" class="is-new"`, `data-gone="c-`+list[7].UniqueKey()+`"`)
	if len(change.body) > 12_000 {
		t.Errorf("%d bytes of %d", len(change.body), len(page.body))
	}
	b.header.Set("Rollcall-Rows", "unknown")
	b.header.Set("Rollcall-Version", "other")
	if n := len(b.get(path).names()); n != 1000 {
		t.Errorf("an unknown page gets %d rows", n)
	}
}
