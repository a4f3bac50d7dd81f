package live_test

import (
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/dbtest"
	"github.com/rollcall-dev/rollcall/pings"
	"github.com/rollcall-dev/rollcall/server"
	"github.com/rollcall-dev/rollcall/server/dashboard"
)

// An open page costs the database nothing while nothing changes, also when the clock alone makes a check late and down, and
// one reading however many pages are open when something does change.
func TestOpenPagesCostNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var reads atomic.Int64
		mon, err := monitor.New(&dbtest.Hooked{Store: dbtest.Memory(t), Around: func(_ string, do func() error) error {
			reads.Add(1)
			return do()
		}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		project, err := mon.OpenProject(t.Context(), "jobs")
		if err != nil {
			t.Fatal(err)
		}
		c, err := project.Create(t.Context(), checks.Spec{Name: new("backup"), Timeout: new(time.Hour), Grace: new(time.Hour)})
		if err != nil {
			t.Fatal(err)
		}
		ping := func() {
			t.Helper()
			if _, err := mon.Ping(t.Context(), c.ID, pings.Signal{}); err != nil {
				t.Fatal(err)
			}
		}
		ping()
		srv, err := server.New(mon, &server.Config{Dashboard: &dashboard.Config{}, Authorize: func(*http.Request) (server.Access, error) {
			return server.Access{Projects: []server.ProjectAccess{{ProjectID: project.ID(), Right: checks.Read}}}, nil
		}})
		if err != nil {
			t.Fatal(err)
		}
		pages := srv.Pages().(*dashboard.Dashboard)
		defer pages.Close()
		for range 50 {
			go pages.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/projects/"+project.ID().String()+"/events", nil))
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		before := reads.Load()
		time.Sleep(3 * time.Hour)
		synctest.Wait()
		if n := reads.Load() - before; n > 0 {
			t.Errorf("%d queries in three hours in which nothing changed", n)
		}
		before = reads.Load()
		ping()
		time.Sleep(time.Minute)
		synctest.Wait()
		if n := reads.Load() - before; n > 3 { // the ping, and the checks read again
			t.Errorf("%d queries for one ping", n)
		}
	})
}
