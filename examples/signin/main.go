// Command signin serves the Rollcall API and the dashboard behind a program's own sign-in: the people of a team sign in with a
// cookie and need no API keys. Its argument is the database file.
package main

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"fmt"
	"log"
	"net/http"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

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

// person is a member of the team. Passwords stand here to keep the example short.
type person struct {
	password string
	right    checks.Right // in the project
}

var team = map[string]person{"ann": {"correct horse", checks.Own}, "guest": {"welcome", checks.Read}}

// routes serves a sign-in at /login, the dashboard at /ops/ and the API below /ops/api/v3/ for those who are signed in, and
// pings below /ops/ping/ for everybody.
func routes(ctx context.Context, mon *monitor.Monitor, url string) (http.Handler, error) {
	project, err := mon.OpenProject(ctx, "team")
	if err != nil {
		return nil, err
	}
	var sessions sync.Map // from tokens to names; a restart ends them
	rollcall, err := server.New(mon, &server.Config{
		BaseURL: url + "/ops", RateLimit: 100, Dashboard: &dashboard.Config{SignInURL: "/login"},
		Authorize: func(r *http.Request) (server.Access, error) {
			if cookie, err := r.Cookie("session"); err == nil {
				if name, ok := sessions.Load(cookie.Value); ok {
					may := server.ProjectAccess{ProjectID: project.ID(), Right: team[name.(string)].right}
					return server.Access{Name: name.(string), Projects: []server.ProjectAccess{may}}, nil
				}
			}
			return server.Access{}, server.ErrSignedOut
		},
	})
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /login", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, `<form method="post"><input name="name"><input name="password" type="password"><button>Sign in</button></form>`)
	})
	mux.HandleFunc("POST /login", func(w http.ResponseWriter, r *http.Request) {
		name := r.PostFormValue("name")
		p, ok := team[name]
		if !ok || subtle.ConstantTimeCompare([]byte(p.password), []byte(r.PostFormValue("password"))) == 0 {
			http.Error(w, "wrong name or password", http.StatusForbidden)
			return
		}
		token := rand.Text()
		sessions.Store(token, name)
		http.SetCookie(w, &http.Cookie{Name: "session", Value: token, Path: "/", HttpOnly: true, SameSite: http.SameSiteLaxMode})
		fmt.Fprintln(w, "signed in")
	})
	mux.Handle("/ops/", rollcall)
	return mux, nil
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
