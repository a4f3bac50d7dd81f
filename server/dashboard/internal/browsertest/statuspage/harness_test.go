package statuspage_test

import (
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/dbtest"
	"github.com/rollcall-dev/rollcall/pings"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/browsertest"
	"github.com/rollcall-dev/rollcall/server/dashboard/statuspage"
)

func TestMain(m *testing.M) {
	status := dbtest.Run(m)
	browsertest.Close()
	os.Exit(status)
}

var noon = time.Date(2026, 3, 31, 12, 0, 0, 0, time.UTC)

// world is a project with status pages, on a server.
type world struct {
	*monitor.Monitor
	t       testing.TB
	clock   *dbtest.Clock
	project uuid.UUID
	pages   *statuspage.Handler
	url     string
}

func newWorld(t testing.TB) *world {
	t.Helper()
	w := &world{t: t, clock: dbtest.NewClock(noon)}
	var err error
	w.Monitor, err = monitor.New(dbtest.Memory(t), &monitor.Config{Now: w.clock.Now})
	w.must(err)
	p, err := w.OpenProject(t.Context(), "secret project")
	w.must(err)
	w.project = p.ID()
	web := httptest.NewUnstartedServer(nil)
	w.pages, err = statuspage.New(w.Monitor, &statuspage.Config{BaseURL: "http://" + web.Listener.Addr().String() + "/jobs/status"})
	w.must(err)
	web.Config.Handler = w.pages
	web.Start()
	w.url = web.URL
	t.Cleanup(web.Close)
	t.Cleanup(w.pages.Close)
	return w
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// page makes a status page about all checks.
func (w *world) page(p checks.StatusPage) {
	w.t.Helper()
	_, err := w.Project(w.project).CreateStatusPage(w.t.Context(), p)
	w.must(err)
	w.pages.Refresh()
}

// check makes a check that expects a ping every hour, with an hour of grace.
func (w *world) check(name string) checks.Check {
	w.t.Helper()
	c, err := w.Project(w.project).Create(w.t.Context(), checks.Spec{Name: &name, Timeout: new(time.Hour), Grace: new(time.Hour)})
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

// sweep takes overdue checks down.
func (w *world) sweep() {
	w.t.Helper()
	err := w.Tick(w.t.Context())
	w.must(err)
}

// hostile are names that try to leave their place.
var hostile = []string{
	`<script>alert(1)</script>`, `"><img src=x onerror=alert(1)>`, `</title><b>`, `{{.Title}}`, `javascript:alert(1)`, "]]>&amp;&#x0;", `<!-- `,
	"a\u202eb\u2066c", "\x01\x02\x1b[31mred\u0085", "\ufffe\uffff\ufeff", "line\nbreak\r\n", strings.Repeat("W", 100), strings.Repeat("\u0301", 100), strings.Repeat("ﷺ", 100),
}
