package main

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rollcall-dev/rollcall/checks/sqlstore/dbtest"
)

// TestHugeHeaders: headers above the limit get 431 and the end of the connection; headers just below it get an answer.
func TestHugeHeaders(t *testing.T) {
	p := start(t, dbtest.SQLite(t).URL)
	for name, c := range map[string]struct {
		request string
		status  int
	}{
		"fits":         {"GET /api/v3/status/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\nX: " + strings.Repeat("x", 60_000) + "\r\n\r\n", 200},
		"one value":    {"GET /api/v3/status/ HTTP/1.1\r\nHost: x\r\nX: " + strings.Repeat("x", 200_000) + "\r\n\r\n", 431},
		"many headers": {"GET /api/v3/status/ HTTP/1.1\r\nHost: x\r\n" + strings.Repeat("X: y\r\n", 200_000) + "\r\n", 431},
		"one name":     {"GET /api/v3/status/ HTTP/1.1\r\nHost: x\r\n" + strings.Repeat("X", 200_000) + ": y\r\n\r\n", 431},
		"request line": {"GET /" + strings.Repeat("x", 200_000) + " HTTP/1.1\r\nHost: x\r\n\r\n", 431},
		"no end":       {strings.Repeat("G", 200_000), 431},
		"trailers": {"POST /ping/x HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nTrailer: X\r\n\r\n1\r\nx\r\n0\r\nX: " +
			strings.Repeat("x", 200_000) + "\r\n\r\n", 400},
		"chunk extension": {"POST /ping/x HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1;" + strings.Repeat("x", 200_000) + "\r\nx\r\n0\r\n\r\n", 400},
	} {
		t.Run(name, func(t *testing.T) {
			conn, err := net.Dial("tcp", strings.TrimPrefix(p.url, "http://"))
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			_ = conn.SetDeadline(time.Now().Add(patience))
			written := make(chan struct{})
			go func() {
				defer close(written)
				_, _ = io.WriteString(conn, c.request) // the server need not read all of it
			}()
			answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if errors.Is(err, syscall.ECONNRESET) && c.status != 200 {
				return // the reset for the unread rest may overtake the answer
			}
			if err != nil {
				t.Fatal(err)
			}
			if answer.StatusCode != c.status && !(c.status == 400 && answer.StatusCode == 404) {
				t.Errorf("status %d, want %d", answer.StatusCode, c.status)
			}
			if !answer.Close {
				t.Error("the connection is kept")
			}
			conn.Close()
			<-written
		})
	}
	if status, body, err := (request{method: http.MethodGet, url: p.url + "/api/v3/status/"}).do(); err != nil || status != 200 {
		t.Errorf("after that: %d %s %v", status, body, err)
	}
}
