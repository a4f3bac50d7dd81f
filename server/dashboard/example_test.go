package dashboard_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/sqlite"
	"github.com/rollcall-dev/rollcall/server/dashboard"
)

// A program mounts the pages beside its own. Its own sign-in decides what a visitor may see: here the header of a proxy that
// asks for passwords.
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
	pages, err := dashboard.New(mon, &dashboard.Config{
		BaseURL: "https://example.org/jobs",
		Authorize: func(r *http.Request) (dashboard.Access, error) {
			user := r.Header.Get("X-Forwarded-User")
			if user == "" {
				return dashboard.Access{}, dashboard.ErrSignedOut
			}
			return dashboard.Access{Name: user, Projects: []dashboard.ProjectAccess{{ProjectID: project.ID, Edit: user == "ada"}}}, nil
		},
		SignInURL: "/login",
	})
	if err != nil {
		panic(err)
	}
	defer pages.Close()
	mux := http.NewServeMux()
	mux.Handle("/jobs/", pages)

	for _, user := range []string{"", "ada"} {
		r := httptest.NewRequest(http.MethodGet, "https://example.org/jobs/projects/"+project.ID.String()+"/", nil)
		r.Header.Set("X-Forwarded-User", user)
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, r)
		fmt.Println(w.Code, w.Header().Get("Location"))
	}
	// Output:
	// 303 /login
	// 200
}
