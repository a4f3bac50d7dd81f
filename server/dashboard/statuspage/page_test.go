package statuspage_test

import (
	"encoding/xml"
	"fmt"
	"html"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/gate"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/dbtest"
	"github.com/rollcall-dev/rollcall/pings"
	"github.com/rollcall-dev/rollcall/server/dashboard/statuspage"
)

// TestPage follows a page through the life of a check.
func TestPage(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		if code := w.request(http.MethodGet, "/acme").Code; code != http.StatusNotFound {
			t.Errorf("before there is a page: status %d, want 404", code)
		}
		page := w.page("acme", "web", "api")
		w.shows("/acme", "<h1><bdi>Acme acme</bdi></h1>", "No services are shown here yet.", "not:Incidents")
		shop := w.check("Shop", "web", "eu")
		w.check("Database", "db")
		w.shows("/acme", "Shop", "The service is not monitored right now.", `class="st new"`, "not:Database")
		w.ping(shop, pings.Success)
		w.shows("/acme", "The service is up.", `class="st up"`, "No incidents since 31 March 2026.")

		w.clock.Advance(time.Hour)
		w.shows("/acme", "The service is late.", `class="st late"`, "<title>1 late · Acme acme</title>", "icon-late")
		w.clock.Advance(time.Hour)
		w.shows("/acme", "The service is down.", `class="st down"`, "<title>1 down · Acme acme</title>", `<time data-hour="2026-03-31" datetime="2026-03-31T14:00:00Z">14:00</time> – now`)
		w.sweep()
		w.pages.Refresh()
		w.clock.Advance(41 * time.Minute)
		w.shows("/acme", "The service is down.", "for 41 min", `datetime="2026-03-31T14:00:00Z">31 Mar, 14:00</time></span>`)
		w.ping(shop, pings.Success)
		w.shows("/acme", "The service is up.", "14:00</time> – <time", "14:41</time>", `<span class="took">41 min</span>`, "74.53%", "down on 1 day (31 Mar for 41 min)")

		_, err := w.Project(shop.ProjectID).Pause(t.Context(), shop.ID)
		w.must(err)
		w.pages.Refresh()
		w.shows("/acme", "The service is not monitored right now.", `class="st paused"`)
		page.Title, page.Tags = "Renamed", []string{"db"}
		_, err = w.Project(w.project).UpdateStatusPage(t.Context(), page)
		w.must(err)
		w.pages.Refresh()
		w.shows("/acme", "Renamed", "Database", "not:Shop", "not:Acme acme")
		w.must(w.Project(w.project).DeleteStatusPage(t.Context(), page.ID))
		w.pages.Refresh()
		if code := w.request(http.MethodGet, "/acme").Code; code != http.StatusNotFound {
			t.Errorf("after the page was deleted: status %d, want 404", code)
		}
	})
}

// TestPageRevealsNothing reads a page and its feed for anything that is not public.
func TestPageRevealsNothing(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		project, err := w.Projects().ByID(t.Context(), w.project)
		w.must(err)
		c, err := w.Project(w.project).Create(t.Context(), checks.Spec{
			Name: new("Shop"), Slug: new("slug-of-check"), Desc: new("described"), Tags: []string{"tag-of-check"}, Schedule: new("17 * * * *"), TZ: new("Europe/Riga"),
			SuccessKW: new("keyword"), QuietHours: new("22:00-06:00"),
		})
		w.must(err)
		unnamed, err := w.Project(w.project).Create(t.Context(), checks.Spec{Slug: new("slug-of-unnamed"), Tags: []string{"tag-of-check"}})
		w.must(err)
		for _, kind := range []pings.Kind{pings.Success, pings.Failure, pings.Success, pings.Failure} {
			w.clock.Advance(time.Minute)
			_, err := w.Ping(t.Context(), c.ID, pings.Signal{Kind: kind, Body: []byte("output of the job"), RunID: uuid.NullUUID{UUID: uuid.New(), Valid: true}})
			w.must(err)
			w.ping(*unnamed.Check, kind)
		}
		page := w.page("acme", "tag-of-check")
		for _, path := range []string{"/acme", "/acme/feed.atom"} {
			body := strings.ToLower(w.get(path))
			for _, secret := range []string{
				project.Name, project.PingKey, project.BadgeKey, project.ID.String(), page.ID.String(), c.ID.String(), c.Check.BadgeKey.String(), c.Check.UniqueKey(),
				unnamed.ID.String(), "slug-of-check", "slug-of-unnamed", "described", "tag-of-check", "17 * * * *", "riga", "keyword", "22:00-06:00", "output of the job",
				"signin", "/projects", "/checks", "/api/", "/ping",
			} {
				if strings.Contains(body, strings.ToLower(secret)) {
					t.Errorf("%s contains %q:\n%s", path, secret, body)
				}
			}
			if found := regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-`).FindString(body); found != "" {
				t.Errorf("%s contains a UUID: %s", path, found)
			}
			if !strings.Contains(body, "unnamed") {
				t.Errorf("%s does not show the check without a name", path)
			}
		}
	})
}

// hostile are names that try to leave their place.
var hostile = []string{
	`<script>alert(1)</script>`, `"><img src=x onerror=alert(1)>`, `</title><b>`, `{{.Title}}`, `javascript:alert(1)`, "]]>&amp;&#x0;", `<!-- `,
	"a\u202eb\u2066c", "\x01\x02\x1b[31mred\u0085", "\ufffe\uffff\ufeff", "line\nbreak\r\n", strings.Repeat("W", 100), strings.Repeat("\u0301", 100), strings.Repeat("ﷺ", 100),
}

func TestHostileNames(t *testing.T) {
	w := newWorld(t, dbtest.Memory(t))
	for _, name := range hostile {
		w.ping(w.check(name), pings.Failure)
	}
	renamed := w.check("renamed")
	w.ping(renamed, pings.Failure)
	page := w.page("acme")
	for _, title := range append([]string{`<b>"&'`}, hostile...) {
		page.Title = strings.Map(func(r rune) rune {
			if r < ' ' || r == '\u0085' {
				return -1
			}
			return r
		}, title)
		page.Description = page.Title + "\n\n" + page.Title
		page.Names = map[uuid.UUID]string{renamed.ID: page.Title}
		_, err := w.Project(w.project).UpdateStatusPage(t.Context(), page)
		w.must(err)
		w.pages.Refresh()
		body, feed := w.get("/acme"), w.get("/acme/feed.atom")
		for _, bad := range []string{"<script>", "<img", "<b>", "\u202e", "\u2066", "\x01", "\x1b", "\u0085"} {
			if strings.Contains(body, bad) || strings.Contains(feed, bad) {
				t.Errorf("title %q: the page or the feed contains %q", page.Title, bad)
			}
		}
		if !strings.Contains(html.UnescapeString(body), `<bdi>`+strings.TrimSpace(strings.Map(visible, page.Title))) {
			t.Errorf("title %q: the page does not show it", page.Title)
		}
		if plain := html.UnescapeString(body); !strings.Contains(plain, `<bdi class="name">`+strings.TrimSpace(strings.Map(visible, page.Title))) || strings.Contains(plain, "renamed") {
			t.Errorf("title %q: a check does not have it as its name", page.Title)
		}
		if !utf8.ValidString(body) || strings.Count(body, "<main") != 1 || strings.Count(body, "</html>") != 1 {
			t.Errorf("title %q: the page is broken", page.Title)
		}
		validFeed(t, feed)
	}
}

func visible(r rune) rune {
	if strings.ContainsRune("\u202e\u2066\ufeff\ufffe\uffff", r) {
		return -1
	}
	return r
}

// feedForm is what RFC 4287 requires of a feed.
type feedForm struct {
	XMLName xml.Name `xml:"http://www.w3.org/2005/Atom feed"`
	ID      string   `xml:"id"`
	Title   string   `xml:"title"`
	Updated string   `xml:"updated"`
	Author  []string `xml:"author>name"`
	Links   []struct {
		Rel  string `xml:"rel,attr"`
		Href string `xml:"href,attr"`
	} `xml:"link"`
	Entries []struct {
		ID      string `xml:"id"`
		Title   string `xml:"title"`
		Updated string `xml:"updated"`
		Content string `xml:"content"`
		Link    struct {
			Href string `xml:"href,attr"`
		} `xml:"link"`
	} `xml:"entry"`
}

func validFeed(t *testing.T, text string) (f feedForm) {
	t.Helper()
	if err := xml.Unmarshal([]byte(text), &f); err != nil {
		t.Fatalf("not XML: %v\n%s", err, text)
	}
	tag := regexp.MustCompile(`^tag:ops\.example\.org,\d{4}-\d\d-\d\d:[a-z/]+/[0-9a-f]{24}$`)
	ids := map[string]bool{}
	last, err := time.Parse(time.RFC3339, f.Updated)
	if err != nil || !tag.MatchString(f.ID) || f.Title == "" || len(f.Author) != 1 || f.Author[0] == "" || len(f.Links) != 2 {
		t.Errorf("the head of the feed: %+v", f)
	}
	for _, e := range f.Entries {
		at, err := time.Parse(time.RFC3339, e.Updated)
		if err != nil || at.After(last) || !tag.MatchString(e.ID) || ids[e.ID] || e.Title == "" || e.Content == "" || !strings.HasPrefix(e.Link.Href, baseURL+"/acme#i-") {
			t.Errorf("entry %+v of a feed from %v", e, last)
		}
		ids[e.ID] = true
	}
	return f
}

// TestPublicNames: a page calls a check as it was told to, whatever the check is called, and reveals no other name of it.
func TestPublicNames(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		page := w.page("acme")
		shop, mail := w.check("internal-shop-eu-1"), w.check("Mail")
		w.ping(shop, pings.Failure)
		page.Names = map[uuid.UUID]string{shop.ID: " Payments & more ", uuid.New(): "of no check"}
		page, err := w.Project(w.project).UpdateStatusPage(t.Context(), page)
		w.must(err)
		_, err = w.Project(w.project).AddWindow(t.Context(), gate.Window{
			Kind: gate.Maintenance, Start: noon.Add(time.Hour), Duration: time.Hour, Note: "Disks", Checks: []uuid.UUID{shop.ID},
		})
		w.must(err)
		w.pages.Refresh()
		w.shows("/acme", `<bdi class="name">Payments &amp; more</bdi>`, "<bdi>Payments &amp; more</bdi>: <bdi>Disks</bdi>", "Mail", "not:internal", "not:of no check")
		w.shows("/acme/feed.atom", "Payments &amp; more is down", "not:internal")
		_, err = w.Project(w.project).Update(t.Context(), shop.ID, checks.Spec{Name: new("internal renamed"), Slug: new("internal-slug")})
		w.must(err)
		w.pages.Refresh()
		w.shows("/acme", "Payments &amp; more", "not:internal")
		page.Names = map[uuid.UUID]string{mail.ID: "Letters"}
		_, err = w.Project(w.project).UpdateStatusPage(t.Context(), page)
		w.must(err)
		w.pages.Refresh()
		w.shows("/acme", "internal renamed", "Letters", "not:Payments", "not:>Mail<")
	})
}

// TestMinOutage: an outage shorter than the least duration is neither an incident nor downtime, and a check that is down is up, or late as
// it was before, until it has been down for so long. The clock alone publishes it.
func TestMinOutage(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		page := w.page("acme")
		page.MinOutage = time.Minute
		_, err := w.Project(w.project).UpdateStatusPage(t.Context(), page)
		w.must(err)
		shop := w.check("Shop")
		w.ping(shop, pings.Success)
		w.clock.Advance(20 * time.Minute)
		w.ping(shop, pings.Failure)
		w.clock.Advance(3 * time.Second)
		w.shows("/acme", "The service is up.", "No incidents since", "100%", `not:class="st down"`, "Outages shorter than 1 min are not counted.")
		w.ping(shop, pings.Success)
		w.clock.Advance(5 * time.Minute)
		w.shows("/acme", "The service is up.", "No incidents since", "100%", "not:was down", "never down")
		if feed := validFeed(t, w.get("/acme/feed.atom")); len(feed.Entries) != 0 {
			t.Errorf("the feed has a short outage: %+v", feed.Entries)
		}

		w.ping(shop, pings.Failure)
		w.shows("/acme", "The service is up.")
		w.clock.Advance(time.Minute - time.Microsecond)
		w.shows("/acme", "The service is up.", "No incidents since")
		w.clock.Advance(time.Microsecond)
		w.shows("/acme", "The service is down.", "not:No incidents", "for 1 min", `datetime="2026-03-31T12:25:03Z"`)
		if feed := validFeed(t, w.get("/acme/feed.atom")); len(feed.Entries) != 1 || feed.Entries[0].Title != "Shop is down" {
			t.Errorf("the feed lacks the outage: %+v", feed.Entries)
		}
		w.ping(shop, pings.Success)
		w.shows("/acme", "The service is up.", `<span class="took">1 min</span>`)

		w.clock.Advance(2 * time.Hour) // its deadline
		w.shows("/acme", "The service is late.", `class="st late"`, `datetime="2026-03-31T13:26:03Z"`)
		w.sweep()
		w.pages.Refresh()
		w.shows("/acme", "The service is late.", `datetime="2026-03-31T13:26:03Z"`)
		w.clock.Advance(time.Minute)
		w.shows("/acme", "The service is down.")
	})
}

// TestFeed follows an incident: one entry, which is updated when the check is up again.
func TestFeed(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.page("acme")
		c := w.check("Shop")
		w.ping(c, pings.Success)
		if f := validFeed(t, w.get("/acme/feed.atom")); len(f.Entries) != 0 || f.Updated != "2026-03-31T12:00:00Z" || f.Links[0].Href != baseURL+"/acme/feed.atom" {
			t.Errorf("before an incident: %+v", f)
		}
		w.clock.Advance(time.Minute)
		w.ping(c, pings.Failure)
		first := validFeed(t, w.get("/acme/feed.atom"))
		if len(first.Entries) != 1 || first.Entries[0].Title != "Shop is down" || first.Entries[0].Updated != "2026-03-31T12:01:00Z" {
			t.Fatalf("during an incident: %+v", first)
		}
		w.clock.Advance(41 * time.Minute)
		if again := w.get("/acme/feed.atom"); !strings.Contains(again, "is down since 31 March 2026, 12:01 UTC.") {
			t.Errorf("later: %s", again)
		}
		w.ping(c, pings.Success)
		second := validFeed(t, w.get("/acme/feed.atom"))
		if len(second.Entries) != 1 || second.Entries[0].ID != first.Entries[0].ID || second.Entries[0].Title != "Shop was down for 41 min" ||
			second.Entries[0].Updated != "2026-03-31T12:42:00Z" || second.Updated != "2026-03-31T12:42:00Z" {
			t.Errorf("after the incident: %+v", second)
		}
		if !strings.Contains(w.get("/acme"), `id="`+strings.TrimPrefix(second.Entries[0].Link.Href, baseURL+"/acme#")+`"`) {
			t.Error("the link of the entry leads nowhere")
		}
	})
}

// TestManyIncidents bounds what a check that flaps puts on a page.
func TestManyIncidents(t *testing.T) {
	w := newWorld(t, dbtest.Memory(t))
	w.page("acme")
	c := w.check("Shop")
	for range 150 {
		for _, kind := range []pings.Kind{pings.Failure, pings.Success} {
			w.clock.Advance(time.Second)
			_, err := w.Ping(t.Context(), c.ID, pings.Signal{Kind: kind})
			w.must(err)
		}
	}
	w.pages.Refresh()
	w.shows("/acme", "50 earlier incidents not shown.")
	if n := strings.Count(w.get("/acme"), `<li id="i-`); n != 100 {
		t.Errorf("%d incidents, want 100", n)
	}
	if f := validFeed(t, w.get("/acme/feed.atom")); len(f.Entries) != 50 {
		t.Errorf("%d entries, want 50", len(f.Entries))
	}
}

func TestPageHeaders(t *testing.T) {
	w := newWorld(t, dbtest.Memory(t))
	w.page("acme")
	plain := w.request(http.MethodGet, "/acme")
	packed := w.request(http.MethodGet, "/acme", "Accept-Encoding", "br, gzip;q=0.8")
	for _, answer := range []interface{ Header() http.Header }{plain, packed} {
		h := answer.Header()
		if h.Get("Cache-Control") != "public, max-age=0, s-maxage=10" || h.Get("Vary") != "Accept-Encoding" || h.Get("Content-Type") != "text/html; charset=utf-8" ||
			!strings.Contains(h.Get("Content-Security-Policy"), "default-src 'none'") || h.Get("X-Content-Type-Options") != "nosniff" || h["Set-Cookie"] != nil {
			t.Errorf("headers %v", h)
		}
	}
	if packed.Header().Get("Content-Encoding") != "gzip" || plain.Header().Get("Content-Encoding") != "" || packed.Header().Get("ETag") == plain.Header().Get("ETag") {
		t.Errorf("headers %v and %v", plain.Header(), packed.Header())
	}
	if body := plain.Body.String(); strings.Contains(body, " style=") || strings.Contains(body, "<style") || strings.Contains(body, "onclick") || strings.Contains(body, "<script>") {
		t.Error("the page has inline style or script")
	}
	tag := plain.Header().Get("ETag")
	for _, test := range []struct {
		method, path string
		headers      []string
		want         int
	}{
		{"GET", "/acme", []string{"If-None-Match", tag}, 304},
		{"GET", "/acme", []string{"If-None-Match", `"other", W/` + tag}, 304},
		{"GET", "/acme", []string{"If-None-Match", packed.Header().Get("ETag"), "Accept-Encoding", "gzip"}, 304},
		{"GET", "/acme", []string{"If-None-Match", `"other"`}, 200},
		{"GET", "/acme", []string{"Cookie", "a=b"}, 200},
		{"GET", "/acme?page=2", nil, 200},
		{"HEAD", "/acme", nil, 200},
		{"GET", "/acme/feed.atom", nil, 200},
		{"POST", "/acme", nil, 405},
		{"DELETE", "/acme", nil, 405},
		{"GET", "", nil, 404},
		{"GET", "/", nil, 404},
		{"GET", "/acme/", nil, 404},
		{"GET", "/Acme", nil, 404},
		{"GET", "/acme/feed.json", nil, 404},
		{"GET", "/acme/feed.atom/feed.atom", nil, 404},
		{"GET", "/feed.atom", nil, 404},
		{"GET", "/%00", nil, 404},
		{"GET", "/..%2facme", nil, 404},
		{"GET", "/style.css", nil, 404},
	} {
		answer := w.request(test.method, test.path, test.headers...)
		if answer.Code != test.want || (answer.Code == 304 || test.method == "HEAD") && answer.Body.Len() > 0 {
			t.Errorf("%s %s %v: status %d, want %d; body of %d bytes", test.method, test.path, test.headers, answer.Code, test.want, answer.Body.Len())
		}
		if answer.Code >= 400 && answer.Header().Get("Cache-Control") != "no-store" {
			t.Errorf("%s %s: Cache-Control %q", test.method, test.path, answer.Header().Get("Cache-Control"))
		}
	}
	browser := w.request(http.MethodGet, "/nope", "Accept", "text/html,*/*;q=0.8")
	if browser.Code != 404 || !strings.Contains(browser.Body.String(), "<h1>Status page not found.</h1>") || strings.Contains(browser.Body.String(), "<script") {
		t.Errorf("a browser gets %d: %s", browser.Code, browser.Body)
	}
	if other := w.request(http.MethodGet, "/nope", "Accept", "*/*"); other.Body.String() != "Status page not found.\n" {
		t.Errorf("others get %q", other.Body)
	}
	for _, name := range regexp.MustCompile(`(?:href|src)="/jobs/status(/[a-z-]+\.[0-9a-f]{12}\.[a-z]+)"`).FindAllStringSubmatch(plain.Body.String(), -1) {
		answer := w.request(http.MethodGet, name[1])
		if answer.Code != 200 || answer.Header().Get("Cache-Control") != "public, max-age=31536000, immutable" {
			t.Errorf("%s: status %d, %v", name[1], answer.Code, answer.Header())
		}
	}
}

func TestConfig(t *testing.T) {
	mon, err := monitor.New(dbtest.Memory(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, url := range []string{"ftp://a/", "https:///status", "https://a/?b", "https://a/#b", ":"} {
		if _, err := statuspage.New(mon, &statuspage.Config{BaseURL: url}); err == nil || !strings.Contains(err.Error(), "BaseURL") {
			t.Errorf("BaseURL %q: error %v", url, err)
		}
	}
	if _, err := statuspage.New(nil, nil); err == nil {
		t.Error("no monitor: no error")
	}
	if _, err := statuspage.New(mon, nil); err != nil {
		t.Error(fmt.Errorf("the defaults: %w", err))
	}
}

// TestPageIsTheSameForAll lets a hostile reader come first: nothing of the request is kept for the others.
func TestPageIsTheSameForAll(t *testing.T) {
	w := newWorld(t, dbtest.Memory(t))
	w.ping(w.check("Shop"), pings.Failure)
	w.page("acme")
	for _, path := range []string{"/acme", "/acme/feed.atom"} {
		r := httptest.NewRequest(http.MethodGet, baseURL+path+"?evil=1#evil", nil)
		r.Host = "evil.example"
		for _, name := range []string{"X-Forwarded-Host", "X-Forwarded-Proto", "X-Forwarded-Prefix", "Forwarded", "X-Original-URL", "Accept-Language", "Cookie", "Referer", "Authorization", "X-Api-Key"} {
			r.Header.Set(name, "evil")
		}
		first := httptest.NewRecorder()
		w.pages.ServeHTTP(first, r)
		if body := w.get(path); body != first.Body.String() || strings.Contains(body, "evil") || first.Code != http.StatusOK {
			t.Errorf("%s: the first reader got status %d and\n%s\nthe second\n%s", path, first.Code, first.Body, body)
		}
	}
}

// TestOlderDays shows days of which the transitions were pruned: they come from the statistics.
func TestOlderDays(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.clock.Set(time.Date(2026, 1, 10, 12, 0, 0, 0, time.UTC))
		c := w.check("Shop")
		_, err := w.Project(c.ProjectID).Update(t.Context(), c.ID, checks.Spec{Timeout: new(300 * 24 * time.Hour)})
		w.must(err)
		w.page("acme")
		w.ping(c, pings.Failure)
		w.clock.Advance(2 * time.Hour)
		w.ping(c, pings.Success)
		for _, at := range []time.Time{time.Date(2026, 3, 1, 0, 0, 1, 0, time.UTC), time.Date(2026, 4, 2, 12, 0, 0, 0, time.UTC)} {
			w.clock.Set(at)
			err := w.Tick(t.Context())
			w.must(err)
			w.ping(c, pings.Success)
		}
		left, err := w.Projects().Transitions(t.Context(), []uuid.UUID{c.ID}, time.Time{})
		if err != nil || len(left) != 0 {
			t.Fatalf("%d transitions are left, error %v, want none", len(left), err)
		}
		w.shows("/acme", "Since 2 Jan: down on 1 day (10 Jan for 2 h), not monitored on 8 days.", "<title>10 Jan: up 10 h, down 2 h, not monitored 12 h</title>",
			"99.89%", "No incidents since 1 February 2026.")
	})
}
