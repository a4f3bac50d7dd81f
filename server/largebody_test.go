package server_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/dbtest"
	"github.com/rollcall-dev/rollcall/server"
)

// TestAnswerWhileSending: a client whose body is refused gets the answer while it still sends. It may send the rest and go
// on with the same connection.
func TestAnswerWhileSending(t *testing.T) {
	each(t, nil, func(s *site) {
		const size = 5_000_000
		check := s.create(nil)
		for name, c := range map[string]struct {
			path, headers string
			status        int
		}{
			"too large":               {"/api/v3/checks/", "X-Api-Key: " + s.keys.ReadWrite, 413},
			"too large for an update": {path(check), "X-Api-Key: " + s.keys.ReadWrite, 413},
			"too large without a key": {"/api/v3/checks/", "X: y", 413},
			"wrong key":               {"/api/v3/checks/", "X-Api-Key: " + strings.Repeat("x", 32), 401},
			"read-only key":           {"/api/v3/checks/", "X-Api-Key: " + s.keys.ReadOnly, 401},
			"no endpoint":             {"/api/v3/nothing/", "X: y", 404},
			"another method":          {"/badge/x", "X: y", 405},
			"no check":                {"/ping/nothing", "X: y", 404},
		} {
			body := strings.Repeat(" ", size/2)
			conn := s.connect(fmt.Sprintf("POST %s HTTP/1.1\r\nHost: x\r\n%s\r\nContent-Length: %d\r\n\r\n", c.path, c.headers, size) + body)
			answers := bufio.NewReader(conn)
			for i, want := range []int{c.status, 200} {
				answer, err := http.ReadResponse(answers, nil)
				if err != nil {
					s.Fatalf("%s: answer %d: %v", name, i, err)
				}
				if answer.StatusCode != want {
					s.Errorf("%s: answer %d has status %d, want %d", name, i, answer.StatusCode, want)
				}
				_, _ = io.Copy(io.Discard, answer.Body)
				if i > 0 {
					break
				}
				if _, err := io.WriteString(conn, body+"GET /api/v3/status/ HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
					s.Fatalf("%s: cannot send the rest: %v", name, err)
				}
			}
			conn.Close()
		}
	})
}

// TestKeyOfLargeBody: a body is read beyond 64 kB only for a valid key.
func TestKeyOfLargeBody(t *testing.T) {
	each(t, nil, func(s *site) {
		const list = "/api/v3/checks/"
		fill := func(n int) string { return `"x":{"y":["` + strings.Repeat("x", n) + `"]}` }
		key := `"api_key":"` + s.keys.ReadWrite + `"`
		wrong := `"api_key":"` + strings.Repeat("x", 32) + `"`
		send := func(fields ...string) reply {
			s.Helper()
			return s.send("POST", list, "{"+strings.Join(fields, ",")+"}")
		}
		send(key, fill(900_000), `"name":"n"`).is(201)
		send(fill(60_000), key, fill(900_000)).is(201)
		send(fill(65_400), key).is(201) // just below 65,536 bytes
		send(fill(66_000), key).refused(401, "missing api key in the first 65536 bytes of the body")
		send(fill(900_000)).refused(401, "missing api key in the first 65536 bytes of the body")
		send(wrong, fill(900_000)).refused(401, "wrong api key")
		send(key, fill(900_000), wrong).refused(401, "wrong api key") // the last one counts
		send(`"api_key":5`, fill(900_000)).is(401)
		send(`"api_key":"x"`, fill(900_000)).refused(401, "missing api key")
		send(`{"api_key":`, fill(900_000)).is(401)
		s.send("POST", list, "["+key+","+fill(900_000)+"]").is(401)
		s.send("POST", list, strings.Repeat("[", 100_000)).is(401)
		send(fill(1000), key, "}"+fill(900_000)).is(400)

		// The answer does not wait for the rest of the body.
		for _, headers := range []string{"", "X-Api-Key: " + s.keys.ReadOnly + "\r\n", "X-Api-Key: " + strings.Repeat("x", 32) + "\r\n"} {
			begun := "POST " + list + " HTTP/1.1\r\nHost: x\r\n" + headers + "Content-Length: 900000\r\n\r\n{" + wrong + "," + fill(70_000)
			s.equal("status", s.raw(begun).status, 401)
		}
	})
}

// TestBodyMemory: while requests hold all of the memory for bodies, small bodies are still read and larger ones get 503.
func TestBodyMemory(t *testing.T) {
	each(t, nil, func(s *site) {
		check := s.create(nil)
		id := check["uuid"].(string)
		large, small := strings.Repeat("x", 20_000), strings.Repeat("x", 16_000)
		release := s.server.ReserveBodies()
		s.send("POST", "/ping/"+id, small).text(200, "OK")
		s.api("POST", path(check), object{"desc": small[:9000]}).is(200)
		var refused [3]reply
		var waiting sync.WaitGroup
		waiting.Go(func() { refused[0] = s.send("POST", "/ping/"+id, large) })
		waiting.Go(func() { refused[1] = s.api("POST", path(check), object{"x": large}) })
		waiting.Go(func() { refused[2] = s.send("POST", path(check), object{"x": large, "api_key": s.keys.ReadWrite}) })
		waiting.Wait()
		for _, r := range refused {
			if !strings.Contains(r.body, "too many large bodies at once") {
				s.Errorf("%s: the error is %s, want too many large bodies", r.what, r.body)
			}
			s.equal("Retry-After", r.is(503).header.Get("Retry-After"), "5")
		}
		release()
		s.send("POST", "/ping/"+id, large).text(200, "OK")
		s.api("POST", path(check), object{"x": large}).is(200)
		s.server.ReserveBodies()() // all of it was given back
		s.equal("n_pings", s.get(check)["n_pings"], any(2.0))
	})
}

// TestUnfinishedBody sends the start of a body and no more. When the time for reading has passed, the server closes the
// connection, so that it takes nothing that comes later for a request.
func TestUnfinishedBody(t *testing.T) {
	_, srv := newServer(t, dbtest.SQLite(t).Open(t), monitor.Config{}, server.Config{})
	web := httptest.NewUnstartedServer(srv)
	web.Config.ReadTimeout = 50 * time.Millisecond
	web.Start()
	defer web.Close()
	for _, path := range []string{"/ping/nobody", "/api/v3/checks/", "/nothing"} {
		conn, err := net.Dial("tcp", web.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		_, _ = conn.Write([]byte("POST " + path + " HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\nx"))
		_ = conn.SetReadDeadline(time.Now().Add(2 * time.Minute)) // reached only by a failure
		if _, err := io.Copy(io.Discard, conn); errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("POST %s: the connection stays open", path)
		}
	}
}
