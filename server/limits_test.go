package server_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/dbtest"
	"github.com/rollcall-dev/rollcall/server"
)

func TestRateLimit(t *testing.T) {
	each(t, &server.Config{RateLimit: 3}, func(s *site) {
		check := s.create(nil)
		s.get(check)
		s.api("GET", "/api/v3/nothing", nil).is(404) // not counted
		s.api("PUT", path(check), nil).is(405)
		s.send("GET", path(check), nil).is(401)
		s.api("GET", "/api/v3/checks/"+unknownUUID, nil).is(404)
		for range 2 { // refused requests are not counted either
			for _, r := range []reply{
				s.api("GET", path(check), nil), s.api("POST", "/api/v3/checks/", "{"), s.api("GET", "/api/v3/checks/"+unknownUUID, nil),
				s.send("POST", path(check)+"/pause", object{"api_key": s.keys.ReadWrite}),
			} {
				r.refused(429, "too many requests: the limit is 3 a minute")
				s.equal("Retry-After", r.header.Get("Retry-After"), "20")
				s.equal("CORS", r.header.Get("Access-Control-Allow-Origin"), "*")
			}
		}
		s.equal("status", s.send("GET", path(check), nil, "X-Api-Key", s.keys.ReadOnly).object(200)["status"], any("new"))
		// A read-only key has its own limit, which is checked before its permission.
		s.send("DELETE", path(check), nil, "X-Api-Key", s.keys.ReadOnly).is(403)
		s.send("DELETE", path(check), nil, "X-Api-Key", s.keys.ReadOnly).is(403)
		s.send("DELETE", path(check), nil, "X-Api-Key", s.keys.ReadOnly).is(429)
		// Pings, badges and the status endpoint are not limited.
		for range 5 {
			s.ping(check, "")
			s.send("GET", check["badge_url"].(string), nil).is(200)
			s.send("GET", "/api/v3/status/", nil).is(200)
		}
		s.clock.Advance(19500 * time.Millisecond)
		s.equal("Retry-After", s.api("GET", path(check), nil).is(429).header.Get("Retry-After"), "1")
		s.clock.Advance(500 * time.Millisecond)
		s.get(check)
		s.api("GET", path(check), nil).is(429)
		s.clock.Advance(10 * time.Minute)
		for range 3 {
			s.get(check)
		}
		s.api("GET", path(check), nil).is(429)
	})
}

func TestNoRateLimit(t *testing.T) {
	each(t, nil, func(s *site) {
		for range 150 {
			s.api("GET", "/api/v3/checks/", nil).is(200)
		}
	})
}

// TestTwoServers: two servers on one database act as one.
func TestTwoServers(t *testing.T) {
	config := server.Config{BaseURL: "http://rollcall.example.org"}
	each(t, &config, func(a *site) {
		b := a.another(a.db.Open(a.T), monitor.Config{}, config)
		check := a.create(object{"timeout": 60, "grace": 60, "tags": "db"})
		a.equal("read by the other", b.get(check), a.get(check))
		a.equal("badges", a.badges(), b.badges())
		id := check["uuid"].(string)
		const jobs = 40
		count := a.together(jobs, func(i int) string { return []*site{a, b}[i%2].url + "/ping/" + id })
		a.equal("statuses", count, map[int]int{200: jobs})
		for i, ping := range b.pings(check) {
			a.equal("n", ping["n"], any(float64(jobs-i)))
		}
		upserts := a.together(16, func(i int) string {
			return []*site{a, b}[i%2].url + "/ping/" + a.project.PingKey + "/job?create=1"
		})
		a.equal("auto-provisioned", upserts, map[int]int{201: 1, 200: 15})

		a.clock.Advance(2 * time.Minute)
		a.must(a.mon.Tick(a.Context()))
		a.must(b.mon.Tick(a.Context()))
		for _, s := range []*site{a, b} {
			a.equal("flips", s.flips(check, ""), [][2]any{{at(2 * time.Minute), 0.0}, {at(0), 1.0}})
		}
		text, key, err := b.mon.Project(a.project.ID).CreateKey(a.Context(), checks.ReadOnly)
		a.must(err)
		a.send("GET", path(check), nil, "X-Api-Key", text).is(200)
		a.must(a.mon.Project(a.project.ID).DeleteKey(a.Context(), key.ID))
		b.send("GET", path(check), nil, "X-Api-Key", text).is(401)
		a.api("DELETE", path(check), nil).is(200)
		b.api("GET", path(check), nil).is(404)
	})
}

func TestManyChecks(t *testing.T) {
	each(t, nil, func(s *site) {
		const many = 2_000
		list := make([]checks.Check, many)
		for i := range list {
			var err error
			list[i], err = checks.New(s.project.ID, checks.Spec{Name: new(fmt.Sprint(i)), Tags: []string{"all", strings.Repeat("x", i%2)}}, s.clock.Now())
			s.must(err)
		}
		dbtest.Insert(s, s.store, nil, nil, list)
		s.equal("all", len(s.api("GET", "/api/v3/checks/", nil).list(200, "checks")), many)
		s.equal("tagged", len(s.api("GET", "/api/v3/checks/?tag=x&tag=all", nil).list(200, "checks")), many/2)
		s.equal("badge", s.send("GET", s.badges()["all"]["json"], nil).body, `{"status":"up","total":2000,"grace":0,"down":0}`)
	})
}
