package ui_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/dbtest"
	"github.com/rollcall-dev/rollcall/server"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/pagetest"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/ui"
	"github.com/rollcall-dev/rollcall/server/internal/baseurl"
)

// toolkit is a site without rooms, whose viewers have the given access, and its log.
func toolkit(t *testing.T, store monitor.Store, access *ui.Access) (*ui.Site, *bytes.Buffer) {
	t.Helper()
	mon, err := monitor.New(store, nil)
	pagetest.NoError(t, err)
	base, err := baseurl.Parse("BaseURL", "http://localhost")
	pagetest.NoError(t, err)
	log := &bytes.Buffer{}
	site, err := ui.New(mon, base, ui.Config{Config: server.Config{Logger: slog.New(slog.NewTextHandler(log, nil))}})
	pagetest.NoError(t, err)
	t.Cleanup(site.Close)
	site.Authorize = func(http.ResponseWriter, *http.Request) (ui.Access, error) { return *access, nil }
	return site, log
}

// get sends a request to a site.
func get(site http.Handler, path string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	site.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
	return w
}

// TestErrors: each error of a page has its status and its words. What nobody has foreseen is logged, never shown.
func TestErrors(t *testing.T) {
	site, log := toolkit(t, dbtest.Memory(t), &ui.Access{})
	for i, test := range []struct {
		err    error
		status int
		text   string
		logged bool
	}{
		{checks.ErrNotFound, http.StatusNotFound, "This page does not exist", false},
		{fmt.Errorf("read: %w", ui.ErrBadForm), http.StatusBadRequest, "The form could not be read", false},
		{ui.Refusal{Status: http.StatusConflict, Title: "Taken", Text: "The <name> is taken."}, http.StatusConflict, "The &lt;name&gt; is taken.", false},
		{&checks.FieldError{Field: "grace", Reason: "is too small"}, http.StatusBadRequest, "grace is too small.", false},
		{fmt.Errorf("%w: dial 10.0.0.7", checks.ErrUnavailable), http.StatusServiceUnavailable, "The database is not responding", true},
		{fmt.Errorf("%w: %w", checks.ErrBodyUnavailable, context.DeadlineExceeded), http.StatusServiceUnavailable, "The object storage is not responding", true},
		{fmt.Errorf("%w: object secret", checks.ErrBodyCorrupt), http.StatusBadGateway, "returned something else than the job sent", false},
		{errors.New("secret: disk full"), http.StatusInternalServerError, "See its log", true},
		{nil, http.StatusInternalServerError, "See its log", true}, // it panics
	} {
		path := fmt.Sprint("/page", i)
		site.Public("GET "+path, func(*ui.Request) error {
			if test.err == nil {
				panic("secret: index out of range")
			}
			return test.err
		})
		log.Reset()
		w := get(site, path)
		if w.Code != test.status || !strings.Contains(w.Body.String(), test.text) || strings.Contains(w.Body.String(), "secret") || strings.Contains(w.Body.String(), "10.0.0.7") {
			t.Errorf("%v: status %d, %s", test.err, w.Code, w.Body)
		}
		if logged := strings.Contains(log.String(), "route="+path); logged != test.logged {
			t.Errorf("%v: logged %t: %s", test.err, logged, log)
		}
	}
	site.Public("GET /abort", func(*ui.Request) error { panic(http.ErrAbortHandler) })
	defer func() {
		if recover() != http.ErrAbortHandler { //nolint:errorlint // the value itself
			t.Error("a handler cannot abort its answer")
		}
	}()
	get(site, "/abort")
}

// TestFirstPage: the address without a path leads to what the viewer may see, and wants to see first.
func TestFirstPage(t *testing.T) {
	var access ui.Access
	site, _ := toolkit(t, dbtest.Memory(t), &access)
	one, two := server.ProjectAccess{ProjectID: uuid.UUID{1}, Right: checks.Read}, server.ProjectAccess{ProjectID: uuid.UUID{2}, Right: checks.Own}
	first := "/projects/" + one.ProjectID.String() + "/"
	for _, test := range []struct {
		projects []server.ProjectAccess
		person   *ui.Person
		want     string
	}{
		{nil, nil, ""},
		{[]server.ProjectAccess{one, two}, nil, first + "overview"},
		{nil, &ui.Person{}, "/projects"},
		{nil, &ui.Person{FirstPage: "board"}, "/projects"},
		{[]server.ProjectAccess{one}, &ui.Person{}, first + "overview"},
		{[]server.ProjectAccess{one, two}, &ui.Person{}, "/projects"},
		{[]server.ProjectAccess{one}, &ui.Person{FirstPage: "projects"}, "/projects"},
		{[]server.ProjectAccess{one, two}, &ui.Person{FirstPage: "checks"}, first},
		{[]server.ProjectAccess{one, two}, &ui.Person{FirstPage: "board"}, first + "board"},
	} {
		access = ui.Access{Access: server.Access{Projects: test.projects}, Person: test.person}
		w := get(site, "/")
		if got := w.Header().Get("Location"); got != test.want || (got == "") != (w.Code == http.StatusForbidden) {
			t.Errorf("%d projects, %+v: status %d, leads to %q, want %q", len(test.projects), test.person, w.Code, got, test.want)
		}
	}
}

// TestSignedOut leads to where people sign in, and from there back to the page that they asked for.
func TestSignedOut(t *testing.T) {
	site, _ := toolkit(t, dbtest.Memory(t), &ui.Access{})
	site.Authorize = func(http.ResponseWriter, *http.Request) (ui.Access, error) { return ui.Access{}, server.ErrSignedOut }
	page := "/projects/" + uuid.NewString() + "/events?right=1"
	for _, test := range []struct {
		foreign      bool
		signIn, path string
		status       int
		to           string
	}{
		{false, "", page, http.StatusSeeOther, "/signin?next=" + url.QueryEscape(page)},
		{false, "", "/", http.StatusSeeOther, "/signin"},
		{true, "https://program.example.org/login", page, http.StatusSeeOther, "https://program.example.org/login"},
		{true, "", page, http.StatusUnauthorized, ""},
	} {
		site.Config.Authorize, site.Config.SignInURL = nil, test.signIn
		if test.foreign {
			site.Config.Authorize = func(*http.Request) (server.Access, error) { return server.Access{}, nil }
		}
		if w := get(site, test.path); w.Code != test.status || w.Header().Get("Location") != test.to {
			t.Errorf("%+v: status %d, leads to %q", test, w.Code, w.Header().Get("Location"))
		}
	}
}

// TestForbidden: who may not open a page learns what they need for it. A project that they may not see does not exist.
func TestForbidden(t *testing.T) {
	var access ui.Access
	site, _ := toolkit(t, dbtest.Memory(t), &access)
	project, _, err := site.Mon.Projects().Create(t.Context(), checks.ProjectSpec{Name: "backups"})
	pagetest.NoError(t, err)
	ok := func(q *ui.Request) error { q.W.WriteHeader(http.StatusOK); return nil }
	site.Look("GET /projects/{project}/look", ok)
	site.Change("GET /projects/{project}/change", ok)
	site.Own("GET /projects/{project}/own", ok)
	site.Look("GET /projects/{project}/members", func(*ui.Request) error { return ui.ErrForbidden })
	site.Look("GET /people", func(*ui.Request) error { return ui.ErrForbidden })
	for _, test := range []struct {
		right  checks.Right
		person *ui.Person
		page   string
		want   string
	}{
		{checks.None, nil, "look", "This page does not exist"},
		{checks.None, &ui.Person{}, "own", "This page does not exist"},
		{checks.Read, nil, "look", ""},
		{checks.Read, nil, "change", "Sign in with a read-write key"},
		{checks.Read, &ui.Person{}, "change", "Your role in this project does not allow this"},
		{checks.Edit, nil, "change", ""},
		{checks.Edit, nil, "own", "Sign in with an admin key"},
		{checks.Edit, &ui.Person{}, "own", "Your role in this project does not allow this"},
		{checks.Own, nil, "own", ""},
		{checks.Own, nil, "members", "Sign in with an e-mail address instead of a key"},
		{checks.Own, &ui.Person{}, "/people", "Only administrators of this installation"},
	} {
		access = ui.Access{Access: server.Access{Projects: []server.ProjectAccess{{ProjectID: project.ID, Right: test.right}}}, Person: test.person}
		path := "/projects/" + project.ID.String() + "/" + test.page
		if test.page[0] == '/' {
			path = test.page
		}
		w := get(site, path)
		if (test.want == "") != (w.Code == http.StatusOK) || !strings.Contains(w.Body.String(), test.want) {
			t.Errorf("right %v, person %t, page %s: status %d, want %q: %s", test.right, test.person != nil, test.page, w.Code, test.want, w.Body)
		}
	}
	if w := get(site, "/projects/x/look"); w.Code != http.StatusNotFound {
		t.Errorf("a project that is none: status %d", w.Code)
	}
}

// TestSeals: what a server seals or hides opens for its purpose alone, on every server of the database, and nowhere else.
func TestSeals(t *testing.T) {
	store := dbtest.Memory(t)
	one, _ := toolkit(t, store, &ui.Access{})
	same, _ := toolkit(t, store, &ui.Access{})
	foreign, _ := toolkit(t, dbtest.Memory(t), &ui.Access{})
	ctx := t.Context()
	sealed, err := one.Seals.Seal(ctx, "undo", []byte("message"))
	pagetest.NoError(t, err)
	hidden, err := one.Seals.Hide(ctx, "undo", []byte("message"))
	pagetest.NoError(t, err)
	if again, err := one.Seals.Hide(ctx, "undo", []byte("message")); err != nil || again == hidden {
		t.Errorf("hidden twice, a message is the same: %v", err)
	}
	for _, text := range []string{sealed, hidden} {
		open := same.Seals.Open
		elsewhere := foreign.Seals.Open
		if text == hidden {
			open, elsewhere = same.Seals.Reveal, foreign.Seals.Reveal
		}
		if got, err := open(ctx, "undo", text); string(got) != "message" || err != nil {
			t.Errorf("%q, %v", got, err)
		}
		if _, err := open(ctx, "session", text); !errors.Is(err, server.ErrSignedOut) {
			t.Errorf("for another purpose: %v", err)
		}
		if _, err := elsewhere(ctx, "undo", text); !errors.Is(err, server.ErrSignedOut) {
			t.Errorf("on another database: %v", err)
		}
		for _, forged := range []string{"", ".", "x", text[1:], text[:len(text)-2], "A" + text, text + "!"} {
			if _, err := open(ctx, "undo", forged); !errors.Is(err, server.ErrSignedOut) {
				t.Errorf("%q: %v", forged, err)
			}
		}
	}
}

// TestAssets: browsers keep a file for good, under a path that changes with it.
func TestAssets(t *testing.T) {
	s := pagetest.New(t, func(c *pagetest.Config) { c.BaseURL += "/jobs" })
	b := s.Browser()
	path := regexp.MustCompile(`/jobs/assets/[0-9a-f]+/style\.css`).FindString(b.Get("/jobs/signin").Is(http.StatusOK).Body)
	b.Header.Set("Accept-Encoding", "identity")
	plain := b.Get(path).Is(http.StatusOK)
	b.Header.Set("Accept-Encoding", "gzip")
	packed := b.Get(path).Is(http.StatusOK)
	z, err := gzip.NewReader(strings.NewReader(packed.Body))
	pagetest.NoError(t, err)
	if text, err := io.ReadAll(z); err != nil || string(text) != plain.Body || plain.Header.Get("Content-Encoding") != "" {
		t.Errorf("compressed, the file has %d bytes instead of %d: %v", len(text), len(plain.Body), err)
	}
	for name, want := range map[string]string{"Content-Type": "text/css; charset=utf-8", "Cache-Control": "public, max-age=31536000, immutable", "Vary": "Accept-Encoding", "Content-Encoding": "gzip"} {
		if got := packed.Header.Get(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	b.Get("/jobs/assets/0123456789abcdef/style.css").Is(http.StatusNotFound)
}
