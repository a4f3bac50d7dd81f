package pagetest

import (
	"encoding/xml"
	"errors"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/rollcall-dev/rollcall/checks"
)

// Browser is a client with cookies that follows no redirects.
type Browser struct {
	*Site
	Client *http.Client
	Header http.Header
}

// Browser returns a browser that has not signed in.
func (s *Site) Browser() *Browser {
	s.T.Helper()
	jar, err := cookiejar.New(nil)
	NoError(s.T, err)
	client := &http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return &Browser{Site: s, Client: client, Header: http.Header{}}
}

// SignedIn returns a browser that signed in with a key.
func (s *Site) SignedIn(key string) *Browser {
	s.T.Helper()
	b := s.Browser()
	b.Post("/signin", url.Values{"key": {key}}).Is(http.StatusSeeOther)
	return b
}

// Owner returns a browser that signed in with an admin key.
func (s *Site) Owner() *Browser {
	s.T.Helper()
	return s.SignedIn(s.Key(checks.Admin))
}

// In sets the time zone of the viewer.
func (b *Browser) In(zone string) *Browser {
	b.SetCookies([]*http.Cookie{{Name: "rollcall_zone", Value: zone}})
	return b
}

// Cookies returns the cookies of the browser, for another one.
func (b *Browser) Cookies() []*http.Cookie {
	u, _ := url.Parse(b.Web.URL)
	return b.Client.Jar.Cookies(u)
}

// SetCookies adds cookies.
func (b *Browser) SetCookies(list []*http.Cookie) {
	u, _ := url.Parse(b.Web.URL)
	b.Client.Jar.SetCookies(u, list)
}

// Send sends a request. A form becomes its body.
func (b *Browser) Send(method, path string, form url.Values) *Answer {
	b.T.Helper()
	var body io.Reader
	if form != nil {
		body = strings.NewReader(form.Encode())
	}
	if !strings.HasPrefix(path, "http") {
		path = b.Web.URL + path
	}
	r, err := http.NewRequestWithContext(b.T.Context(), method, path, body)
	NoError(b.T, err)
	r.Header = b.Header.Clone()
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	response, err := b.Client.Do(r)
	NoError(b.T, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	NoError(b.T, err)
	return &Answer{T: b.T, Status: response.StatusCode, Header: response.Header, Body: string(text)}
}

// Get opens a page.
func (b *Browser) Get(path string) *Answer {
	b.T.Helper()
	return b.Send(http.MethodGet, path, nil)
}

// Post sends a form.
func (b *Browser) Post(path string, form url.Values) *Answer {
	b.T.Helper()
	return b.Send(http.MethodPost, path, form)
}

// Undo presses the Undo of the notice on a page, and returns the page after it.
func (b *Browser) Undo(page *Answer) *Answer {
	b.T.Helper()
	b.Post(b.Path("undo"), url.Values{"undo": {page.Undo()}, "back": {b.Path("?state=up")}}).Is(http.StatusSeeOther)
	return b.Get(b.Path(""))
}

// Answer is what a browser got.
type Answer struct {
	T      *testing.T
	Status int
	Header http.Header
	Body   string
}

// Is fails the test unless the status is the given one.
func (a *Answer) Is(status int) *Answer {
	a.T.Helper()
	if a.Status != status {
		a.T.Fatalf("status %d, want %d: %s", a.Status, status, a.Body)
	}
	return a
}

// Has fails the test unless the body has all texts.
func (a *Answer) Has(texts ...string) *Answer {
	a.T.Helper()
	for _, text := range texts {
		if !strings.Contains(a.Body, text) {
			a.T.Errorf("the page has no %q:\n%s", text, a.Body)
		}
	}
	return a
}

// HasNo fails the test if the body has one of the texts.
func (a *Answer) HasNo(texts ...string) *Answer {
	a.T.Helper()
	for _, text := range texts {
		if strings.Contains(a.Body, text) {
			a.T.Errorf("the page has %q:\n%s", text, a.Body)
		}
	}
	return a
}

// Location is where the answer redirects to.
func (a *Answer) Location() string { return a.Header.Get("Location") }

var (
	undoButton = regexp.MustCompile(`name="undo" value="([^"]+)"`)
	heldField  = regexp.MustCompile(`name="held" value="([^"]+)"`)
)

// Held returns the form that a page holds.
func (a *Answer) Held() url.Values {
	a.T.Helper()
	found := heldField.FindStringSubmatch(a.Body)
	if found == nil {
		a.T.Fatalf("the page holds no form: %s", a.Body)
	}
	return url.Values{"held": {found[1]}}
}

// Undo is what the Undo of the notice on a page sends.
func (a *Answer) Undo() string {
	a.T.Helper()
	found := undoButton.FindStringSubmatch(a.Body)
	if found == nil {
		a.T.Fatalf("no Undo on the page: %s", a.Body)
	}
	return html.UnescapeString(found[1])
}

// WellFormed fails the test unless the lanes on a page are well-formed, and all positions are on the axis.
func WellFormed(t *testing.T, body string) {
	t.Helper()
	for _, svg := range regexp.MustCompile(`(?s)<svg class="line".*?</svg>\n<span class="sr"`).FindAllString(body, -1) {
		d := xml.NewDecoder(strings.NewReader(strings.TrimSuffix(svg, "\n<span class=\"sr\"")))
		for {
			token, err := d.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("%v in %s", err, svg)
			}
			element, ok := token.(xml.StartElement)
			if !ok {
				continue
			}
			for _, a := range element.Attr {
				var x float64
				if n, _ := fmt.Sscanf(a.Value, "%g%%", &x); n == 1 && strings.HasSuffix(a.Value, "%") && (x < 0 || x > 100.01) {
					t.Errorf("%s is %s in %s", a.Name.Local, a.Value, svg)
				}
			}
		}
	}
	for _, attribute := range []string{`style="`, ` onclick=`, `javascript:`, "%!"} {
		if strings.Contains(body, attribute) {
			t.Errorf("the page has %s", attribute)
		}
	}
}
