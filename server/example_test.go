package server_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/sqlite"
	"github.com/rollcall-dev/rollcall/server"
)

// A program with its own HTTP server accepts pings beside its pages.
func ExampleServer_Pings() {
	mon, cleanup := openMonitor()
	defer cleanup()
	srv, err := server.New(mon, &server.Config{BaseURL: "https://jobs.example.org", PingBaseURL: "https://jobs.example.org/alive"})
	if err != nil {
		log.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle("/alive/", srv.Pings())
	web := httptest.NewServer(mux) // in a real program, an http.Server with time limits
	defer web.Close()

	ctx := context.Background()
	project, _, err := mon.Projects().Create(ctx, checks.ProjectSpec{Name: "jobs"})
	if err != nil {
		log.Fatal(err)
	}
	c, err := mon.Project(project.ID).Create(ctx, checks.Spec{Name: new("nightly")})
	if err != nil {
		log.Fatal(err)
	}
	answer, err := http.Get(web.URL + "/alive/" + c.ID.String())
	if err != nil {
		log.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		log.Fatal(err)
	}
	if c, err = mon.Project(project.ID).Check(ctx, c.ID); err != nil {
		log.Fatal(err)
	}
	fmt.Println(string(text), c.Status)
	// Output: OK up
}

// A program whose users sign in on its own pages mounts the API for them. Nobody needs an API key.
func ExampleServer_API() {
	mon, cleanup := openMonitor()
	defer cleanup()
	project, _, err := mon.Projects().Create(context.Background(), checks.ProjectSpec{Name: "jobs"})
	if err != nil {
		log.Fatal(err)
	}
	srv, err := server.New(mon, &server.Config{
		BaseURL: "https://jobs.example.org/ops",
		Authorize: func(r *http.Request) (server.Access, error) {
			session, err := r.Cookie("session") // a real program looks it up
			if err != nil {
				return server.Access{}, server.ErrSignedOut
			}
			right := checks.Read
			if session.Value == "admin" {
				right = checks.Own
			}
			return server.Access{Projects: []server.ProjectAccess{{ProjectID: project.ID, Right: right}}}, nil
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle("/ops/api/v3/", srv.API())

	create := func(headers ...string) {
		r := httptest.NewRequest("POST", "https://jobs.example.org/ops/api/v3/checks/", strings.NewReader(`{"name": "nightly"}`))
		for i := 0; i < len(headers); i += 2 {
			r.Header.Set(headers[i], headers[i+1])
		}
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, r)
		fmt.Println(w.Code)
	}
	create()
	create("Cookie", "session=guest")
	create("Cookie", "session=admin", "Origin", "https://evil.example.org", "Sec-Fetch-Site", "same-site")
	create("Cookie", "session=admin", "Origin", "https://jobs.example.org", "Sec-Fetch-Site", "same-origin")
	// Output:
	// 401
	// 403
	// 403
	// 201
}

// openMonitor returns a monitor on a new SQLite database.
func openMonitor() (mon *monitor.Monitor, cleanup func()) {
	dir, err := os.MkdirTemp("", "rollcall-example-")
	if err != nil {
		log.Fatal(err)
	}
	store, err := sqlite.Open(context.Background(), filepath.Join(dir, "rollcall.db"))
	if err != nil {
		log.Fatal(err)
	}
	if mon, err = monitor.New(store, nil); err != nil {
		log.Fatal(err)
	}
	return mon, func() {
		store.Close()
		os.RemoveAll(dir)
	}
}
