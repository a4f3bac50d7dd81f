package dashboard_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/sqlite"
	"github.com/rollcall-dev/rollcall/server"
	"github.com/rollcall-dev/rollcall/server/dashboard"
)

// A program mounts the pages, the API and the ping endpoints beside its own pages. Its own sign-in decides what a visitor may
// see: here the header of a proxy that asks for passwords.
func Example() {
	ctx := context.Background()
	store, err := sqlite.Open(ctx, sqlite.Memory)
	if err != nil {
		panic(err)
	}
	defer store.Close()
	mon, err := monitor.New(store, nil)
	if err != nil {
		panic(err)
	}
	project, err := mon.OpenProject(ctx, "jobs")
	if err != nil {
		panic(err)
	}
	rollcall, err := server.New(mon, &server.Config{
		BaseURL: "https://example.org/jobs", Dashboard: &dashboard.Config{SignInURL: "/login"},
		Authorize: func(r *http.Request) (server.Access, error) {
			user := r.Header.Get("X-Forwarded-User")
			if user == "" {
				return server.Access{}, server.ErrSignedOut
			}
			right := checks.Read
			if user == "ada" {
				right = checks.Own
			}
			return server.Access{Name: user, Projects: []server.ProjectAccess{{ProjectID: project.ID(), Right: right}}}, nil
		},
	})
	if err != nil {
		panic(err)
	}
	defer rollcall.Close()
	mux := http.NewServeMux()
	mux.Handle("/jobs/", rollcall)

	for _, user := range []string{"", "ada"} {
		r := httptest.NewRequest(http.MethodGet, "https://example.org/jobs/projects/"+project.ID().String()+"/", nil)
		r.Header.Set("X-Forwarded-User", user)
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, r)
		fmt.Println(w.Code, w.Header().Get("Location"))
	}
	// Output:
	// 303 /login
	// 200
}
