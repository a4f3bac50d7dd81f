package dashboard_test

import (
	"net/http"
	"testing"

	"github.com/rollcall-dev/rollcall/server"
	"github.com/rollcall-dev/rollcall/server/dashboard"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/pagetest"
)

// TestNothingThere: a browser gets a page for an address that nothing is at, and an icon; clients of the API get JSON as ever.
func TestNothingThere(t *testing.T) {
	s := pagetest.New(t)
	web, err := server.New(s.Mon, &server.Config{BaseURL: s.Web.URL, Dashboard: &dashboard.Config{}})
	pagetest.NoError(t, err)
	t.Cleanup(web.Close)
	s.Web.Config.Handler = web
	client, browser := s.Browser(), s.Browser()
	browser.Header.Set("Accept", "text/html,application/xhtml+xml,*/*;q=0.8")
	const text = `{"error":"no such path"}`
	for _, accept := range []string{"", "*/*", "application/json"} {
		client.Header.Set("Accept", accept)
		client.Get("/nope").Is(http.StatusNotFound).Has(text)
	}
	page := browser.Get("/nope").Is(http.StatusNotFound).Has("<h1>Page not found</h1>", "style.css").HasNo("data-project", "data-zone=", "Times in")
	pagetest.WellFormed(t, page.Body)
	browser.Get("/api/v3/nope").Is(http.StatusNotFound).Has(text)
	browser.Post("/nope", nil).Is(http.StatusNotFound).Has(text)
	icon := client.Get("/favicon.ico").Is(http.StatusFound).Location()
	if got := client.Get(icon).Is(http.StatusOK).Header.Get("Content-Type"); got != "image/svg+xml" {
		t.Errorf("the icon is %s", got)
	}
}
