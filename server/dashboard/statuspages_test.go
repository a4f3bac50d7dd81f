package dashboard_test

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/pings"
)

func TestStatusPages(t *testing.T) {
	s := newSite(t)
	b, reader, public := s.signedIn(s.keys.ReadWrite), s.signedIn(s.keys.ReadOnly), s.browser()
	b.get(s.path("status")).is(http.StatusOK).has("No status pages yet", "Create a status page")
	reader.get(s.path("status")).is(http.StatusOK).has("No status pages yet").hasNo("Add your first integration")
	reader.get(s.path("status/new")).is(http.StatusForbidden)
	public.get(s.path("status")).is(http.StatusSeeOther)
	shop := s.create(checks.Spec{Name: new("Shop"), Tags: []string{"web", "eu"}})
	s.create(checks.Spec{Name: new("Mail <b>"), Tags: []string{"web"}})
	s.create(checks.Spec{Name: new("Database"), Tags: []string{"db"}})

	b.get(s.path("status/new")).is(http.StatusOK).has("New status page", `value="web"`, `value="db"`, "The public will see no checks")
	form := url.Values{"title": {"Acme & Sons"}, "scope": {"tags"}, "tag": {"web"}, "description": {"Ask us."}}
	form.Set("preview", "yes")
	b.post(s.path("status/new"), form).is(http.StatusOK).has("The public will see 2 of 3 checks", "Mail &lt;b&gt;", "Acme &amp; Sons", "Ask us.").hasNo(">Database<")
	public.get("/status/acme-sons").is(http.StatusNotFound)
	form.Del("preview")
	b.post(s.path("status/new"), form).is(http.StatusSeeOther)
	b.get(s.path("status")).is(http.StatusOK).has("Published Acme &amp; Sons. Anyone can view it at", "/status/acme-sons", "2 of 3 checks")
	reader.get(s.path("status")).has("Acme &amp; Sons", "/status/acme-sons").hasNo("New status page")
	got := public.get("/status/acme-sons").is(http.StatusOK).has("Acme &amp; Sons", "Ask us.", "Shop", "Mail &lt;b&gt;").hasNo("Database", "backups")
	if got.header["Set-Cookie"] != nil {
		t.Errorf("a public page sets cookies: %v", got.header)
	}

	pages, err := s.mon.Project(s.project.ID).StatusPages(t.Context())
	if err != nil || len(pages) != 1 {
		t.Fatal(pages, err)
	}
	path := s.path("status/" + pages[0].ID.String())
	b.get(path).is(http.StatusOK).has(`value="acme-sons"`, "The public will see 2 of 3 checks", "Changing it breaks links")
	reader.get(path).is(http.StatusForbidden)
	reader.post(path, form).is(http.StatusForbidden)
	form.Set("scope", "all")
	form.Set("slug", "acme")
	b.post(path, form).is(http.StatusSeeOther)
	public.get("/status/acme").is(http.StatusOK).has("Database")
	public.get("/status/acme-sons").is(http.StatusNotFound)
	if _, err := s.mon.Ping(t.Context(), shop.ID, pings.Signal{Kind: pings.Failure}); err != nil {
		t.Fatal(err)
	}

	b.get(path+"/delete").is(http.StatusOK).has("will return “not found”", "/status/acme")
	reader.post(path+"/delete", nil).is(http.StatusForbidden)
	public.get("/status/acme").is(http.StatusOK)
	b.post(path+"/delete", nil).is(http.StatusSeeOther)
	public.get("/status/acme").is(http.StatusNotFound)
	b.get(path).is(http.StatusNotFound)
	b.post(path+"/delete", nil).is(http.StatusNotFound)
}

func TestStatusPageProblems(t *testing.T) {
	s := newSite(t)
	b := s.signedIn(s.keys.ReadWrite)
	s.create(checks.Spec{Name: new("Shop"), Tags: []string{"web"}})
	valid := url.Values{"title": {"Acme"}, "slug": {"acme"}, "scope": {"all"}}
	b.post(s.path("status/new"), valid).is(http.StatusSeeOther)
	for _, test := range []struct {
		field, value string
		status       int
		want         string
	}{
		{"slug", "acme", http.StatusConflict, "Another status page uses this URL."},
		{"slug", "Not valid", http.StatusBadRequest, "The address may only have a-z, 0-9 and hyphen: &#34;Not valid&#34;."},
		{"slug", "../../signin", http.StatusBadRequest, "The address may only have"},
		{"title", "", http.StatusBadRequest, "The title is empty."},
		{"title", "\u202e", http.StatusBadRequest, "The address is empty."},
		{"title", strings.Repeat("ü", 101), http.StatusBadRequest, "The title is too long: 101 characters, the maximum is 100."},
		{"description", "a\x00", http.StatusBadRequest, "The description has a NUL character."},
		{"scope", "tags", http.StatusBadRequest, "Choose a tag, or all checks."},
		{"scope", "", http.StatusBadRequest, "Choose a tag, or all checks."},
	} {
		form := url.Values{}
		for name, values := range valid {
			form[name] = values
		}
		form.Set("slug", "other")
		if test.want == "The address is empty." {
			form.Set("slug", "")
		}
		form.Set(test.field, test.value)
		b.post(s.path("status/new"), form).is(test.status).has(test.want, `aria-invalid="true"`)
	}
	for _, preview := range []string{"preview", "save"} {
		form := url.Values{"title": {"Acme"}, "scope": {"tags"}, "tag": strings.Split(numbers(5_000), " "), preview: {"1"}}
		if body := b.post(s.path("status/new"), form).is(http.StatusBadRequest).has("The list of tags is too long").body; len(body) > 50_000 {
			t.Errorf("the answer has %d bytes", len(body))
		}
	}
	for i := range checks.MaxStatusPages - 1 {
		if _, err := s.mon.Project(s.project.ID).CreateStatusPage(t.Context(), checks.StatusPage{Slug: fmt.Sprint("p", i), Title: "P"}); err != nil {
			t.Fatal(err)
		}
	}
	valid.Set("slug", "one-more")
	b.post(s.path("status/new"), valid).is(http.StatusConflict).has("The project has 100 status pages, the maximum.")
	b.header.Set("Sec-Fetch-Site", "cross-site")
	b.post(s.path("status/new"), valid).is(http.StatusForbidden)
	b.get("/status/acme").is(http.StatusOK)
}

// TestStatusPageOfAnotherProject changes and deletes a page with the key of another project.
func TestStatusPageOfAnotherProject(t *testing.T) {
	s := newSite(t)
	page, err := s.mon.Project(s.project.ID).CreateStatusPage(t.Context(), checks.StatusPage{Slug: "acme", Title: "Acme"})
	if err != nil {
		t.Fatal(err)
	}
	project, keys, err := s.mon.Projects().Create(t.Context(), monitor.ProjectSpec{Name: "other"})
	if err != nil {
		t.Fatal(err)
	}
	thief := s.signedIn(keys.ReadWrite)
	form := url.Values{"title": {"Stolen"}, "slug": {"acme"}, "scope": {"all"}}
	for _, path := range []string{s.path("status/" + page.ID.String()), "/projects/" + project.ID.String() + "/status/" + page.ID.String()} {
		thief.get(path).is(http.StatusNotFound).hasNo("Acme")
		thief.post(path, form).is(http.StatusNotFound)
		thief.post(path+"/delete", nil).is(http.StatusNotFound)
	}
	thief.post("/projects/"+project.ID.String()+"/status/new", form).is(http.StatusConflict)
	thief.get("/status/acme").is(http.StatusOK).has("Acme").hasNo("Stolen")
}

// TestStatusPageColours sees to it that public pages have the colours of the dashboard.
func TestStatusPageColours(t *testing.T) {
	s := newSite(t)
	if _, err := s.mon.Project(s.project.ID).CreateStatusPage(t.Context(), checks.StatusPage{Slug: "acme", Title: "Acme"}); err != nil {
		t.Fatal(err)
	}
	b := s.browser()
	colours := func(page string) []string {
		address := regexp.MustCompile(`/[^"]*style\.[^"]*css`).FindString(b.get(page).is(http.StatusOK).body)
		return regexp.MustCompile(`--[a-z-]+: light-dark\([^;]+;`).FindAllString(b.get(address).is(http.StatusOK).body, -1)
	}
	ours := colours("/signin")
	if diff := cmp.Diff(ours, colours("/status/acme")); diff != "" || len(ours) < 18 {
		t.Errorf("the colours of %d styles differ (-dashboard +statuspage):\n%s", len(ours), diff)
	}
}
