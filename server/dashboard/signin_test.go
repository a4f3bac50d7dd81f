package dashboard_test

import (
	"bytes"
	"cmp"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/dbtest"
	"github.com/rollcall-dev/rollcall/server"
	"github.com/rollcall-dev/rollcall/server/dashboard"
	"github.com/rollcall-dev/rollcall/server/internal/baseurl"
)

func TestSignInByKey(t *testing.T) {
	s := newSite(t)
	b := s.browser()
	to := b.get(s.path("?state=down")).is(http.StatusSeeOther).header.Get("Location")
	if want := "/signin?next=" + url.QueryEscape(s.path("?state=down")); to != want {
		t.Errorf("led to %s, want %s", to, want)
	}
	b.get(to).is(http.StatusOK).has(`name="key"`)
	b.post("/signin", url.Values{"key": {"rcw_wrong"}}).is(http.StatusForbidden).has("This key is not valid.").hasNo("rcw_wrong")
	in := b.post("/signin", url.Values{"key": {" " + s.keys.ReadWrite + "\n"}, "next": {s.path("?state=down")}}).is(http.StatusSeeOther)
	if to := in.header.Get("Location"); to != s.path("?state=down") {
		t.Errorf("led to %s after signing in", to)
	}
	cookie := in.header.Get("Set-Cookie")
	for _, want := range []string{"HttpOnly", "SameSite=Lax", "Path=/", "Max-Age=1209600"} {
		if !strings.Contains(cookie, want) {
			t.Errorf("the cookie lacks %s: %s", want, cookie)
		}
	}
	if strings.Contains(cookie, "Secure") {
		t.Errorf("a cookie for http is Secure: %s", cookie)
	}
	b.get(s.path("")).is(http.StatusOK).has("Sign out")
	b.post("/signout", nil).is(http.StatusSeeOther)
	b.get(s.path("")).is(http.StatusSeeOther)
}

func TestSessionDiesWithItsKey(t *testing.T) {
	s := newSite(t)
	text, key, err := s.mon.Project(s.project.ID).CreateKey(t.Context(), checks.ReadWrite)
	if err != nil {
		t.Fatal(err)
	}
	b := s.signedIn(text)
	if err := s.mon.Project(s.project.ID).DeleteKey(t.Context(), key.ID); err != nil {
		t.Fatal(err)
	}
	dashboard.ForgetKeys(s.pages, s.project.ID)
	b.get(s.path("")).is(http.StatusSeeOther)
}

func TestSessionExpires(t *testing.T) {
	s := newSite(t)
	b := s.signedIn(s.keys.ReadOnly)
	s.advance(10 * 24 * time.Hour)
	if b.get(s.path("")).is(http.StatusOK).header.Get("Set-Cookie") == "" {
		t.Error("a visit after 10 days does not renew the session")
	}
	s.advance(10 * 24 * time.Hour)
	b.get(s.path("")).is(http.StatusOK)
	s.advance(14 * 24 * time.Hour)
	b.get(s.path("")).is(http.StatusSeeOther)
}

func TestForgedSession(t *testing.T) {
	s := newSite(t)
	b := s.signedIn(s.keys.ReadOnly)
	u, _ := url.Parse(s.web.URL)
	cookie := b.client.Jar.Cookies(u)[0]
	for _, value := range []string{"", ".", "x", cookie.Value[1:], cookie.Value + "A", strings.Replace(cookie.Value, ".", "A.", 1)} {
		other := s.browser()
		other.client.Jar.SetCookies(u, []*http.Cookie{{Name: cookie.Name, Value: value}})
		other.get(s.path("")).is(http.StatusSeeOther)
	}
}

func TestSignInLink(t *testing.T) {
	s := newSite(t)
	link, err := s.pages.SignInLink(t.Context(), s.keys.ReadWrite)
	if err != nil {
		t.Fatal(err)
	}
	ahead := s.browser()
	ahead.header.Set("Sec-Purpose", "prefetch;prerender")
	ahead.get(link).is(http.StatusNoContent)
	b := s.browser()
	if to := b.get(link).is(http.StatusSeeOther).header.Get("Location"); to != s.path("overview") {
		t.Errorf("the link leads to %s", to)
	}
	b.get(s.path("")).is(http.StatusOK).hasNo("read-only")
	s.browser().get(link).is(http.StatusForbidden).has("already used")

	if link, err = s.pages.SignInLink(t.Context(), s.keys.ReadOnly); err != nil {
		t.Fatal(err)
	}
	s.advance(24 * time.Hour)
	s.browser().get(link).is(http.StatusForbidden)
	s.browser().get(link[:len(link)-3]).is(http.StatusForbidden)
}

func TestReadOnlyAndStrangers(t *testing.T) {
	s := newSite(t)
	c := s.create(checks.Spec{Name: new("backup")})
	other, otherKeys, err := s.mon.Projects().Create(t.Context(), projectSpec("other"))
	if err != nil {
		t.Fatal(err)
	}
	reader := s.signedIn(s.keys.ReadOnly)
	reader.get(s.path("")).is(http.StatusOK).has("read-only").hasNo(`name="action"`, "New check")
	reader.post(s.path("bulk"), url.Values{"action": {"delete"}, "check": {c.ID.String()}}).is(http.StatusForbidden)
	stranger := s.signedIn(otherKeys.ReadWrite)
	stranger.get(s.path("")).is(http.StatusNotFound)
	stranger.post(s.path("bulk"), url.Values{"action": {"delete"}, "check": {c.ID.String()}}).is(http.StatusNotFound)
	stranger.post("/projects/"+other.ID.String()+"/bulk", url.Values{"action": {"delete"}, "check": {c.ID.String()}}).is(http.StatusSeeOther)
	if _, err := s.mon.Check(t.Context(), c.ID); err != nil {
		t.Errorf("a stranger has deleted the check: %v", err)
	}
	// A second key adds its project to the session.
	stranger.post("/signin", url.Values{"key": {s.keys.ReadOnly}}).is(http.StatusSeeOther)
	stranger.get(s.path("")).is(http.StatusOK).has("read-only", "other")
	stranger.get("/projects/" + uuid.NewString() + "/").is(http.StatusNotFound)
}

func TestCrossOrigin(t *testing.T) {
	s := newSite(t)
	c := s.create(checks.Spec{Name: new("backup")})
	b := s.signedIn(s.keys.ReadWrite)
	form := url.Values{"check": {c.ID.String()}}
	b.header.Set("Sec-Fetch-Site", "cross-site")
	b.post(s.path("bulk/delete"), form).is(http.StatusForbidden)
	b.header = http.Header{"Origin": {"https://evil.example"}}
	b.post(s.path("bulk/delete"), form).is(http.StatusForbidden)
	b.post("/signout", nil).is(http.StatusForbidden)
	if _, err := s.mon.Check(t.Context(), c.ID); err != nil {
		t.Errorf("another site has deleted the check: %v", err)
	}
	b.header = http.Header{"Origin": {s.web.URL}}
	b.post(s.path("bulk/delete"), form).is(http.StatusSeeOther)
}

func TestOpenRedirect(t *testing.T) {
	s := newSite(t)
	for _, next := range []string{"//evil.example", "https://evil.example", `/\evil.example`, "evil.example", "/\t/evil.example", "javascript:alert(1)"} {
		to := s.browser().post("/signin", url.Values{"key": {s.keys.ReadOnly}, "next": {next}}).is(http.StatusSeeOther).header.Get("Location")
		if to != s.path("overview") {
			t.Errorf("%q leads to %s", next, to)
		}
	}
}

func TestAuthorize(t *testing.T) {
	var access server.Access
	err := server.ErrSignedOut
	s := newSite(t, func(c *config) {
		c.Authorize = func(*http.Request) (server.Access, error) { return access, err }
		c.pages.SignInURL = "/login"
	})
	b := s.browser()
	if to := b.get(s.path("")).is(http.StatusSeeOther).header.Get("Location"); to != "/login" {
		t.Errorf("led to %s", to)
	}
	b.post(s.path("checks/new"), url.Values{"name": {"typed"}}).is(http.StatusUnauthorized).has("What you typed is not lost", `<a href="/login" target="_blank"`)
	b.get("/signin").is(http.StatusNotFound)
	b.post("/signin", url.Values{"key": {s.keys.ReadWrite}}).is(http.StatusNotFound)
	access, err = server.Access{Name: "ada@example.org", Projects: []server.ProjectAccess{{ProjectID: s.project.ID, Right: checks.Read}}}, nil
	b.get(s.path("")).is(http.StatusOK).has("ada@example.org", "read-only").hasNo("Sign out")

	// Each right opens its pages, and no right opens none: not even the name of the project shows.
	for right, want := range map[checks.Right][3]int{
		checks.None: {404, 404, 404}, checks.Read: {200, 403, 403}, checks.Edit: {200, 200, 403}, checks.Own: {200, 200, 200}, checks.Own + 1: {404, 404, 404},
	} {
		access.Projects[0].Right = right
		for i, page := range []string{"", "checks/new", "keys"} {
			if a := b.get(s.path(page)).is(want[i]); want[i] != http.StatusOK {
				a.hasNo(s.project.PingKey)
			}
		}
		if want[0] == http.StatusNotFound {
			b.get("/").is(http.StatusForbidden).hasNo(s.project.Name)
		}
	}
	access = server.Access{}
	b.get("/").is(http.StatusForbidden)
	b.get(s.path("")).is(http.StatusNotFound)
}

func TestHeaders(t *testing.T) {
	s := newSite(t)
	b := s.signedIn(s.keys.ReadWrite)
	for _, path := range []string{"/signin", "/", s.path(""), "/nothing"} {
		h := b.get(path).header
		if csp := h.Get("Content-Security-Policy"); !strings.Contains(csp, "default-src 'none'") || strings.Contains(csp, "unsafe") {
			t.Errorf("%s: Content-Security-Policy: %s", path, csp)
		}
		for name, want := range map[string]string{"X-Content-Type-Options": "nosniff", "Cache-Control": "no-store", "Referrer-Policy": "same-origin"} {
			if h.Get(name) != want {
				t.Errorf("%s: %s is %q, want %q", path, name, h.Get(name), want)
			}
		}
	}
}

func TestHostileNames(t *testing.T) {
	s := newSite(t)
	const evil = `<script>alert(1)</script>"'><img src=x onerror=alert(2)>`
	s.create(checks.Spec{Name: new(evil), Tags: []string{"<i>", `"x"`}})
	b := s.signedIn(s.keys.ReadWrite)
	for _, path := range []string{s.path(""), s.path("?q=" + url.QueryEscape(evil)), "/signin?next=" + url.QueryEscape("/"+evil)} {
		b.get(path).is(http.StatusOK).hasNo("<script>alert", "<img src=x", "<i>")
	}
}

// Signing out ends the session: no cookie that the browser ever got works any more, on no server. Another browser that
// signed in with the same key stays signed in.
func TestSignOutEndsTheSession(t *testing.T) {
	var db away
	s := newSiteStored(t, db.around)
	another := s.newPages()
	t.Cleanup(another.Close)
	b, colleague := s.signedIn(s.keys.ReadWrite), s.signedIn(s.keys.ReadWrite)
	u, _ := url.Parse(s.web.URL)
	stolen := []*http.Cookie{b.client.Jar.Cookies(u)[0]}
	s.advance(2 * 24 * time.Hour)
	b.get(s.path("")).is(http.StatusOK)
	b.post("/signin", url.Values{"key": {s.keys.ReadOnly}}).is(http.StatusSeeOther)
	stolen = append(stolen, b.client.Jar.Cookies(u)[0])
	if stolen[0].Value == stolen[1].Value {
		t.Fatal("the cookie was not renewed")
	}
	statuses := func() (list []int) {
		for _, pages := range []http.Handler{s.pages, another} {
			for _, cookie := range stolen {
				r := httptest.NewRequest(http.MethodGet, s.path(""), nil)
				r.AddCookie(cookie)
				w := httptest.NewRecorder()
				pages.ServeHTTP(w, r)
				list = append(list, w.Code)
			}
		}
		return list
	}
	if got, want := statuses()[:2], []int{200, 200}; !slices.Equal(got, want) {
		t.Fatalf("statuses before signing out: %v", got)
	}
	db.Store(true)
	b.post("/signout", nil).is(http.StatusServiceUnavailable)
	db.Store(false)
	dashboard.ForgetKeys(another, s.project.ID)
	b.post("/signout", nil).is(http.StatusSeeOther)
	if got, want := statuses(), []int{303, 303, 303, 303}; !slices.Equal(got, want) {
		t.Errorf("statuses after signing out: %v, want %v", got, want)
	}
	colleague.get(s.path("")).is(http.StatusOK)
	b.get(s.path("")).is(http.StatusSeeOther)
	b.post("/signin", url.Values{"key": {s.keys.ReadWrite}}).is(http.StatusSeeOther)
	b.get(s.path("")).is(http.StatusOK)
}

// TestMountedElsewhere: pages and server say that they are not mounted where BaseURL says.
func TestMountedElsewhere(t *testing.T) {
	for _, c := range []struct{ baseURL, mount, path string }{
		{"", "/jobs/", "/jobs/"}, {"https://example.org/ops", "/jobs/", "/jobs/signin"}, {"https://example.org/ops", "", "/signin"},
	} {
		var log bytes.Buffer
		mon, err := monitor.New(dbtest.Memory(t), nil)
		if err != nil {
			t.Fatal(err)
		}
		srv, err := server.New(mon, &server.Config{BaseURL: c.baseURL, Dashboard: &dashboard.Config{}, Logger: slog.New(slog.NewTextHandler(&log, nil))})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(srv.Close)
		for _, handler := range []http.Handler{srv, srv.Pages()} {
			log.Reset()
			if c.mount != "" {
				mux := http.NewServeMux()
				mux.Handle(c.mount, handler)
				handler = mux
			}
			for range 2 {
				w := httptest.NewRecorder()
				handler.ServeHTTP(w, httptest.NewRequest("GET", c.path, nil))
				if w.Code != http.StatusNotFound || handler == srv.Pages() && !strings.Contains(w.Body.String(), "BaseURL is "+c.baseURL) {
					t.Errorf("%+v: %d %s", c, w.Code, w.Body)
				}
			}
			for _, part := range []string{"level=WARN", "path=" + c.path, "mounted_at=" + c.mount, "base_url=" + cmp.Or(c.baseURL, baseurl.Default)} {
				if strings.Count(log.String(), part) != 1 {
					t.Errorf("%+v: the log has not once %s: %s", c, part, &log)
				}
			}
		}
	}
}
