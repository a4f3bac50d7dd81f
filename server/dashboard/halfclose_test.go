package dashboard_test

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/server/dashboard"
	"github.com/rollcall-dev/rollcall/server/dashboard/accounts"
	"github.com/rollcall-dev/rollcall/server/dashboard/accounts/passkey"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/pagetest"
	"github.com/rollcall-dev/rollcall/server/people"
)

// halfClosed sends a request on a connection, closes its writing side, and returns the answer. The server begins to answer when
// it knows that: the context of net/http has ended.
func halfClosed(b *pagetest.Browser, method, path string, form url.Values) *pagetest.Answer {
	b.T.Helper()
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sent, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(sent))
		<-r.Context().Done()
		b.Pages.ServeHTTP(w, r)
	}))
	defer web.Close()
	r, err := http.NewRequestWithContext(b.T.Context(), method, b.Web.URL+path, strings.NewReader(form.Encode()))
	pagetest.NoError(b.T, err)
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for _, cookie := range b.Client.Jar.Cookies(r.URL) {
		r.AddCookie(cookie)
	}
	conn, err := net.Dial("tcp", web.Listener.Addr().String())
	pagetest.NoError(b.T, err)
	defer conn.Close()
	pagetest.NoError(b.T, r.Write(conn))
	pagetest.NoError(b.T, conn.(*net.TCPConn).CloseWrite())
	response, err := http.ReadResponse(bufio.NewReader(conn), r)
	if err != nil {
		b.T.Fatalf("%s %s: %v", method, path, err)
	}
	text, err := io.ReadAll(response.Body)
	pagetest.NoError(b.T, err)
	return &pagetest.Answer{T: b.T, Status: response.StatusCode, Header: response.Header, Body: string(text)}
}

// TestHalfClosed sends a request for every page by a client that has closed its writing side and still reads. It gets what others
// get; only the stream of changes ends.
func TestHalfClosed(t *testing.T) {
	keys, err := passkey.New("http://localhost")
	pagetest.NoError(t, err)
	v := pagetest.New(t).Town(accounts.Config{KeySignIn: true, Passkeys: keys})
	v.Person("root@example.org", "")
	victim := v.Person("victim@example.org", people.Viewer)
	c := v.Create(checks.Spec{Name: new("backup"), Tags: []string{"db"}})
	_, err = v.Mon.Project(v.Project.ID).CreateStatusPage(t.Context(), checks.StatusPage{Slug: "acme", Title: "Acme"})
	pagetest.NoError(t, err)
	b := v.As("root@example.org")
	fill := strings.NewReplacer("{project}", v.Project.ID.String(), "{check}", c.UniqueKey(), "{person}", victim.ID.String(), "{key}", uuid.NewString(), "{n}", "1",
		"{link}", "none", "{page}", "new", "{channel}", "new", "{integration}", "new", "{delivery}", "1")
	patterns := append(dashboard.Patterns(v.Pages), "GET /status/acme", "GET /status/acme/feed.atom", "GET /status/none", "HEAD /projects/{project}/board")
	for _, pattern := range patterns {
		method, path, _ := strings.Cut(fill.Replace(pattern), " ")
		if method == http.MethodPost || strings.HasSuffix(path, "/events") {
			continue
		}
		want := b.Send(method, path, nil)
		if got := halfClosed(b, method, path, nil); got.Status != want.Status || got.Body == "" && want.Body != "" {
			t.Errorf("%s: status %d with %d bytes, want %d with %d", pattern, got.Status, len(got.Body), want.Status, len(want.Body))
		}
	}
	halfClosed(b, http.MethodGet, v.Path("events"), nil).Is(http.StatusOK).Has("event: hello")
	halfClosed(b, http.MethodPost, v.Path("bulk"), url.Values{"action": {"pause"}, "check": {c.ID.String()}}).Is(http.StatusSeeOther)
	stranger := v.Browser()
	halfClosed(stranger, http.MethodGet, "/signin", nil).Is(http.StatusOK).Has(`name="password"`)
	halfClosed(stranger, http.MethodPost, "/signin", pagetest.Credentials("victim@example.org")).Is(http.StatusSeeOther)
	halfClosed(stranger, http.MethodPost, "/signin", url.Values{"key": {v.Keys.ReadWrite}}).Is(http.StatusSeeOther)
	if strings.Contains(v.Log.String(), "level=ERROR") {
		t.Errorf("the log has %s", v.Log.String())
	}
}
