package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/dbtest"
)

// TestRoutes asks for each part of the program, as each kind of user.
func TestRoutes(t *testing.T) {
	mon, err := monitor.New(dbtest.SQLite(t).Open(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewUnstartedServer(nil)
	base := "http://" + web.Listener.Addr().String()
	if web.Config.Handler, err = routes(t.Context(), mon, base); err != nil {
		t.Fatal(err)
	}
	web.Start()
	defer web.Close()
	for _, c := range []struct {
		user, method, path, body string
		status                   int
		has                      string
	}{
		{"", "GET", "/", "", 200, "my program"},
		{"", "GET", "/jobs/", "", 401, "Not signed in"},
		{"ann", "GET", "/jobs/", "", 200, "Three steps"},
		{"bob", "GET", "/jobs", "", 200, "bob"},
		{"", "POST", "/jobs/api/v3/checks/", `{"name": "backup"}`, 401, "missing api key"},
		{"bob", "POST", "/jobs/api/v3/checks/", `{"name": "backup"}`, 403, "signed in to view"},
		{"ann", "POST", "/jobs/api/v3/checks/", `{"name": "backup"}`, 201, base + "/jobs/ping/"},
		{"", "GET", "/jobs/ping/00000000-0000-4000-8000-000000000000", "", 404, "not found"},
	} {
		r, err := http.NewRequestWithContext(t.Context(), c.method, base+c.path, strings.NewReader(c.body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("X-Forwarded-User", c.user)
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(answer.Body)
		answer.Body.Close()
		if err != nil || answer.StatusCode != c.status || !strings.Contains(string(text), c.has) {
			t.Errorf("%s %s of %q: %d %.300s, %v, want %d with %q", c.method, c.path, c.user, answer.StatusCode, text, err, c.status, c.has)
		}
	}
}
