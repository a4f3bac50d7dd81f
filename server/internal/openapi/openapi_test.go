package openapi_test

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rollcall-dev/rollcall/server/internal/openapi"
)

func ExampleNew() {
	docs := openapi.New("https://monitor.example.net", "https://alive.example.net")
	var document struct {
		OpenAPI string
		Servers []struct{ URL string }
	}
	if err := json.Unmarshal(docs.Document(), &document); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(document.OpenAPI, document.Servers[0].URL)
	// Output: 3.1.1 https://monitor.example.net
}

// get sends a GET to a handler.
func get(handler http.HandlerFunc, headers ...string) *http.Response {
	r := httptest.NewRequest("GET", "/", nil)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	handler(w, r)
	return w.Result()
}

func page(t *testing.T, docs *openapi.Docs) (page string, header http.Header) {
	t.Helper()
	w := httptest.NewRecorder()
	docs.ServePage(w, httptest.NewRequest("GET", "/", nil))
	return w.Body.String(), w.Header()
}

// TestAddresses: the addresses of a server never become markup.
func TestAddresses(t *testing.T) {
	const base, ping = `http://a"<b>'&c.example/x`, `http://p"</style><script>.example`
	docs := openapi.New(base, ping)
	var document struct {
		Servers []struct{ URL string }
		Paths   map[string]struct{ Servers []struct{ URL string } }
	}
	if err := json.Unmarshal(docs.Document(), &document); err != nil {
		t.Fatal(err)
	}
	got := []string{document.Servers[0].URL, document.Paths["/{uuid}"].Servers[0].URL}
	if diff := cmp.Diff([]string{base, ping}, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	html, _ := page(t, docs)
	if strings.Contains(html, "<b>'") || strings.Contains(html, "<script") || strings.Count(html, "</style>") != 1 {
		t.Error("an address is markup in the page")
	}
	for _, text := range []string{html, string(docs.Document())} {
		if strings.Contains(text, "rollcall.example.org") {
			t.Error("an address was not filled in")
		}
	}
}

// TestPingAddresses: one server does for all paths if pings are below the base URL.
func TestPingAddresses(t *testing.T) {
	for _, c := range []struct{ ping, path, server string }{
		{"https://a.example/x/ping", "/ping/{uuid}", ""}, {"https://a.example/x/alive/$1", "/alive/$1/{uuid}", ""}, {"https://a.example/x", "/{uuid}", ""},
		{"https://a.example/ping", "/{uuid}", "https://a.example/ping"}, {"https://b.example", "/{uuid}", "https://b.example"},
		{"https://a.example/xy", "/{uuid}", "https://a.example/xy"},
	} {
		var document struct {
			Paths map[string]struct{ Servers []struct{ URL string } }
		}
		if err := json.Unmarshal(openapi.New("https://a.example/x", c.ping).Document(), &document); err != nil {
			t.Fatal(err)
		}
		item, found := document.Paths[c.path]
		if !found {
			t.Errorf("pings at %s: no path %s", c.ping, c.path)
			continue
		}
		var server string
		if len(item.Servers) > 0 {
			server = item.Servers[0].URL
		}
		if server != c.server {
			t.Errorf("pings at %s: the server is %q, want %q", c.ping, server, c.server)
		}
	}
}

// all returns the matches of the first group of a pattern.
func all(html, pattern string) []string {
	var found []string
	for _, match := range regexp.MustCompile(pattern).FindAllStringSubmatch(html, -1) {
		found = append(found, match[1])
	}
	return found
}

// TestPage: every link has a target, targets are unique, and every operation and schema is on the page.
func TestPage(t *testing.T) {
	docs := openapi.New("https://monitor.example.net", "https://alive.example.net")
	html, _ := page(t, docs)
	ids := all(html, ` id="([^"]*)"`)
	slices.Sort(ids)
	if unique := slices.Compact(slices.Clone(ids)); len(unique) != len(ids) {
		t.Error("an id is there twice")
	}
	for _, link := range all(html, ` href="([^"]*)"`) {
		target, local := strings.CutPrefix(link, "#")
		if local && !slices.Contains(ids, target) || !local && link != "https://monitor.example.net/api/v3/openapi.json" {
			t.Errorf("link to %s", link)
		}
	}
	var document struct {
		Paths      map[string]map[string]json.RawMessage
		Components struct{ Schemas map[string]any }
	}
	if err := json.Unmarshal(docs.Document(), &document); err != nil {
		t.Fatal(err)
	}
	operations := 0
	for path, item := range document.Paths {
		for method, text := range item {
			var op struct{ OperationID string }
			if text[0] != '{' { // parameters and servers of the path
				continue
			}
			if err := json.Unmarshal(text, &op); err != nil {
				t.Fatal(err)
			}
			if operations++; !slices.Contains(ids, op.OperationID) {
				t.Errorf("%s %s is not in the page", method, path)
			}
		}
	}
	for name := range document.Components.Schemas {
		if !slices.Contains(ids, "schema-"+name) {
			t.Errorf("schema %s is not in the page", name)
		}
	}
	if operations < 50 || len(document.Components.Schemas) < 10 {
		t.Errorf("found %d operations and %d schemas", operations, len(document.Components.Schemas))
	}
}

// TestPagePolicy: the policy allows all that the page needs.
func TestPagePolicy(t *testing.T) {
	html, header := page(t, openapi.New("https://monitor.example.net", "https://alive.example.net"))
	if found := all(html, `(<script|<img|<iframe|<form|<link| style=| on[a-z]+=| src=|@import|url\()`); found != nil {
		t.Errorf("the page has %q", found)
	}
	styles := all(html, `(?s)<style>(.*?)</style>`)
	if len(styles) != 1 {
		t.Fatalf("%d style sheets", len(styles))
	}
	sum := sha256.Sum256([]byte(styles[0]))
	want := "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) +
		"'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; sandbox"
	if diff := cmp.Diff(want, header.Get("Content-Security-Policy")); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestConditions(t *testing.T) {
	docs := openapi.New("https://monitor.example.net", "https://alive.example.net")
	other := openapi.New("https://monitor.example.org", "https://alive.example.net")
	for _, pair := range [][2]http.HandlerFunc{{docs.ServeDocument, other.ServeDocument}, {docs.ServePage, other.ServePage}} {
		tag := get(pair[0]).Header.Get("ETag")
		if tag == get(pair[1]).Header.Get("ETag") || len(tag) < 10 {
			t.Errorf("ETag %s of two documents", tag)
		}
		for value, want := range map[string]int{tag: 304, "W/" + tag: 304, `"x", ` + tag: 304, "*": 304, `"x"`: 200, "": 200, "x": 200} {
			if got := get(pair[0], "If-None-Match", value).StatusCode; got != want {
				t.Errorf("If-None-Match: %s: status %d, want %d", value, got, want)
			}
		}
		for _, ignored := range [][]string{{"Range", "bytes=0-9"}, {"If-Match", `"x"`}, {"Range", "bytes=9999999-"}} {
			if got := get(pair[0], ignored...).StatusCode; got != 200 {
				t.Errorf("%s: status %d, want 200", ignored, got)
			}
		}
	}
	docs.Document()[0] = 'x'
	if docs.Document()[0] != '{' {
		t.Error("a caller has changed the document")
	}
}
