package pinghttp_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/rollcall-dev/rollcall/server/pinghttp"
)

func Example() {
	web := &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, long := w.(http.Flusher)
			fmt.Fprintf(w, "%s, the long way: %v", r.URL.Path, long)
		}),
		ReadHeaderTimeout: 10 * time.Second, WriteTimeout: time.Minute, IdleTimeout: 2 * time.Minute,
	}
	// With package server: pinghttp.New(web, srv.IsPing)
	fast := pinghttp.New(web, func(r *http.Request) bool { return strings.HasPrefix(r.URL.Path, "/ping/") })
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	go fast.Serve(listener) // its error is http.ErrServerClosed in the end

	for _, path := range []string{"/ping/1", "/ping/2", "/api"} {
		answer, err := http.Get("http://" + listener.Addr().String() + path)
		if err != nil {
			log.Fatal(err)
		}
		text, err := io.ReadAll(answer.Body)
		if err != nil {
			log.Fatal(err)
		}
		answer.Body.Close()
		fmt.Println(string(text))
	}
	http.DefaultClient.CloseIdleConnections()
	if err := fast.Shutdown(context.Background()); err != nil {
		log.Fatal(err)
	}
	// Output:
	// /ping/1, the long way: false
	// /ping/2, the long way: false
	// /api, the long way: true
}
