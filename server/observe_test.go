package server_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rollcall-dev/rollcall/server"
)

// requests keeps the method, route and status of each request.
type requests chan string

func (r requests) answered(route, method string, status int, took time.Duration) {
	text := fmt.Sprint(method, " ", route, " ", status)
	if took < 0 {
		text += " in negative time"
	}
	r <- text
}

func TestAnswered(t *testing.T) {
	told := make(requests, 100)
	each(t, &server.Config{Answered: told.answered, RateLimit: 4, AccessLog: true}, func(s *site) {
		check := s.create(object{"slug": "job", "tags": "t"})
		id := check["uuid"].(string)
		s.api("GET", "/api/v3/checks/"+id, nil).is(200)
		s.api("GET", "/api/v3/checks/"+unknownUUID+"/pings/7/body", nil).is(404)
		s.api("GET", "/api/v3/checks/", nil).is(200)
		s.api("GET", "/api/v3/checks/", nil).is(429)
		s.ping(check, "/fail?rid="+unknownUUID)
		s.send("GET", "/ping/"+s.project.PingKey+"/job/start", nil).is(200)
		s.send("GET", "/ping/nonsense", nil).is(404)
		s.send("GET", check["badge_url"].(string), nil).is(200)
		s.send("GET", "/", nil).is(200)
		s.send("GET", "/wp-login.php", nil).is(404)
		s.send("BREW", "/api/v3/nothing/"+s.keys.ReadWrite, nil).is(404)
		s.send("OPTIONS", "/api/v3/checks/", nil).is(204)
		want := []string{
			"POST /api/v3/checks 201", "GET /api/v3/checks/:id 200", "GET /api/v3/checks/:id/pings/:n/body 404",
			"GET /api/v3/checks 200", "GET /api/v3/checks 429", "GET /ping 200", "GET /ping 200", "GET /ping 404",
			"GET /badge 200", "GET / 200", "GET other 404", "other other 404", "OPTIONS other 204",
		}
		got := make([]string, len(want))
		for i := range got {
			got[i] = <-told // an answer may arrive before it is observed
		}
		slices.Sort(got)
		slices.Sort(want)
		s.equal("requests", got, want)

		log := s.log.String()
		if n := strings.Count(log, "msg=request "); n < len(want) {
			s.Errorf("the log has %d requests, want %d at least:\n%s", n, len(want), log)
		}
		for _, secret := range []string{id, s.project.PingKey, s.project.BadgeKey, s.keys.ReadWrite, "wp-login", "BREW", check["badge_url"].(string)} {
			if strings.Contains(log, secret) {
				s.Errorf("the log has %q:\n%s", secret, log)
			}
		}
		if !strings.Contains(log, "route=/api/v3/checks/:id status=200 bytes=") || !strings.Contains(log, "remote_addr=127.0.0.1\n") {
			s.Errorf("the log lacks a route or an address:\n%s", log)
		}
	})
}

func TestNoAccessLogByDefault(t *testing.T) {
	each(t, nil, func(s *site) {
		s.create(nil)
		s.equal("log", s.log.String(), "")
	})
}
