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
	"github.com/rollcall-dev/rollcall/checks/people"
	"github.com/rollcall-dev/rollcall/server/dashboard"
	"github.com/rollcall-dev/rollcall/server/dashboard/accounts"
	"github.com/rollcall-dev/rollcall/server/dashboard/accounts/passkey"
)

// halfClosed sends a request on a connection, closes its writing side, and returns the answer. The server begins to answer when
// it knows that: the context of net/http has ended.
func (b *browser) halfClosed(method, path string, form url.Values) *answer {
	b.t.Helper()
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sent, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(sent))
		<-r.Context().Done()
		b.pages.ServeHTTP(w, r)
	}))
	defer web.Close()
	r, err := http.NewRequestWithContext(b.t.Context(), method, b.web.URL+path, strings.NewReader(form.Encode()))
	noError(b.t, err)
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for _, cookie := range b.client.Jar.Cookies(r.URL) {
		r.AddCookie(cookie)
	}
	conn, err := net.Dial("tcp", web.Listener.Addr().String())
	noError(b.t, err)
	defer conn.Close()
	noError(b.t, r.Write(conn))
	noError(b.t, conn.(*net.TCPConn).CloseWrite())
	response, err := http.ReadResponse(bufio.NewReader(conn), r)
	if err != nil {
		b.t.Fatalf("%s %s: %v", method, path, err)
	}
	text, err := io.ReadAll(response.Body)
	noError(b.t, err)
	return &answer{t: b.t, status: response.StatusCode, header: response.Header, body: string(text)}
}

// TestHalfClosed sends a request for every page by a client that has closed its writing side and still reads. It gets what others
// get; only the stream of changes ends.
func TestHalfClosed(t *testing.T) {
	keys, err := passkey.New("http://localhost")
	noError(t, err)
	v, log := configured(t, newSite(t), accounts.Config{KeySignIn: true, Passkeys: keys})
	v.person("root@example.org", "")
	victim := v.person("victim@example.org", people.Viewer)
	c := v.create(checks.Spec{Name: new("backup"), Tags: []string{"db"}})
	_, err = v.mon.Project(v.project.ID).CreateStatusPage(t.Context(), checks.StatusPage{Slug: "acme", Title: "Acme"})
	noError(t, err)
	b := v.as("root@example.org")
	fill := strings.NewReplacer("{project}", v.project.ID.String(), "{check}", c.UniqueKey(), "{person}", victim.ID.String(), "{key}", uuid.NewString(), "{n}", "1",
		"{link}", "none", "{page}", "new", "{channel}", "new", "{integration}", "new", "{delivery}", "1")
	patterns := append(dashboard.Patterns(v.pages), "GET /status/acme", "GET /status/acme/feed.atom", "GET /status/none", "HEAD /projects/{project}/board")
	for _, pattern := range patterns {
		method, path, _ := strings.Cut(fill.Replace(pattern), " ")
		if method == http.MethodPost || strings.HasSuffix(path, "/events") {
			continue
		}
		want := b.send(method, path, nil)
		if got := b.halfClosed(method, path, nil); got.status != want.status || got.body == "" && want.body != "" {
			t.Errorf("%s: status %d with %d bytes, want %d with %d", pattern, got.status, len(got.body), want.status, len(want.body))
		}
	}
	b.halfClosed(http.MethodGet, v.path("events"), nil).is(http.StatusOK).has("event: hello")
	b.halfClosed(http.MethodPost, v.path("bulk"), url.Values{"action": {"pause"}, "check": {c.ID.String()}}).is(http.StatusSeeOther)
	stranger := v.browser()
	stranger.halfClosed(http.MethodGet, "/signin", nil).is(http.StatusOK).has(`name="password"`)
	stranger.halfClosed(http.MethodPost, "/signin", credentials("victim@example.org")).is(http.StatusSeeOther)
	stranger.halfClosed(http.MethodPost, "/signin", url.Values{"key": {v.keys.ReadWrite}}).is(http.StatusSeeOther)
	if strings.Contains(log.String(), "level=ERROR") {
		t.Errorf("the log has %s", log)
	}
}
