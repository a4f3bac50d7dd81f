package dashboard_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
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

// BenchmarkOverview makes the overview of 1,000 checks, of which 200 are down with 50 kB of output each: first on a server that
// has just started, and then again.
func BenchmarkOverview(b *testing.B) {
	now := start
	mon, err := monitor.New(dbtest.Memory(b), &monitor.Config{Now: func() time.Time { return now }})
	if err != nil {
		b.Fatal(err)
	}
	project, err := mon.OpenProject(b.Context(), "jobs")
	if err != nil {
		b.Fatal(err)
	}
	for i := range 1000 {
		c, err := project.Create(b.Context(), checks.Spec{Name: new(fmt.Sprintf("job-%05d", i)), Timeout: new(48 * time.Hour)})
		if err != nil {
			b.Fatal(err)
		}
		s := pings.Signal{}
		if i < 200 {
			s = pings.Signal{Kind: pings.Failure, Body: fmt.Appendf(nil, "%s\nerror: disk %c: no space left on device\n", strings.Repeat("copied a file\n", 3500), 'a'+i%20)}
		}
		if _, err := mon.Ping(b.Context(), c.ID, s); err != nil {
			b.Fatal(err)
		}
	}
	now = now.Add(time.Hour)
	for _, fresh := range []bool{true, false} {
		b.Run(map[bool]string{true: "first", false: "again"}[fresh], func(b *testing.B) {
			var pages *dashboard.Dashboard
			for b.Loop() {
				b.StopTimer()
				if fresh || pages == nil {
					srv, err := server.New(mon, &server.Config{Dashboard: &dashboard.Config{}, Authorize: func(*http.Request) (server.Access, error) {
						return server.Access{Projects: []server.ProjectAccess{{ProjectID: project.ID(), Edit: true}}}, nil
					}})
					if err != nil {
						b.Fatal(err)
					}
					pages = srv.Pages().(*dashboard.Dashboard)
					b.Cleanup(pages.Close)
				}
				b.StartTimer()
				w := httptest.NewRecorder()
				pages.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/projects/"+project.ID().String()+"/overview", nil))
				if w.Code != http.StatusOK {
					b.Fatal(w.Code)
				}
				b.ReportMetric(float64(w.Body.Len()), "bytes")
			}
		})
	}
}
