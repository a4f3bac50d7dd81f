package pinghttp_test

import (
	"net"
	"net/http"
	"testing"

	"github.com/rollcall-dev/rollcall/server/pinghttp"
)

// BenchmarkServe is a request on a connection that is kept, by net/http alone and with the short way. Client and kernel
// are in both.
func BenchmarkServe(b *testing.B) {
	ok := []byte("OK")
	web := func() *http.Server {
		return &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header()["Content-Type"] = []string{"text/plain"}
			_, _ = w.Write(ok)
		})}
	}
	b.Run("net/http", func(b *testing.B) {
		w := web()
		benchmark(b, w.Serve, w.Close)
	})
	b.Run("pinghttp", func(b *testing.B) {
		s := pinghttp.New(web(), func(*http.Request) bool { return true })
		benchmark(b, s.Serve, s.Close)
	})
}

func benchmark(b *testing.B, serve func(net.Listener) error, end func() error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	go serve(l)
	defer end()
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	answer := make([]byte, 1024)
	request := []byte(ping)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := c.Write(request); err != nil {
			b.Fatal(err)
		}
		if n, err := c.Read(answer); err != nil || string(answer[n-2:n]) != "OK" {
			b.Fatal(err)
		}
	}
}
