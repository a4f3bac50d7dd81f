package browsertest_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rollcall-dev/rollcall/server/dashboard/internal/browsertest"
)

// serve serves pages by their paths under a strict policy.
func serve(t *testing.T, pages map[string]string) string {
	t.Helper()
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		page, ok := pages[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Security-Policy", "default-src 'self'")
		if strings.HasSuffix(r.URL.Path, ".js") {
			w.Header().Set("Content-Type", "text/javascript")
			fmt.Fprint(w, page)
			return
		}
		if name := r.FormValue("set"); name != "" {
			http.SetCookie(w, &http.Cookie{Name: name, Value: "1"})
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprintf(w, `<!doctype html><html lang="en"><title>t</title><link rel="icon" href="/icon.js"><main><h1>Page</h1>%s</main>`, page)
	}))
	t.Cleanup(web.Close)
	pages["/icon.js"] = ""
	return web.URL
}

// TestProblems proves that each kind of problem fails a test.
func TestProblems(t *testing.T) {
	url := serve(t, map[string]string{
		"/fine":    `<p>fine</p>`,
		"/inline":  `<script>document.title = "ran"</script>`,
		"/style":   `<p style="color: red">red</p>`,
		"/handler": `<button onclick="document.title = 'ran'">press</button>`,
		"/throws":  `<script src="/throws.js"></script>`, "/throws.js": `throw new Error("oh")`,
		"/logs": `<script src="/logs.js"></script>`, "/logs.js": `console.error("oh", 7)`,
		"/rejects": `<script src="/rejects.js"></script>`, "/rejects.js": `Promise.reject(new Error("oh"))`,
		"/missing": `<img src="/nothing.png" alt="nothing">`,
		"/abroad":  `<a href="http://192.0.2.1/">away</a>`,
	})
	page := browsertest.Open(t, url)
	for path, want := range map[string]string{
		"/fine":    "",
		"/inline":  "Content Security Policy",
		"/style":   "Content Security Policy",
		"/handler": "Content Security Policy",
		"/throws":  "exception: Uncaught Error: oh",
		"/logs":    `console: "oh" 7`,
		"/rejects": "Error: oh",
		"/missing": "status of 404",
	} {
		page.Go(path)
		if title := browsertest.Eval[string](page, "document.title"); title != "t" {
			t.Errorf("%s: a script of the page ran", path)
		}
		found := strings.Join(page.Problems(), "\n")
		if want == "" && found != "" || !strings.Contains(found, want) {
			t.Errorf("%s: the problems are %q, want %q", path, found, want)
		}
	}

	page.Go("/abroad")
	page.Click("a")
	page.Wait("location.protocol == 'chrome-error:'")
	if found := page.Problems(); !slices.Contains(found, "request to another host: http://192.0.2.1/") {
		t.Errorf("the problems are %q, want a request to another host", found)
	}
	page.Tolerate("status of 404")
	page.Go("/missing")
	if found := page.Problems(); len(found) != 0 {
		t.Errorf("the problems are %q, want none", found)
	}
}

// TestPages proves that pages share neither cookies nor viewports.
func TestPages(t *testing.T) {
	url := serve(t, map[string]string{"/": `<p>one</p>`})
	one, two := browsertest.Open(t, url), browsertest.Open(t, url)
	one.Go("/?set=first")
	two.Go("/?set=second")
	one.Dark(true)
	one.TimeZone("Asia/Tokyo")
	two.Resize(browsertest.Narrow)
	const state = "[document.cookie, innerWidth, matchMedia('(prefers-color-scheme: dark)').matches, " +
		"Intl.DateTimeFormat().resolvedOptions().timeZone == 'Asia/Tokyo'].join()"
	if got := browsertest.Eval[string](one, state); got != "first=1,1280,true,true" {
		t.Errorf("the first page has %s", got)
	}
	if got := browsertest.Eval[string](two, state); got != "second=1,320,false,false" {
		t.Errorf("the second page has %s", got)
	}
}

func TestForm(t *testing.T) {
	form := `<form action="/"><label>Name <input name="name" value="old"></label> <button id="go">Go</button></form><p>%s</p>`
	url := serve(t, map[string]string{"/": form})
	for _, scripts := range []bool{true, false} {
		page := browsertest.Open(t, url)
		if !scripts {
			page.NoScript()
		}
		page.Go("/")
		page.Type("[name=name]", "né w")
		page.Submit("#go")
		if got, want := page.Path(), "/?name=n%C3%A9+w"; got != want {
			t.Errorf("the form led to %s, want %s", got, want)
		}
		if got, want := page.Tab(), (browsertest.Focus{Name: "input[name]", Text: "Name", Visible: true}); got != want {
			t.Errorf("tab led to %+v, want %+v", got, want)
		}
		if got, want := page.Tab(), (browsertest.Focus{Name: "button#go", Text: "Go", Visible: true}); got != want {
			t.Errorf("tab led to %+v, want %+v", got, want)
		}
	}
}

// failures is a test that notes its failures.
type failures struct {
	testing.TB
	texts []string
}

func (f *failures) Errorf(format string, args ...any) {
	f.texts = append(f.texts, fmt.Sprintf(format, args...))
}
func (f *failures) Helper() {}

// TestHalfRead proves that a wait for something on the next page ends when the page is read, not where its beginning is.
func TestHalfRead(t *testing.T) {
	looked := make(chan bool)
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		switch r.URL.Path {
		case "/":
			fmt.Fprint(w, `<!doctype html><html lang="en"><title>t</title><link rel="icon" href="data:,"><a id="next" href="/next">next</a>`)
		case "/next":
			fmt.Fprint(w, `<!doctype html><html lang="en"><title>t</title><div id="first" tabindex="-1" autofocus>first`)
			w.(http.Flusher).Flush()
			select {
			case <-looked:
			case <-r.Context().Done():
			}
			fmt.Fprint(w, `<a href="#rest">rest</a></div>`)
		case "/looked":
			close(looked)
		}
	}))
	t.Cleanup(web.Close)
	page := browsertest.Open(t, web.URL)
	page.BeforeScripts(`{
		const ready = Object.getOwnPropertyDescriptor(Document.prototype, "readyState")
		let looks = 0
		Object.defineProperty(document, "readyState", { get() {
			if (document.activeElement?.id == "first" && ++looks == 3) fetch("/looked")
			return ready.get.call(document)
		} })
	}`)
	page.Go("/")
	page.Click("#next")
	page.Wait("document.activeElement?.id == 'first'")
	if got := page.Count("a[href='#rest']"); got != 1 {
		t.Errorf("the page has %d links at the end of the wait, want 1", got)
	}
}

func TestFits(t *testing.T) {
	url := serve(t, map[string]string{"/": `<table id="wide"><tr><td>` + strings.Repeat("x", 80) + `</table>`})
	noted := &failures{TB: t}
	page := browsertest.Open(noted, url)
	page.Go("/")
	page.Fits()
	if len(noted.texts) != 0 {
		t.Errorf("wide: %q", noted.texts)
	}
	page.Resize(browsertest.Narrow)
	page.Fits()
	if len(noted.texts) != 1 || !strings.Contains(noted.texts[0], `id="wide"`) {
		t.Errorf("narrow: %q, want the table", noted.texts)
	}
}

func TestAxe(t *testing.T) {
	url := serve(t, map[string]string{"/good": `<p>fine</p>`, "/bad": `<input name="nameless">`})
	noted := &failures{TB: t}
	page := browsertest.Open(noted, url)
	page.Go("/good")
	page.Axe()
	if len(noted.texts) != 0 {
		t.Errorf("the good page: %q", noted.texts)
	}
	page.Go("/bad")
	page.Axe()
	if len(noted.texts) != 1 || !strings.Contains(noted.texts[0], `label: Form elements must have labels`) ||
		!strings.Contains(noted.texts[0], `name="nameless"`) {
		t.Errorf("the bad page: %q, want the field without a label", noted.texts)
	}
}

func TestScreenshot(t *testing.T) {
	page := browsertest.Open(t, serve(t, map[string]string{"/": `<p>one</p>`}))
	page.Go("/")
	path := filepath.Join(t.TempDir(), "page.png")
	page.Screenshot(path)
	image, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(string(image), "\x89PNG") {
		t.Errorf("the screenshot starts with %q", image[:min(8, len(image))])
	}
}

// TestMissing proves that a missing program is named with the way to get it.
func TestMissing(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	t.Setenv("ROLLCALL_TEST_CHROMIUM", "")
	if path, err := browsertest.Find(); err == nil || !strings.Contains(err.Error(), "apt-get install chromium") {
		t.Errorf("Find returned %q, %v", path, err)
	}
}
