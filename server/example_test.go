package server_test

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"time"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/sqlitedialect"

	"github.com/rollcall-dev/rollcall/badges"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/sqlstore"
	"github.com/rollcall-dev/rollcall/server"
)

// A program with its own HTTP server accepts pings beside its pages.
func ExampleServer_Pings() {
	mon, cleanup := openMonitor()
	defer cleanup()
	signer, err := badges.NewSigner([]byte("a secret of sixteen bytes or more"))
	if err != nil {
		log.Fatal(err)
	}
	srv, err := server.New(mon, &server.Config{
		BaseURL: "https://jobs.example.org", PingBaseURL: "https://jobs.example.org/alive", Signer: signer,
	})
	if err != nil {
		log.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle("/alive/", http.StripPrefix("/alive", srv.Pings()))
	web := httptest.NewServer(mux) // in a real program, an http.Server with time limits
	defer web.Close()

	ctx := context.Background()
	project, _, err := mon.CreateProject(ctx, monitor.ProjectSpec{Name: "jobs"})
	if err != nil {
		log.Fatal(err)
	}
	c, err := mon.Create(ctx, project.ID, checks.Spec{Name: new("nightly")})
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
	if c, err = mon.Check(ctx, c.ID); err != nil {
		log.Fatal(err)
	}
	fmt.Println(string(text), c.Status(mon.Now()))
	// Output: OK up
}

// openMonitor returns a monitor on a new SQLite database.
func openMonitor() (mon *monitor.Monitor, cleanup func()) {
	dir, err := os.MkdirTemp("", "rollcall-example-")
	if err != nil {
		log.Fatal(err)
	}
	sqldb, err := sql.Open("sqlite", sqlstore.SQLiteDSN(filepath.Join(dir, "rollcall.db"), 10*time.Second))
	if err != nil {
		log.Fatal(err)
	}
	store, err := sqlstore.New(bun.NewDB(sqldb, sqlitedialect.New()))
	if err != nil {
		log.Fatal(err)
	}
	if err := store.Migrate(context.Background()); err != nil {
		log.Fatal(err)
	}
	if mon, err = monitor.New(store, nil); err != nil {
		log.Fatal(err)
	}
	return mon, func() {
		sqldb.Close()
		os.RemoveAll(dir)
	}
}
