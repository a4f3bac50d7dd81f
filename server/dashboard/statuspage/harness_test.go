package statuspage_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/sqlstore"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/dbtest"
	"github.com/rollcall-dev/rollcall/pings"
	"github.com/rollcall-dev/rollcall/server/dashboard/statuspage"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

var noon = time.Date(2026, 3, 31, 12, 0, 0, 0, time.UTC)

// world is a project with status pages and the handler that shows them.
type world struct {
	*monitor.Monitor
	t       testing.TB
	clock   *dbtest.Clock
	project uuid.UUID
	pages   *statuspage.Handler
}

const baseURL = "https://ops.example.org/jobs/status"

func newWorld(t testing.TB, s monitor.Store) *world {
	t.Helper()
	w := &world{t: t, clock: dbtest.NewClock(noon)}
	var err error
	w.Monitor, err = monitor.New(s, &monitor.Config{Now: w.clock.Now})
	w.must(err)
	p, err := w.OpenProject(t.Context(), "secret project")
	w.must(err)
	w.project = p.ID()
	w.pages, err = statuspage.New(w.Monitor, &statuspage.Config{BaseURL: baseURL})
	w.must(err)
	t.Cleanup(w.pages.Close)
	return w
}

// each runs a test on both databases.
func each(t *testing.T, test func(t *testing.T, w *world)) {
	dbtest.EachAtRelease(t, func(t *testing.T, db dbtest.DB) { test(t, newWorld(t, db.Open(t))) })
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// page makes a status page about the checks with any of some tags, or about all.
func (w *world) page(slug string, tags ...string) checks.StatusPage {
	w.t.Helper()
	p, err := w.Project(w.project).CreateStatusPage(w.t.Context(), checks.StatusPage{Slug: slug, Title: "Acme " + slug, Tags: tags})
	w.must(err)
	w.pages.Refresh()
	return p
}

// check makes a check that expects a ping every hour, with an hour of grace.
func (w *world) check(name string, tags ...string) checks.Check {
	w.t.Helper()
	c, err := w.Project(w.project).Create(w.t.Context(), checks.Spec{Name: &name, Tags: tags, Timeout: new(time.Hour), Grace: new(time.Hour)})
	w.must(err)
	w.pages.Refresh()
	return *c.Check
}

// ping sends a signal and lets the pages know of it.
func (w *world) ping(c checks.Check, kind pings.Kind) {
	w.t.Helper()
	_, err := w.Ping(w.t.Context(), c.ID, pings.Signal{Kind: kind})
	w.must(err)
	w.pages.Refresh()
}

// request sends a request with headers, given as names and values in turn, for a path below the base.
func (w *world) request(method, path string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequestWithContext(w.t.Context(), method, "https://ops.example.org/jobs/status"+path, nil)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	answer := httptest.NewRecorder()
	w.pages.ServeHTTP(answer, r)
	return answer
}

// get returns the body of an answer that must be 200.
func (w *world) get(path string) string {
	w.t.Helper()
	answer := w.request(http.MethodGet, path)
	if answer.Code != http.StatusOK {
		w.t.Fatalf("GET %s: status %d: %s", path, answer.Code, answer.Body)
	}
	return answer.Body.String()
}

// shows fails the test unless the page with a path has some texts, and lacks those after "not:".
func (w *world) shows(path string, texts ...string) {
	w.t.Helper()
	body := w.get(path)
	for _, text := range texts {
		wanted := true
		if rest, ok := strings.CutPrefix(text, "not:"); ok {
			text, wanted = rest, false
		}
		if strings.Contains(body, text) != wanted {
			w.t.Errorf("GET %s: contains %q: %v, want %v\n%s", path, text, !wanted, wanted, body)
		}
	}
}

// counted is a store on a database, with the number of its queries.
type counted struct {
	*sqlstore.Store
	queries atomic.Int64
}

func (c *counted) BeforeQuery(ctx context.Context, _ *bun.QueryEvent) context.Context { return ctx }

// AfterQuery counts a query. The feed of changes asks SQLite once a second for its data version, however many read.
func (c *counted) AfterQuery(_ context.Context, e *bun.QueryEvent) {
	if e.Query != "PRAGMA data_version" {
		c.queries.Add(1)
	}
}

func newCounted(t testing.TB, db dbtest.DB) *counted {
	t.Helper()
	migrated := db.Bun(t)
	dbtest.OpenOn(t, migrated)
	c := new(counted)
	var err error
	if c.Store, err = sqlstore.New(migrated.WithQueryHook(c)); err != nil {
		t.Fatal(err)
	}
	return c
}

// sweep takes overdue checks down.
func (w *world) sweep() {
	w.t.Helper()
	err := w.Tick(w.t.Context())
	w.must(err)
}
