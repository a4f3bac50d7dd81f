package ui_test

import (
	"bytes"
	"cmp"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/dbtest"
	"github.com/rollcall-dev/rollcall/server"
	"github.com/rollcall-dev/rollcall/server/dashboard"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/pagetest"
	"github.com/rollcall-dev/rollcall/server/internal/baseurl"
)

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

func TestHeaders(t *testing.T) {
	s := pagetest.New(t)
	b := s.SignedIn(s.Keys.ReadWrite)
	for _, path := range []string{"/signin", "/", s.Path(""), "/nothing"} {
		h := b.Get(path).Header
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

func TestCrossOrigin(t *testing.T) {
	s := pagetest.New(t)
	c := s.Create(checks.Spec{Name: new("backup")})
	b := s.SignedIn(s.Keys.ReadWrite)
	form := url.Values{"check": {c.ID.String()}}
	b.Header.Set("Sec-Fetch-Site", "cross-site")
	b.Post(s.Path("bulk/delete"), form).Is(http.StatusForbidden)
	b.Header = http.Header{"Origin": {"https://evil.example"}}
	b.Post(s.Path("bulk/delete"), form).Is(http.StatusForbidden)
	b.Post("/signout", nil).Is(http.StatusForbidden)
	if _, err := s.Mon.Check(t.Context(), c.ID); err != nil {
		t.Errorf("another site has deleted the check: %v", err)
	}
	b.Header = http.Header{"Origin": {s.Web.URL}}
	b.Post(s.Path("bulk/delete"), form).Is(http.StatusSeeOther)
}

func TestAuthorize(t *testing.T) {
	var access server.Access
	err := server.ErrSignedOut
	s := pagetest.New(t, func(c *pagetest.Config) {
		c.Authorize = func(*http.Request) (server.Access, error) { return access, err }
		c.Pages.SignInURL = "/login"
	})
	b := s.Browser()
	if to := b.Get(s.Path("")).Is(http.StatusSeeOther).Header.Get("Location"); to != "/login" {
		t.Errorf("led to %s", to)
	}
	b.Post(s.Path("checks/new"), url.Values{"name": {"typed"}}).Is(http.StatusUnauthorized).Has("What you typed is not lost", `<a href="/login" target="_blank"`)
	b.Get("/signin").Is(http.StatusNotFound)
	b.Post("/signin", url.Values{"key": {s.Keys.ReadWrite}}).Is(http.StatusNotFound)
	access, err = server.Access{Name: "ada@example.org", Projects: []server.ProjectAccess{{ProjectID: s.Project.ID, Right: checks.Read}}}, nil
	b.Get(s.Path("")).Is(http.StatusOK).Has("ada@example.org", "read-only").HasNo("Sign out")

	// Each right opens its pages, and no right opens none: not even the name of the project shows.
	for right, want := range map[checks.Right][3]int{
		checks.None: {404, 404, 404}, checks.Read: {200, 403, 403}, checks.Edit: {200, 200, 403}, checks.Own: {200, 200, 200}, checks.Own + 1: {404, 404, 404},
	} {
		access.Projects[0].Right = right
		for i, page := range []string{"", "checks/new", "keys"} {
			if a := b.Get(s.Path(page)).Is(want[i]); want[i] != http.StatusOK {
				a.HasNo(s.Project.PingKey)
			}
		}
		if want[0] == http.StatusNotFound {
			b.Get("/").Is(http.StatusForbidden).HasNo(s.Project.Name)
		}
	}
	access = server.Access{}
	b.Get("/").Is(http.StatusForbidden)
	b.Get(s.Path("")).Is(http.StatusNotFound)
}
