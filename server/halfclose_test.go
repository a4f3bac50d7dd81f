package server_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/server"
)

// halfClosed sends a request on a connection, closes its writing side as printf | nc does, and returns the answer. The server
// begins to answer when it knows that: the context of net/http has ended.
func (s *site) halfClosed(method, path, body string, headers ...string) reply {
	s.Helper()
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sent, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(sent))
		<-r.Context().Done()
		s.server.ServeHTTP(w, r)
	}))
	defer web.Close()
	request := fmt.Sprintf("%s %s HTTP/1.1\r\nHost: %s\r\nContent-Length: %d\r\n", method, path, strings.TrimPrefix(s.url, "http://"), len(body))
	for i := 0; i < len(headers); i += 2 {
		request += headers[i] + ": " + headers[i+1] + "\r\n"
	}
	conn, err := net.Dial("tcp", web.Listener.Addr().String())
	s.must(err)
	defer conn.Close()
	_, err = io.WriteString(conn, request+"\r\n"+body)
	s.must(err)
	s.must(conn.(*net.TCPConn).CloseWrite())
	answer, err := http.ReadResponse(bufio.NewReader(conn), &http.Request{Method: method})
	if err != nil {
		s.Fatalf("%s %s: %v", method, path, err)
	}
	return s.reply(method+" "+path, answer)
}

// TestHalfClosed sends every request of the management interface, pings, probes, badges and links to unsubscribe by a client that
// has closed its writing side and still reads.
func TestHalfClosed(t *testing.T) {
	each(t, nil, func(s *site) {
		n := 0
		for route, row := range accessTable {
			n++
			own := *s
			own.project, own.keys = s.otherProject(fmt.Sprint("Own ", n))
			v := newVictim(&own)
			if strings.HasSuffix(route[1], "/resume") {
				own.api("POST", path(v.check)+"/pause", nil).is(200)
			}
			body, err := json.Marshal(bodies(n)[route])
			s.must(err)
			if string(body) == "null" {
				body = nil
			}
			address := v.in(route[1]) + "?project=" + own.project.ID.String()
			s.halfClosed(route[0], address, string(body), "X-Api-Key", own.newKey(uuid.Nil, checks.Admin)).isWhole(row.installation)
			if err := s.mon.Projects().Delete(s.Context(), own.project.ID); err != nil && !errors.Is(err, checks.ErrNotFound) {
				s.Fatal(err)
			}
		}
		check := s.create(nil)
		relative := func(url any) string { return strings.TrimPrefix(url.(string), s.url) }
		ping := relative(check["ping_url"])
		s.halfClosed("GET", ping, "").text(200, "OK")
		s.halfClosed("POST", ping, strings.Repeat("x", 50_000)).text(200, "OK")
		s.equal("pings", len(s.pings(check)), 2)
		s.halfClosed("POST", "/api/v3/checks/", `{"api_key":"`+s.keys.ReadWrite+`","desc":"`+strings.Repeat("x", 90_000)+`"}`).isWhole(400)
		for _, path := range []string{"/livez", "/readyz", "/readyz?verbose", "/", relative(check["badge_url"])} {
			s.halfClosed("GET", path, "").isWhole(200)
		}
		if s.log.String() != "" {
			s.Errorf("the log has %s", s.log)
		}
	})
}

// isWhole checks that an answer has a status and a body.
func (r reply) isWhole(status int) {
	r.s.Helper()
	if r.is(status); r.body == "" {
		r.s.Errorf("%s: no body", r.what)
	}
}

// TestHalfClosedUnsubscribe takes an address off for a client that has closed its writing side.
func TestHalfClosedUnsubscribe(t *testing.T) {
	each(t, &server.Config{BaseURL: "https://rollcall.example.org"}, func(s *site) {
		c, err := s.mon.Project(s.project.ID).CreateChannel(s.Context(), channels.Channel{Kind: channels.Email, Settings: map[string]string{"to": "a@example.org"}})
		s.must(err)
		s.url = "http://rollcall.example.org"
		path := strings.TrimPrefix(s.server.UnsubscribeURL(s.Context(), c, "a@example.org"), "https://rollcall.example.org")
		s.halfClosed("POST", path, "List-Unsubscribe=One-Click").isWhole(200)
	})
}

// TestCancelledProbe: a program that gives up learns nothing about the database, and so hears of no fault.
func TestCancelledProbe(t *testing.T) {
	each(t, nil, func(s *site) {
		ctx, cancel := context.WithCancel(s.Context())
		cancel()
		for what, list := range map[string][]monitor.Condition{"Ready": s.mon.Ready(ctx), "Health": s.mon.Health(ctx)} {
			for _, c := range list {
				if !c.OK() {
					s.Errorf("%s: %s %s: %v", what, c.Part, c.Problem, c.Err)
				}
			}
		}
	})
}
