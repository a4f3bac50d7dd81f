package project_test

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/pings"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/pagetest"
)

func TestStatusPages(t *testing.T) {
	s := pagetest.New(t)
	b, reader, public := s.SignedIn(s.Keys.ReadWrite), s.SignedIn(s.Keys.ReadOnly), s.Browser()
	b.Get(s.Path("status")).Is(http.StatusOK).Has("No status pages yet", "Create a status page")
	reader.Get(s.Path("status")).Is(http.StatusOK).Has("No status pages yet").HasNo("Add your first integration")
	reader.Get(s.Path("status/new")).Is(http.StatusForbidden)
	public.Get(s.Path("status")).Is(http.StatusSeeOther)
	shop := s.Create(checks.Spec{Name: new("Shop"), Tags: []string{"web", "eu"}})
	s.Create(checks.Spec{Name: new("Mail <b>"), Tags: []string{"web"}})
	s.Create(checks.Spec{Name: new("Database"), Tags: []string{"db"}})

	b.Get(s.Path("status/new")).Is(http.StatusOK).Has("New status page", `value="web"`, `value="db"`, "The public will see no checks")
	form := url.Values{"title": {"Acme & Sons"}, "scope": {"tags"}, "tag": {"web"}, "description": {"Ask us."}}
	form.Set("preview", "yes")
	b.Post(s.Path("status/new"), form).Is(http.StatusOK).Has("The public will see 2 of 3 checks", "Mail &lt;b&gt;", "Acme &amp; Sons", "Ask us.").HasNo(">Database<")
	public.Get("/status/acme-sons").Is(http.StatusNotFound)
	form.Del("preview")
	b.Post(s.Path("status/new"), form).Is(http.StatusSeeOther)
	b.Get(s.Path("status")).Is(http.StatusOK).Has("Published Acme &amp; Sons. Anyone can view it at", "/status/acme-sons", "2 of 3 checks")
	reader.Get(s.Path("status")).Has("Acme &amp; Sons", "/status/acme-sons").HasNo("New status page")
	got := public.Get("/status/acme-sons").Is(http.StatusOK).Has("Acme &amp; Sons", "Ask us.", "Shop", "Mail &lt;b&gt;").HasNo("Database", "backups")
	if got.Header["Set-Cookie"] != nil {
		t.Errorf("a public page sets cookies: %v", got.Header)
	}

	pages, err := s.Mon.Project(s.Project.ID).StatusPages(t.Context())
	if err != nil || len(pages) != 1 {
		t.Fatal(pages, err)
	}
	path := s.Path("status/" + pages[0].ID.String())
	b.Get(path).Is(http.StatusOK).Has(`value="acme-sons"`, "The public will see 2 of 3 checks", "Changing it breaks links")
	reader.Get(path).Is(http.StatusForbidden)
	reader.Post(path, form).Is(http.StatusForbidden)
	form.Set("scope", "all")
	form.Set("slug", "acme")
	b.Post(path, form).Is(http.StatusSeeOther)
	public.Get("/status/acme").Is(http.StatusOK).Has("Database")
	public.Get("/status/acme-sons").Is(http.StatusNotFound)
	s.Ping(shop, pings.Signal{Kind: pings.Failure})

	b.Get(path+"/delete").Is(http.StatusOK).Has("will return “not found”", "/status/acme")
	reader.Post(path+"/delete", nil).Is(http.StatusForbidden)
	public.Get("/status/acme").Is(http.StatusOK)
	b.Post(path+"/delete", nil).Is(http.StatusSeeOther)
	public.Get("/status/acme").Is(http.StatusNotFound)
	b.Get(path).Is(http.StatusNotFound)
	b.Post(path+"/delete", nil).Is(http.StatusNotFound)
}

func TestStatusPageProblems(t *testing.T) {
	s := pagetest.New(t)
	b := s.SignedIn(s.Keys.ReadWrite)
	shop := s.Create(checks.Spec{Name: new("Shop"), Tags: []string{"web"}})
	valid := url.Values{"title": {"Acme"}, "slug": {"acme"}, "scope": {"all"}}
	b.Post(s.Path("status/new"), valid).Is(http.StatusSeeOther)
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
		{"min_outage", "1", http.StatusBadRequest, "The least duration has no unit: write 1 min, 1 h or 1 day."},
		{"min_outage", "2 days", http.StatusBadRequest, "The least duration is too long: 2 days, the maximum is 1 day."},
		{"name-" + shop.ID.String(), "a\x00", http.StatusBadRequest, "A public name has a NUL character."},
		{"name-" + shop.ID.String(), strings.Repeat("ü", 101), http.StatusBadRequest, "A public name is too long: 101 characters, the maximum is 100."},
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
		if input := test.field; strings.HasPrefix(input, "name-") { // the mark stands at the one input
			b.Post(s.Path("status/new"), form).Has(`<a href="#`+input+`">`, `aria-invalid="true" aria-describedby="`+input+`-wrong">`).HasNo(`id="names" tabindex="-1" aria-invalid`)
		}
		b.Post(s.Path("status/new"), form).Is(test.status).Has(test.want, `aria-invalid="true"`)
	}
	for _, preview := range []string{"preview", "save"} {
		form := url.Values{"title": {"Acme"}, "scope": {"tags"}, "tag": strings.Fields(strings.Repeat("tag ", 5_000)), preview: {"1"}}
		if body := b.Post(s.Path("status/new"), form).Is(http.StatusBadRequest).Has("The list of tags is too long").Body; len(body) > 50_000 {
			t.Errorf("the answer has %d bytes", len(body))
		}
	}
	for i := range checks.MaxStatusPages - 1 {
		if _, err := s.Mon.Project(s.Project.ID).CreateStatusPage(t.Context(), checks.StatusPage{Slug: fmt.Sprint("p", i), Title: "P"}); err != nil {
			t.Fatal(err)
		}
	}
	valid.Set("slug", "one-more")
	b.Post(s.Path("status/new"), valid).Is(http.StatusConflict).Has("The project has 100 status pages, the maximum.")
	b.Header.Set("Sec-Fetch-Site", "cross-site")
	b.Post(s.Path("status/new"), valid).Is(http.StatusForbidden)
	b.Get("/status/acme").Is(http.StatusOK)
}

// TestStatusPageNames: the form has a name for the public of each check that it shows, and the least duration of an outage. Names of
// checks that it does not show stay.
func TestStatusPageNames(t *testing.T) {
	s := pagetest.New(t)
	b, public := s.SignedIn(s.Keys.ReadWrite), s.Browser()
	shop := s.Create(checks.Spec{Name: new("internal-shop <b>"), Tags: []string{"web"}})
	mail := s.Create(checks.Spec{Name: new("Mail"), Tags: []string{"mail"}})
	input := func(c checks.Check) string { return "name-" + c.ID.String() }
	b.Get(s.Path("status/new")).Is(http.StatusOK).Has(`name="min_outage" value="1 min"`)
	form := url.Values{"title": {"Acme"}, "scope": {"all"}, "min_outage": {"90 s"}, input(shop): {` Payments "<&> `}, input(mail): {""}, "name-x": {"y"}}
	form.Set("preview", "yes")
	b.Post(s.Path("status/new"), form).Is(http.StatusOK).Has(`name="`+input(shop)+`" value="Payments &#34;&lt;&amp;&gt;" placeholder="internal-shop &lt;b&gt;"`, `name="`+input(mail)+`" value=""`)
	form.Del("preview")
	b.Post(s.Path("status/new"), form).Is(http.StatusSeeOther)
	stored := func() checks.StatusPage {
		pages, err := s.Mon.Project(s.Project.ID).StatusPages(t.Context())
		if err != nil || len(pages) != 1 {
			t.Fatal(pages, err)
		}
		return pages[0]
	}
	page := stored()
	if diff := cmp.Diff(map[uuid.UUID]string{shop.ID: `Payments "<&>`}, page.Names); diff != "" || page.MinOutage != 90*time.Second {
		t.Errorf("least duration %v, names (-want +got):\n%s", page.MinOutage, diff)
	}
	public.Get("/status/acme").Is(http.StatusOK).Has("Payments &#34;&lt;&amp;&gt;", "Mail").HasNo("internal")

	path := s.Path("status/" + page.ID.String())
	was := regexp.MustCompile(`name="was" value="([^"]+)"`).FindStringSubmatch(b.Get(path).Is(http.StatusOK).Has(`value="1 min 30 s"`).Body)[1]
	b.Post(path, url.Values{"title": {"Acme"}, "slug": {"acme"}, "scope": {"tags"}, "tag": {"mail"}, "min_outage": {"0"}, input(mail): {"Letters"}, "was": {was}}).Is(http.StatusSeeOther)
	page = stored()
	if diff := cmp.Diff(map[uuid.UUID]string{shop.ID: `Payments "<&>`, mail.ID: "Letters"}, page.Names); diff != "" || page.MinOutage != 0 {
		t.Errorf("least duration %v, names (-want +got):\n%s", page.MinOutage, diff)
	}
	b.Post(path, url.Values{"title": {"Acme"}, "slug": {"acme"}, "scope": {"all"}, "was": {was}}).Is(http.StatusConflict).Has("Someone else has changed this")
	b.Get(path).Has(`name="min_outage" value="0 s"`)
}

// TestStatusPageConflict saves a page that another person has changed since the form was opened. A preview in between does not
// hide that.
func TestStatusPageConflict(t *testing.T) {
	s := pagetest.New(t)
	page, err := s.Mon.Project(s.Project.ID).CreateStatusPage(t.Context(), checks.StatusPage{Slug: "acme", Title: "Acme"})
	pagetest.NoError(t, err)
	b, path := s.SignedIn(s.Keys.ReadWrite), s.Path("status/"+page.ID.String())
	was := regexp.MustCompile(`name="was" value="([^"]+)"`)
	mine := url.Values{"title": {"Mine"}, "slug": {"acme"}, "scope": {"all"}}
	mine.Set("was", was.FindStringSubmatch(b.Get(path).Body)[1])
	b.Post(path, url.Values{"title": {"Theirs"}, "slug": {"acme"}, "scope": {"all"}}).Is(http.StatusSeeOther)
	preview := url.Values{"title": {"Mine"}, "slug": {"acme"}, "scope": {"all"}, "preview": {"yes"}, "was": mine["was"]}
	b.Post(path, preview).Is(http.StatusOK).Has(mine.Get("was"))
	refused := b.Post(path, mine).Is(http.StatusConflict).Has("Someone else has changed this", `value="Mine"`)
	b.Get(s.Path("status")).Has("Theirs").HasNo("Mine")
	mine.Set("was", was.FindStringSubmatch(refused.Body)[1])
	b.Post(path, mine).Is(http.StatusSeeOther)
	b.Get(s.Path("status")).Has("Mine").HasNo("Theirs")
}

// TestStatusPageOfAnotherProject changes and deletes a page with the key of another project.
func TestStatusPageOfAnotherProject(t *testing.T) {
	s := pagetest.New(t)
	page, err := s.Mon.Project(s.Project.ID).CreateStatusPage(t.Context(), checks.StatusPage{Slug: "acme", Title: "Acme"})
	if err != nil {
		t.Fatal(err)
	}
	project, keys, err := s.Mon.Projects().Create(t.Context(), checks.ProjectSpec{Name: "other"})
	if err != nil {
		t.Fatal(err)
	}
	thief := s.SignedIn(keys.ReadWrite)
	form := url.Values{"title": {"Stolen"}, "slug": {"acme"}, "scope": {"all"}}
	for _, path := range []string{s.Path("status/" + page.ID.String()), "/projects/" + project.ID.String() + "/status/" + page.ID.String()} {
		thief.Get(path).Is(http.StatusNotFound).HasNo("Acme")
		thief.Post(path, form).Is(http.StatusNotFound)
		thief.Post(path+"/delete", nil).Is(http.StatusNotFound)
	}
	thief.Post("/projects/"+project.ID.String()+"/status/new", form).Is(http.StatusConflict)
	thief.Get("/status/acme").Is(http.StatusOK).Has("Acme").HasNo("Stolen")
}

// TestStatusPageColours sees to it that public pages have the colours of the dashboard.
func TestStatusPageColours(t *testing.T) {
	s := pagetest.New(t)
	if _, err := s.Mon.Project(s.Project.ID).CreateStatusPage(t.Context(), checks.StatusPage{Slug: "acme", Title: "Acme"}); err != nil {
		t.Fatal(err)
	}
	b := s.Browser()
	colours := func(page string) []string {
		address := regexp.MustCompile(`/[^"]*style\.[^"]*css`).FindString(b.Get(page).Is(http.StatusOK).Body)
		return regexp.MustCompile(`--[a-z-]+: light-dark\([^;]+;`).FindAllString(b.Get(address).Is(http.StatusOK).Body, -1)
	}
	ours := colours("/signin")
	if diff := cmp.Diff(ours, colours("/status/acme")); diff != "" || len(ours) < 18 {
		t.Errorf("the colours of %d styles differ (-dashboard +statuspage):\n%s", len(ours), diff)
	}
}
