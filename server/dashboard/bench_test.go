package dashboard_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/dbtest"
	"github.com/rollcall-dev/rollcall/pings"
	"github.com/rollcall-dev/rollcall/server"
	"github.com/rollcall-dev/rollcall/server/dashboard"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/pagetest"
)

// large is a project of checks, each with tags and 20 runs, or 4 if there are many, a tenth of them down.
func large(b testing.TB, store monitor.Store, n int) (handler http.Handler, project string) {
	now := pagetest.Start
	mon, err := monitor.New(store, &monitor.Config{Now: func() time.Time { return now }, DeliveredElsewhere: true})
	if err != nil {
		b.Fatal(err)
	}
	jobs, err := mon.OpenProject(b.Context(), "jobs")
	if err != nil {
		b.Fatal(err)
	}
	var ids []uuid.UUID
	for i := range n {
		c, err := jobs.Create(b.Context(), checks.Spec{Name: new(fmt.Sprintf("nightly-job-of-the-harbor-%05d", i)), Slug: new(fmt.Sprintf("job-%d", i)),
			Tags: []string{"prod", fmt.Sprint("team-", i%10)}, Schedule: new(fmt.Sprintf("%d %d 1 * *", i%60, i%24)), TZ: new("Europe/Riga")})
		if err != nil {
			b.Fatal(err)
		}
		ids = append(ids, c.ID)
	}
	ping := func(signal pings.Signal, ids ...uuid.UUID) {
		var group errgroup.Group // together, they share transactions
		for _, id := range ids {
			group.Go(func() error {
				_, err := mon.Ping(b.Context(), id, signal)
				return err
			})
		}
		if err := group.Wait(); err != nil {
			b.Fatal(err)
		}
	}
	for run := range min(20, max(4, 20_000/n)) {
		ping(pings.Signal{Kind: pings.Start}, ids...)
		now = now.Add(time.Duration(1+run*13%50) * 10 * time.Millisecond)
		ping(pings.Signal{}, ids...)
	}
	now = now.Add(48 * time.Hour)
	ping(pings.Signal{Kind: pings.Failure, ExitStatus: new(2), Body: []byte("rsync: write failed: No space left on device (28)")}, ids[:n/10]...)
	srv, err := server.New(mon, &server.Config{Dashboard: &dashboard.Config{}, Authorize: func(*http.Request) (server.Access, error) {
		return server.Access{Projects: []server.ProjectAccess{{ProjectID: jobs.ID(), Right: checks.Own}}}, nil
	}})
	if err != nil {
		b.Fatal(err)
	}
	pages := srv.Pages().(*dashboard.Dashboard)
	b.Cleanup(pages.Close)
	return pages, "/projects/" + jobs.ID().String() + "/"
}

// largePages are the pages that grow with the number of checks.
var largePages = []string{"", "?sort=name", "?state=down", "overview", "board", "badges", "rehearsal", "deliveries", "integrations", "integrations/new"}

// TestWeight: a page of a project of 1,000 checks has at most 150 kB, and 30 kB as it is sent.
func TestWeight(t *testing.T) {
	handler, project := large(t, dbtest.Memory(t), 1000)
	for _, page := range largePages {
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, project+page, nil))
		if w.Code != http.StatusOK || w.Body.Len() > 150_000 {
			t.Errorf("%q: status %d, %d bytes", page, w.Code, w.Body.Len())
		}
		r := httptest.NewRequest(http.MethodGet, project+page, nil)
		r.Header.Set("Accept-Encoding", "gzip")
		w = httptest.NewRecorder()
		if handler.ServeHTTP(w, r); w.Header().Get("Content-Encoding") != "gzip" || w.Body.Len() > 30_000 {
			t.Errorf("%q: %d bytes are sent", page, w.Body.Len())
		}
	}
}

// BenchmarkPages makes the pages of a project of 1,000 checks, compressed. The store is in memory, so this is the work of the
// pages alone. Each should take less than 40 ms, but for the last one, which shows all checks.
func BenchmarkPages(b *testing.B) {
	handler, project := large(b, dbtest.Memory(b), 1000)
	for _, page := range append(largePages, "?all=1") {
		b.Run(page, func(b *testing.B) {
			for b.Loop() {
				r := httptest.NewRequest(http.MethodGet, project+page, nil)
				r.Header.Set("Accept-Encoding", "gzip")
				w := httptest.NewRecorder()
				handler.ServeHTTP(w, r)
				if w.Code != http.StatusOK {
					b.Fatal(w.Code)
				}
				b.ReportMetric(float64(w.Body.Len()), "bytes")
			}
		})
	}
}

// BenchmarkBoard makes the board of 10,000 checks on a file of SQLite. With all that the database does, it should take less than a second
// of CPU time.
func BenchmarkBoard(b *testing.B) {
	handler, project := large(b, dbtest.SQLite(b).Open(b), 10_000)
	for _, page := range []string{"board", "board?all=1", "board?span=7d&group=tag", "board?at=2026-11-20T03:00Z", "overview"} {
		b.Run(page, func(b *testing.B) {
			for b.Loop() {
				w := httptest.NewRecorder()
				handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, project+page, nil))
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
	now := pagetest.Start
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
						return server.Access{Projects: []server.ProjectAccess{{ProjectID: project.ID(), Right: checks.Own}}}, nil
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
