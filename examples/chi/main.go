// Command chi serves the dashboard, the API and the ping endpoints of Rollcall in a program whose router is chi and whose users
// a proxy signs in: it says who they are in the header X-Forwarded-User. Its argument is the database file.
package main

import (
	"context"
	"log"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/sqlite"
	"github.com/rollcall-dev/rollcall/server"
	"github.com/rollcall-dev/rollcall/server/dashboard"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	store, err := sqlite.Open(ctx, os.Args[1])
	check(err)
	mon, err := monitor.New(store, nil)
	check(err)
	check(mon.Start(context.WithoutCancel(ctx))) // takes overdue checks down until Stop

	handler, err := routes(ctx, mon, "http://localhost:8080")
	check(err)
	web := &http.Server{Addr: "localhost:8080", Handler: handler, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: time.Minute}
	go func() {
		log.Print(web.ListenAndServe())
		stop()
	}()
	<-ctx.Done()
	check(web.Shutdown(context.WithoutCancel(ctx))) // takes no more pings
	check(mon.Stop(ctx))                            // sends the alerts that are due
	check(store.Close())
}

// routes serves the program's own page, and Rollcall below /jobs.
func routes(ctx context.Context, mon *monitor.Monitor, url string) (http.Handler, error) {
	project, err := mon.OpenProject(ctx, "jobs")
	if err != nil {
		return nil, err
	}
	rollcall, err := server.New(mon, &server.Config{
		BaseURL:   url + "/jobs",
		Dashboard: &dashboard.Config{},
		Authorize: func(r *http.Request) (server.Access, error) {
			user := r.Header.Get("X-Forwarded-User")
			if user == "" {
				return server.Access{}, server.ErrSignedOut
			}
			right := checks.Read
			if user == "ann" {
				right = checks.Own
			}
			return server.Access{Name: user, Projects: []server.ProjectAccess{{ProjectID: project.ID(), Right: right}}}, nil
		},
	})
	if err != nil {
		return nil, err
	}
	router := chi.NewRouter()
	router.Get("/", func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte("my program\n")) })
	router.Mount("/jobs", rollcall)
	return router, nil
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
