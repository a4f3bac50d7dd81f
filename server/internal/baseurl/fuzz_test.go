package baseurl_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/rollcall-dev/rollcall/server/internal/baseurl"
)

// FuzzParse: from any accepted base URL, addresses are URLs of the same host, below its path.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"http://localhost:8000", "https://example.org/rollcall/", "HTTPS://EXAMPLE.org", "http://[::1]:80/a", "http://u:p@h", "http://h?x", "http://h#x",
		"http://h/%2e%2e", "http://h/a//b", "//h", "http:h", "http://h/ä", "http://h\r\nX: y/", "http://h/\"><script>", "http://h:port", "http://%41/",
		"http://h/..", "http://h/.", "http://h/a/../b", "http://h\\@evil", "http://h /", "javascript://h", "http://h:", "http://ä.example/", "http:///x",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		base, err := baseurl.Parse("BaseURL", text)
		if err != nil {
			return
		}
		u, err := url.Parse(base.Text + "/api/v3/checks/")
		if err != nil {
			t.Fatalf("base URL %q makes no URL: %v", text, err)
		}
		if !strings.EqualFold(u.Host, base.Host) || u.Path != base.Path+"/api/v3/checks/" || u.EscapedPath() != u.Path || u.RawQuery != "" || u.User != nil {
			t.Errorf("base URL %q, parsed %+v, makes %+v", text, base, u)
		}
		if strings.ContainsAny(base.Text, "\r\n\"'<> \\") {
			t.Errorf("base URL %q becomes %q, which can end a header, a line or an attribute", text, base.Text)
		}
	})
}

func TestMisplaced(t *testing.T) {
	for _, c := range []struct {
		base, pattern, path string
		want                bool
	}{
		{"http://localhost:8000", "/jobs/", "/jobs/", true}, // the default of BaseURL
		{"http://localhost:8000", "GET example.org/jobs/{rest...}", "/jobs/x", true},
		{"http://localhost:8000", "/jobs/*", "/jobs/x", true},     // as chi says it
		{"https://example.org/jobs", "/jobs/", "/checks/x", true}, // http.StripPrefix
		{"https://example.org/jobs", "/ops/", "/ops/", true},
		{"https://example.org/jobs", "", "/ops/", true},
		{"https://example.org/jobs", "", "/jobsx/", true},
		{"https://example.org/jobs", "/jobs/", "/jobs/nothing", false},
		{"https://example.org/jobs", "/", "/jobs/nothing", false},
		{"https://example.org/jobs", "", "/jobs/nothing", false},
		{"https://example.org", "/", "/nothing", false},
		{"https://example.org", "", "/jobs/checks/", false},
		{"https://example.org/jobs", "", "*", false},
		{"https://example.org/jobs", "", "", false}, // CONNECT
	} {
		base, err := baseurl.Parse("BaseURL", c.base)
		if err != nil {
			t.Fatal(err)
		}
		if got := base.Misplaced(&http.Request{URL: &url.URL{Path: c.path}, Pattern: c.pattern}); got != c.want {
			t.Errorf("%s, mounted at %q, path %s: %v", c.base, c.pattern, c.path, got)
		}
	}
}
