package dashboard_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/dbtest"
	"github.com/rollcall-dev/rollcall/pings"
	"github.com/rollcall-dev/rollcall/server"
	"github.com/rollcall-dev/rollcall/server/dashboard"
)

// BenchmarkList makes the list of checks, each with 20 runs, compressed. The store is in memory, so this is the work of the
// page alone.
func BenchmarkList(b *testing.B) {
	for _, size := range []int{100, 1000, 10_000} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			now := start
			mon, err := monitor.New(dbtest.Memory(b), &monitor.Config{Now: func() time.Time { return now }})
			if err != nil {
				b.Fatal(err)
			}
			project, err := mon.OpenProject(b.Context(), "jobs")
			if err != nil {
				b.Fatal(err)
			}
			for i := range size {
				c, err := project.Create(b.Context(), checks.Spec{Name: new(fmt.Sprintf("job-%05d", i)), Tags: []string{"prod", fmt.Sprint("team-", i%10)}, Schedule: new(fmt.Sprintf("%d %d * * *", i%60, i%24))})
				if err != nil {
					b.Fatal(err)
				}
				for run := range 20 {
					now = now.Add(time.Millisecond)
					if _, err := mon.Ping(b.Context(), c.ID, pings.Signal{Kind: pings.Start}); err != nil {
						b.Fatal(err)
					}
					now = now.Add(time.Duration(1+(i*7+run*13)%50) * 10 * time.Millisecond)
					if _, err := mon.Ping(b.Context(), c.ID, pings.Signal{}); err != nil {
						b.Fatal(err)
					}
				}
			}
			srv, err := server.New(mon, &server.Config{Dashboard: &dashboard.Config{}, Authorize: func(*http.Request) (server.Access, error) {
				return server.Access{Projects: []server.ProjectAccess{{ProjectID: project.ID(), Edit: true}}}, nil
			}})
			if err != nil {
				b.Fatal(err)
			}
			pages := srv.Pages().(*dashboard.Dashboard)
			b.Cleanup(pages.Close)
			for b.Loop() {
				r := httptest.NewRequest(http.MethodGet, "/projects/"+project.ID().String()+"/", nil)
				r.Header.Set("Accept-Encoding", "gzip")
				w := httptest.NewRecorder()
				pages.ServeHTTP(w, r)
				if w.Code != http.StatusOK {
					b.Fatal(w.Code)
				}
				b.ReportMetric(float64(w.Body.Len()), "bytes")
			}
		})
	}
}
