package project_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/pagetest"
)

const (
	importedFirst  = "31365bce-8da9-4729-8ff3-aaa71d56b712"
	importedSecond = "803f680d-e89b-492b-82ef-2be7b774a92d"
	sourceKey      = "hc-s3cret-key-000000000000000000"
)

// source is a Healthchecks server, with the checks of one project.
func source(t *testing.T, list string) *httptest.Server {
	t.Helper()
	web := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Header.Get("X-Api-Key") != sourceKey:
			w.WriteHeader(http.StatusUnauthorized)
			fmt.Fprintf(w, `{"error": "wrong api key %s"}`, r.Header.Get("X-Api-Key"))
		case r.URL.Path == "/api/v3/checks/":
			fmt.Fprintf(w, `{"checks": [%s]}`, list)
		case r.URL.Path == "/api/v3/channels/":
			fmt.Fprint(w, `{"channels": [{"id": "a", "name": "<Ops>", "kind": "email"}]}`)
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(web.Close)
	return web
}

// planOf is the sealed plan in a page.
func planOf(a *pagetest.Answer) url.Values {
	a.T.Helper()
	_, rest, ok := strings.Cut(a.Body, `name="plan" value="`)
	if !ok {
		a.T.Fatalf("no plan: %s", a.Body)
	}
	text, _, _ := strings.Cut(rest, `"`)
	return url.Values{"plan": {text}}
}

func TestImport(t *testing.T) {
	web := source(t, `{"uuid": "`+importedFirst+`", "name": "Backup <x>", "slug": "backup", "timeout": 3600, "channels": "a"},
		{"uuid": "`+importedSecond+`", "name": "Paused", "schedule": "0 3 * * *", "tz": "Europe/Riga", "status": "paused"},
		{"name": "No UUID"}, {"uuid": "803f680d-e89b-492b-82ef-2be7b774a92e", "name": "Bad", "timeout": 1}`)
	s := pagetest.New(t, func(c *pagetest.Config) { c.Pages.ImportClient = web.Client() })
	b, reader := s.SignedIn(s.Keys.ReadWrite), s.SignedIn(s.Keys.ReadOnly)
	reader.Get(s.Path("import")).Is(http.StatusForbidden)
	reader.Post(s.Path("import"), url.Values{"url": {web.URL}, "key": {sourceKey}}).Is(http.StatusForbidden)
	b.Get(s.Path("import")).Is(http.StatusOK).Has("https://healthchecks.io")
	plan := b.Post(s.Path("import"), url.Values{"url": {web.URL}, "key": {" " + sourceKey + " "}}).Is(http.StatusOK).
		Has("<b>2</b> new", "<b>2</b> not importable", "Backup &lt;x&gt;", importedFirst, "new, paused", "No UUID", "timeout is too small", "&lt;Ops&gt;", "Import 2 checks").
		HasNo(sourceKey)
	if list, err := checks.Stored(s.Mon.Project(s.Project.ID).Checks(t.Context(), checks.Query{})); err != nil || len(list) != 0 {
		t.Fatalf("the plan made %v, %v", list, err)
	}
	reader.Post(s.Path("import"), planOf(plan)).Is(http.StatusForbidden)
	b.Post(s.Path("import"), planOf(plan)).Is(http.StatusSeeOther)
	b.Get(s.Path("")).Has("Imported: 2 created, 0 updated, 0 unchanged, 0 refused.")
	first, err := s.Mon.Check(t.Context(), uuid.MustParse(importedFirst))
	if err != nil || first.Name != "Backup <x>" || first.Timeout != time.Hour || first.ProjectID != s.Project.ID {
		t.Errorf("imported %+v, %v", first, err)
	}
	if second, err := s.Mon.Check(t.Context(), uuid.MustParse(importedSecond)); err != nil || second.Stored != checks.StatusPaused || second.TZ != "Europe/Riga" {
		t.Errorf("imported %+v, %v", second, err)
	}
	if _, err := s.Mon.Project(first.ProjectID).Update(t.Context(), first.ID, checks.Spec{Name: new("Renamed")}); err != nil {
		t.Fatal(err)
	}
	again := b.Post(s.Path("import"), url.Values{"url": {web.URL}, "key": {sourceKey}}).Is(http.StatusOK).Has("<b>0</b> new, <b>1</b> changed, <b>1</b> unchanged", "Renamed")
	s.Advance(2 * time.Hour)
	b.Post(s.Path("import"), planOf(again)).Is(http.StatusBadRequest).Has("too old")
}

// TestImportForgery checks that only plans of this project are applied.
func TestImportForgery(t *testing.T) {
	web := source(t, `{"uuid": "`+importedFirst+`", "name": "Backup", "timeout": 3600}`)
	s := pagetest.New(t, func(c *pagetest.Config) { c.Pages.ImportClient = web.Client() })
	other, keys, err := s.Mon.Projects().Create(t.Context(), checks.ProjectSpec{Name: "other"})
	if err != nil {
		t.Fatal(err)
	}
	plan := planOf(s.SignedIn(keys.ReadWrite).Post("/projects/"+other.ID.String()+"/import", url.Values{"url": {web.URL}, "key": {sourceKey}}).Is(http.StatusOK))
	b := s.SignedIn(s.Keys.ReadWrite)
	b.Post(s.Path("import"), plan).Is(http.StatusBadRequest)
	b.Post(s.Path("import"), url.Values{"plan": {"x.y"}}).Is(http.StatusBadRequest)
	b.Post(s.Path("import"), url.Values{"plan": {strings.Repeat("x", 2<<20)}}).Is(http.StatusRequestEntityTooLarge)
	// The UUID of another project's check is refused, also in a plan made before that project had it.
	mine := planOf(b.Post(s.Path("import"), url.Values{"url": {web.URL}, "key": {sourceKey}}).Is(http.StatusOK))
	if _, err := s.Mon.Project(other.ID).Create(t.Context(), checks.Spec{ID: uuid.MustParse(importedFirst)}); err != nil {
		t.Fatal(err)
	}
	b.Post(s.Path("import"), mine).Is(http.StatusSeeOther)
	b.Get(s.Path("")).Has("0 created", "1 refused")
}

// TestImportProblems checks what the page says when the source does not answer as it should, without the key and without
// the answer.
func TestImportProblems(t *testing.T) {
	web := source(t, "")
	s := pagetest.New(t, func(c *pagetest.Config) { c.Pages.ImportClient = web.Client() })
	b := s.SignedIn(s.Keys.ReadWrite)
	page := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "<h1>secret page</h1>") }))
	defer page.Close()
	hidden := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { http.Error(w, "secret text", http.StatusTeapot) }))
	defer hidden.Close()
	for _, test := range []struct{ url, key, want string }{
		{web.URL, "wrong-key-0000000000000000000000", "refuses the key"},
		{web.URL, "k\u00e9y" + strings.Repeat("0", 28), "printable ASCII"},
		{web.URL, "short", "has 5 characters"},
		{"http://hc.example.org", sourceKey, "must begin with https://"},
		{"file:///etc/passwd", sourceKey, "must begin with https://"},
		{"https://user:pw@hc.example.org", sourceKey, "must not contain a user name"},
		{page.URL, sourceKey, "not that of a Healthchecks server"},
		{hidden.URL, sourceKey, "status 418"},
		{"https://127.0.0.1:1", sourceKey, "cannot be reached"},
	} {
		b.Post(s.Path("import"), url.Values{"url": {test.url}, "key": {test.key}}).Is(http.StatusBadRequest).Has(test.want).HasNo(sourceKey, "wrong-key", "secret")
	}
	b.Post(s.Path("import"), url.Values{"url": {web.URL}, "key": {sourceKey}}).Is(http.StatusOK).Has("Nothing to import")
	for range 10 {
		b.Post(s.Path("import"), url.Values{"url": {web.URL}, "key": {sourceKey}})
	}
	b.Post(s.Path("import"), url.Values{"url": {web.URL}, "key": {sourceKey}}).Is(http.StatusTooManyRequests)
}

// TestImportFromPrivateNetwork checks that imports do not reach the network of the server.
func TestImportFromPrivateNetwork(t *testing.T) {
	requests := 0
	inside := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { requests++ }))
	defer inside.Close()
	s := pagetest.New(t)
	b := s.SignedIn(s.Keys.ReadWrite)
	_, port, _ := strings.Cut(strings.TrimPrefix(inside.URL, "https://"), ":")
	for _, host := range []string{"127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]", "10.0.0.1", "169.254.169.254"} {
		b.Post(s.Path("import"), url.Values{"url": {"https://" + host + ":" + port}, "key": {sourceKey}}).Is(http.StatusBadRequest).Has("private network").HasNo("127.0.0.1:"+port+" ", "dial")
	}
	if requests != 0 {
		t.Errorf("%d requests reached the local machine", requests)
	}
}
