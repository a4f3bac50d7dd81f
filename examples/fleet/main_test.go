package main

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/badges"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/dbtest"
	"github.com/rollcall-dev/rollcall/client"
	"github.com/rollcall-dev/rollcall/server"
)

// site is a server in memory that allows 100 requests a minute, behind a proxy that may answer in its place.
type site struct {
	server http.Handler
	proxy  func(r *http.Request) (status int) // 0 passes the request on
}

func (s *site) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	if status := s.proxy(r); status != 0 {
		w.Header().Set("Content-Type", "text/html")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, "<html><center>nginx</center></html>")
	} else {
		s.server.ServeHTTP(w, r)
	}
	res := w.Result()
	res.Request = r
	return res, nil
}

func pass(*http.Request) int { return 0 }

func TestFleet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // time passes by itself
		mon, err := monitor.New(dbtest.Memory(t), nil)
		if err != nil {
			t.Fatal(err)
		}
		project, keys, err := mon.Projects().Create(t.Context(), checks.ProjectSpec{Name: "fleet"})
		if err != nil {
			t.Fatal(err)
		}
		signer, err := badges.NewSigner([]byte("0123456789abcdef0123456789abcdef"))
		if err != nil {
			t.Fatal(err)
		}
		srv, err := server.New(mon, &server.Config{RateLimit: 100, Signer: signer})
		if err != nil {
			t.Fatal(err)
		}
		s := &site{srv, pass}
		c, err := client.New("http://localhost:8000", keys.ReadWrite, &client.Config{HTTPClient: &http.Client{Transport: s}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := mon.Project(project.ID).Create(t.Context(), checks.Spec{Slug: new("not-of-the-fleet")}); err != nil {
			t.Fatal(err)
		}
		count := func() int {
			t.Helper()
			list, err := checks.Stored(mon.Project(project.ID).Checks(t.Context(), checks.Query{}))
			if err != nil {
				t.Fatal(err)
			}
			return len(list)
		}
		expect := func(jobs []string, want string) {
			t.Helper()
			began := time.Now()
			got, err := reconcile(t.Context(), c, strings.Join(jobs, "\n"))
			created, updated, deleted := got.Count()
			if text := fmt.Sprintf("%d created, %d deleted", created, deleted); err != nil || text != want || updated > 0 || time.Since(began) > 3*time.Minute {
				t.Errorf("%s after %v, %v, want %s", text, time.Since(began), err, want)
			}
		}
		var jobs []string
		for i := range 200 {
			jobs = append(jobs, fmt.Sprintf("host-%03d %d 3 * * *", i, i%60))
		}
		expect(jobs, "200 created, 0 deleted")
		expect(jobs, "0 created, 0 deleted") // the second start
		expect(jobs[1:], "0 created, 1 deleted")

		// Whatever answers instead of the server, the tool believes no check to be gone.
		for name, proxy := range map[string]func(r *http.Request) int{
			"nginx at a wrong URL": func(*http.Request) int { return 404 },
			"login page":           func(*http.Request) int { return 200 },
			"no list":              func(r *http.Request) int { return map[string]int{"GET": 404}[r.Method] },
			"empty page as a list": func(r *http.Request) int { return map[string]int{"GET": 200}[r.Method] },
			"no deletion":          func(r *http.Request) int { return map[string]int{"DELETE": 404}[r.Method] },
		} {
			s.proxy = proxy
			if _, err := reconcile(t.Context(), c, strings.Join(jobs[10:], "\n")); !errors.Is(err, client.ErrNotRollcall) || count() != 200 {
				t.Errorf("%s: %v, %d checks are left", name, err, count())
			}
		}

		// Only the server knows what is gone.
		s.proxy = func(r *http.Request) int {
			if r.Method == http.MethodDelete { // another was faster
				if _, err := mon.Project(project.ID).Delete(t.Context(), uuid.MustParse(r.URL.Path[len(r.URL.Path)-36:])); err != nil && !errors.Is(err, checks.ErrNotFound) {
					t.Error(err)
				}
			}
			return 0
		}
		expect(jobs[10:], "0 created, 9 deleted")
		if count() != 191 {
			t.Errorf("%d checks are left", count())
		}
	})
}
