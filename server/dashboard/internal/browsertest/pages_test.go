package browsertest_test

import (
	"fmt"
	"html"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/pings"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/assets"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/browsertest"
)

// hostile is a text that is harmful where a page takes it for markup, script, style or an address.
const hostile = `</title></script><script>document.title="owned"</script><img src=x onerror="document.title='owned'"><b>'"` + "`" + `{{.}}</b>`

// endless is a word that is wider than a phone, as long as the name of a check may be.
var endless = strings.Repeat("W", 100)

// fill gives the site checks in all states, with hostile texts where there can be any, and returns one that is down.
func (s *site) fill() checks.Check {
	s.Helper()
	hour := new(time.Hour)
	down := s.create(checks.Spec{Name: new(hostile[:100]), Slug: new("down"), Desc: new(hostile + "\n\n" + strings.Repeat(endless, 20)), Tags: []string{"prod", "<b>tag</b>", `"><script>1</script>`},
		Timeout: hour, Grace: hour, Channels: new("*")})
	late := s.create(checks.Spec{Name: new("orders-export"), Slug: new("orders-export"), Tags: []string{"prod"}, Schedule: new("0 * * * *"), TZ: new("Europe/Riga"), Grace: hour})
	up := s.create(checks.Spec{Name: new(endless), Slug: new(strings.ToLower(endless)), Tags: []string{strings.Repeat("tag-", 25), endless}, Timeout: new(24 * time.Hour)})
	s.create(checks.Spec{Name: new("restore-drill")})
	paused := s.create(checks.Spec{Name: new("legacy")})
	_, err := s.mon.Project(paused.ProjectID).Pause(s.Context(), paused.ID)
	s.must(err)
	for range 5 {
		for _, c := range []checks.Check{down, late, up} {
			s.ping(c.ID, pings.Start)
		}
		s.advance(7 * time.Minute)
		for _, c := range []checks.Check{down, late, up} {
			s.ping(c.ID, pings.Success, "\x1b[31mred\x1b[0m", hostile)
		}
		s.advance(53 * time.Minute)
	}
	s.ping(late.ID, pings.Success)
	s.ping(down.ID, pings.Failure, hostile)
	s.advance(70 * time.Minute)
	return down
}

// fillAll gives the site something on every page, with hostile texts. It returns a check that is down, and the paths of
// pages that say more than others of their kind.
func (s *site) fillAll() (c checks.Check, first []string) {
	s.Helper()
	s.fillIntegrations()
	var err error
	s.project, err = s.mon.Projects().Update(s.Context(), s.project.ID, checks.ProjectUpdate{Name: new(endless)})
	s.must(err)
	_, err = s.mon.Project(s.project.ID).CreateStatusPage(s.Context(), checks.StatusPage{Slug: strings.ToLower(endless[:60]), Title: endless, Description: strings.Repeat(endless, 5)})
	s.must(err)
	_, err = s.mon.Project(s.project.ID).CreateStatusPage(s.Context(), checks.StatusPage{Slug: "acme", Title: hostile[:100]})
	s.must(err)
	first = s.editPaths()
	for _, page := range []string{"?q=nothing+matches", "integrations/new?q=nothing+matches", "integrations/new?kind=webhook", "integrations/new?kind=webpush", "deliveries?check=nothing", "badges?as=html"} {
		first = append(first, s.path(page))
	}
	c = s.fill()
	failed := s.create(checks.Spec{Name: new("/" + endless[:99]), Timeout: new(24 * time.Hour)})
	s.ping(failed.ID, pings.Failure, "ERROR:"+strings.Repeat(endless, 20))
	return c, first
}

// identifiers are what tells pages of one kind apart.
var identifiers = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{40}|=[^&]*|/\d+\b`)

// paths returns the given paths, and those of a page of each other kind that links lead to, from the first ones and the
// list of checks on.
func (s *site) paths(key string, first ...string) []string {
	s.Helper()
	jar, err := cookiejar.New(nil)
	s.must(err)
	client := &http.Client{Jar: jar}
	link, err := s.pages.SignInLink(s.Context(), key)
	s.must(err)
	answer, err := client.Get(link)
	s.must(err)
	answer.Body.Close()
	var found []string
	seen := map[string]bool{}
	todo := append(first, s.path(""))
	for len(todo) > 0 {
		path := todo[0]
		todo = todo[1:]
		if kind := identifiers.ReplaceAllString(path, "*"); seen[kind] {
			continue
		} else {
			seen[kind] = true
		}
		answer, err := client.Get(s.url + path)
		s.must(err)
		page, err := io.ReadAll(answer.Body)
		s.must(err)
		answer.Body.Close()
		if !strings.HasPrefix(answer.Header.Get("Content-Type"), "text/html") {
			continue
		}
		if answer.StatusCode != http.StatusOK {
			s.Errorf("%s: the status is %d", path, answer.StatusCode)
			continue
		}
		found = append(found, path)
		for _, href := range hrefs.FindAllSubmatch(page, -1) {
			to, err := url.Parse(html.UnescapeString(string(href[1])))
			s.must(err)
			to = answer.Request.URL.ResolveReference(to)
			if to.Host == s.address && !strings.HasPrefix(to.Path, "/api/") && to.Path != "/" && len(to.Query()) < 2 {
				todo = append(todo, to.RequestURI())
			}
		}
	}
	return found
}

var hrefs = regexp.MustCompile(`<a [^>]*href="([^"]*)"`)

// TestEveryPage visits a page of each kind. axe-core finds no violation, light and wide or dark and narrow; the keyboard
// reaches every element and shows where it is; on a small phone nothing scrolls horizontally; and texts are never markup.
func TestEveryPage(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	key := s.admin()
	page := s.browser(key)
	for _, empty := range []string{"", "overview", "board", "integrations", "deliveries", "badges", "status"} {
		page.Go(s.path(empty))
		page.Axe()
	}
	c, first := s.fillAll()
	paths := append(s.paths(key, append(first, "/checks/"+c.UniqueKey())...), "/signin")
	const browsers = 2
	for i := range browsers {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			page := s.browserOf(t, key)
			for j := i; j < len(paths); j += browsers {
				inspect(t, page, paths[j])
			}
		})
	}
}

// TestPrint prints every page, light where the screen is dark: without buttons, and without what takes pings or signs in.
func TestPrint(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	c, first := s.fillAll()
	key := s.admin()
	page := s.browser(key)
	page.Dark(true)
	for _, path := range append(s.paths(key, append(first, "/checks/"+c.UniqueKey())...), "/signin") {
		page.Go(path)
		page.Print(true)
		if ink := page.Brightness("color"); ink > 100 {
			t.Errorf("%s is printed with the ink of the dark scheme: %d", path, ink)
		}
		for selector, what := range map[string]string{"button, .btn, .pick": "a button", "nav a": "the navigation"} {
			if shown := browsertest.Eval[string](page, `[...document.querySelectorAll(`+browsertest.Quote(selector)+`)].find(e => e.checkVisibility())?.outerHTML ?? ""`); shown != "" {
				t.Errorf("%s is printed with %s: %.150s", path, what, shown)
			}
		}
		text := browsertest.Eval[string](page, `document.body.innerText + [...document.querySelectorAll("input, textarea")].filter(e => e.checkVisibility()).map(e => e.value).join("\n")`)
		for _, secret := range []string{c.ID.String(), s.project.PingKey, key, s.keys.ReadWrite, s.keys.ReadOnly} {
			if strings.Contains(text, secret) {
				t.Errorf("%s is printed with the secret %s", path, secret)
			}
		}
		page.Print(false)
	}
}

func inspect(t *testing.T, page *browsertest.Page, path string) {
	t.Helper()
	page.Resize(browsertest.Wide)
	page.Dark(false)
	page.Go(path)
	const reachable = "[...document.querySelectorAll('a[href], button, input:not([type=hidden]), select, textarea, summary')]" +
		".filter(e => e.checkVisibility() && !e.disabled && e.tabIndex >= 0 && !(e.type == 'radio' && !e.checked)).length"
	want := browsertest.Eval[int](page, reachable)
	seen := tabs(t, page)
	if len(seen) < want {
		t.Errorf("%s: the keyboard reaches %d of %d elements", path, len(seen), want)
	}
	if page.Count(".skip") > 0 && seen[0].Text != "Skip to content" {
		t.Errorf("%s: the keyboard does not begin at %q", path, "Skip to content")
	}
	page.Axe()
	page.Targets()
	page.Dark(true)
	page.Resize(browsertest.Narrow)
	page.Fits()
	page.Axe()
	page.Targets()
	harmless(t, page, path)
	// A field is marked as wrong only where a text says why.
	if marked := browsertest.Eval[string](page, `[...document.querySelectorAll("[aria-invalid=true]")].find(e => !(e.getAttribute("aria-describedby") ?? "").split(" ")
		.some(id => document.getElementById(id)?.matches(".wrong, .problem")))?.outerHTML ?? ""`); marked != "" {
		t.Errorf("%s marks what nobody has touched: %.150s", path, marked)
	}
}

// frameAlone fails the test if the style sheet of some pages has a rule that matches what surrounds every page.
func frameAlone(t *testing.T, page *browsertest.Page) {
	t.Helper()
	for _, f := range assets.Dashboard() {
		if path.Ext(f.Name) != ".css" || f.Name == "style.css" {
			continue
		}
		hit := browsertest.Eval[string](page, `(async () => {
			const sheet = new CSSStyleSheet()
			sheet.replaceSync(`+browsertest.Quote(string(f.Body))+`)
			const frame = document.querySelectorAll("html, body, .skip, .top, .top *, #offline, #gone, .notice, .notice *, .foot")
			const rules = list => [...list].flatMap(r => r.selectorText ? [r] : rules(r.cssRules ?? []))
			for (const rule of rules(sheet.cssRules)) {
				const hit = [...frame].find(e => e.matches(rule.selectorText.replace(/:not\(:hover\)|::?(hover|focus|focus-visible|focus-within|before|after)\b/g, "")))
				if (hit) return rule.selectorText + " matches " + hit.outerHTML.slice(0, 80)
			}
			return ""
		})()`)
		if hit != "" {
			t.Errorf("%s: %s", f.Name, hit)
		}
	}
}

// harmless fails the test if a text on the page has become markup or script.
func harmless(t *testing.T, page *browsertest.Page, path string) {
	t.Helper()
	if title := browsertest.Eval[string](page, "document.title"); title == "owned" {
		t.Errorf("%s: a script in a text ran", path)
	}
	if n := page.Count("main b b, main img, body script:not([src]), main td b, .tag b"); n > 0 {
		t.Errorf("%s: %d elements come from texts", path, n)
	}
}

// TestReader visits every page with a read-only key. Texts are never markup, and no page shows what takes pings.
func TestReader(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	c, _ := s.fillAll()
	page := s.browser(s.keys.ReadOnly)
	for _, path := range s.paths(s.keys.ReadOnly, "/checks/"+c.UniqueKey()) {
		page.Go(path)
		harmless(t, page, path)
		if strings.Contains(browsertest.Eval[string](page, "document.documentElement.outerHTML"), c.ID.String()) {
			t.Errorf("%s shows the identifier of a check", path)
		}
	}
	page.Go(s.path(""))
	page.WaitText("#rows .name", hostile[:40])
}

// TestDark proves that the dark scheme has light text on a dark ground.
func TestDark(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.fill()
	page := s.browser(s.keys.ReadOnly)
	if ground, ink := page.Brightness("backgroundColor"), page.Brightness("color"); ground < 200 || ink > 100 {
		t.Errorf("light: the ground is %d, the ink %d", ground, ink)
	}
	page.Dark(true)
	if ground, ink := page.Brightness("backgroundColor"), page.Brightness("color"); ground > 60 || ink < 180 {
		t.Errorf("dark: the ground is %d, the ink %d", ground, ink)
	}
}

// tabs presses the tab key until the focus has gone round, and returns the elements that had it.
func tabs(t *testing.T, page *browsertest.Page) []browsertest.Focus {
	t.Helper()
	var seen []browsertest.Focus
	for page.Focused().Name != "body" { // a field has the focus from the start
		page.Tab()
	}
	for range 300 {
		f := page.Tab()
		if f.Name == "body" {
			return seen
		}
		if !f.Visible {
			t.Errorf("%s: %s %q does not show that it has the focus", page.Path(), f.Name, f.Text)
		}
		seen = append(seen, f)
	}
	t.Fatalf("%s: the focus does not leave the page: %v", page.Path(), seen[len(seen)-5:])
	return nil
}

// TestKeyboard finds a check and selects it by keyboard alone.
func TestKeyboard(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.fill()
	page := s.browser(s.keys.ReadWrite)
	for page.Tab().Name != "input[q]" {
	}
	page.Press("orders")
	page.Press(kb.Enter)
	page.Wait("location.search.includes('q=orders')")
	page.Wait("document.querySelectorAll('#rows tr').length == 1")
	names := []string{}
	for range 40 {
		f := page.Tab()
		names = append(names, f.Name)
		if f.Text == "orders-export" && strings.HasPrefix(f.Name, "a") {
			break
		}
	}
	if i := slices.Index(names, "input[check]"); i < 0 {
		t.Fatalf("tab does not reach the row: %v", names)
	}
	page.Press(kb.Tab, chromedp.KeyModifiers(8)) // shift
	page.Press(" ")
	page.Wait("document.querySelector('#rows input').checked")
}
