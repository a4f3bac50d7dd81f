// Command httpserver serves Rollcall beside the pages of a program's own HTTP server. Its argument is the database file.
package main

import (
	"context"
	"log"
	"net/http"
	"os"
	"time"

	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/sqlite"
	"github.com/rollcall-dev/rollcall/server"
)

func main() {
	ctx := context.Background()
	store, err := sqlite.Open(ctx, os.Args[1])
	check(err)
	mon, err := monitor.New(store, nil)
	check(err)
	check(mon.Start(ctx)) // takes overdue checks down

	handler, err := routes(ctx, mon, "http://localhost:8080")
	check(err)
	web := &http.Server{Addr: "localhost:8080", Handler: handler, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: time.Minute}
	check(web.ListenAndServe())
}

// routes serves the program's own pages, the ping endpoints below /alive/, the API below /api/v3/ and the badges.
func routes(ctx context.Context, mon *monitor.Monitor, url string) (http.Handler, error) {
	rollcall, err := server.New(mon, &server.Config{BaseURL: url, PingBaseURL: url + "/alive", RateLimit: 100})
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/{$}", func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte("my program\n")) })
	mux.Handle("/alive/", rollcall.Pings())
	mux.Handle("/api/v3/", rollcall.API())
	mux.Handle("/badge/", rollcall.Badges())
	mux.Handle("/b/", rollcall.Badges())
	return mux, nil
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
