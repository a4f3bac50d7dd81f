package server_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/server"
)

func TestAutoProvisioning(t *testing.T) {
	eachPlan(t, nil, "free", func(s *site) {
		base := s.url + "/ping/" + s.project.PingKey + "/"
		for _, query := range []string{"", "?create=0", "?create=", "?create=true", "?create=11", "?CREATE=1"} {
			s.send("GET", base+"job"+query, nil).text(404, "not found")
		}
		s.send("POST", base+"job/start?create=1", "body").text(201, "Created")
		s.send("GET", base+"job?create=1", nil).text(200, "OK")
		list := s.api("GET", "/api/v3/checks/?slug=job", nil).list(200, "checks")
		s.equal("check", []any{len(list), list[0]["name"], list[0]["slug"], list[0]["timeout"], list[0]["n_pings"], list[0]["status"]},
			[]any{1, "job", "job", 86400.0, 2.0, "up"})

		// Pings create up to twice the limit; the API stops at the limit.
		for i := 2; i <= 2*20; i++ {
			s.send("GET", fmt.Sprintf("%sjob%d?create=1", base, i), nil).text(201, "Created")
		}
		s.send("GET", base+"more?create=1", nil).text(404, "not found, and not created: the account has reached its check limit: 40 checks")
		s.send("GET", base+"job2?create=1", nil).text(200, "OK")
		if !strings.Contains(s.log.String(), "check limit") {
			s.Error("the reason was not logged")
		}
		s.api("POST", "/api/v3/checks/", "{}").is(403)
	})
}

// TestCreationLimits: pings create checks at a bounded rate and up to a bounded number. The API has neither bound.
func TestCreationLimits(t *testing.T) {
	each(t, nil, func(s *site) {
		base := "/ping/" + s.project.PingKey + "/"
		limited := s.another(s.store, monitor.Config{CreateRate: 2, MaxCreated: 4}, server.Config{})
		create := func(slug string) reply { return limited.send("GET", limited.url+base+slug+"?create=1", nil) }
		create("a").text(201, "Created")
		create("b").text(201, "Created")
		refused := create("c")
		refused.text(429, "too many new checks: pings may create 2 a minute")
		s.equal("Retry-After", refused.header.Get("Retry-After"), "30")
		create("a").text(200, "OK") // it exists
		limited.send("GET", limited.url+base+"c", nil).text(404, "not found")
		limited.api("POST", "/api/v3/checks/", object{"slug": "by-api"}).is(201)
		s.clock.Advance(30 * time.Second)
		create("c").text(201, "Created")
		s.clock.Advance(time.Hour)
		create("d").text(404, "not found, and not created: the project has as many checks as pings may create: 4")
		if !strings.Contains(s.log.String(), "the project has as many checks as pings may create: 4") {
			s.Error("the reason was not logged")
		}
		create("c").text(200, "OK")
		limited.api("POST", "/api/v3/checks/", object{"slug": "d"}).is(201)
		create("d").text(200, "OK")
	})
}

func TestAutoProvisioningChannels(t *testing.T) {
	each(t, nil, func(s *site) {
		c, err := s.mon.Project(s.project.ID).CreateChannel(s.Context(), channels.Channel{Kind: "email", Name: "Ops", Settings: map[string]string{"to": "ops@example.org"}})
		s.must(err)
		s.send("GET", s.url+"/ping/"+s.project.PingKey+"/job?create=1", nil).text(201, "Created")
		s.equal("channels", s.api("GET", "/api/v3/checks/", nil).list(200, "checks")[0]["channels"], any(c.ID.String()))
	})
}

func TestConcurrentAutoProvisioning(t *testing.T) {
	each(t, nil, func(s *site) {
		const jobs = 16
		count := s.together(jobs, func(int) string { return s.url + "/ping/" + s.project.PingKey + "/job?create=1" })
		s.equal("statuses", count, map[int]int{201: 1, 200: jobs - 1})
		list := s.api("GET", "/api/v3/checks/", nil).list(200, "checks")
		s.equal("checks", []any{len(list), list[0]["n_pings"]}, []any{1, float64(jobs)})
	})
}

func TestAmbiguousSlug(t *testing.T) {
	each(t, nil, func(s *site) {
		s.create(object{"slug": "job"})
		second := s.create(object{"slug": "job"})
		url := s.url + "/ping/" + s.project.PingKey + "/job"
		for _, suffix := range []string{"", "/start", "?create=1"} {
			s.send("GET", url+suffix, nil).text(409, "ambiguous slug")
		}
		s.ping(second, "")
		s.api("POST", path(second), object{"slug": "other"}).is(200)
		s.send("GET", url, nil).text(200, "OK")
		// Slugs of other projects do not matter.
		p, keys := s.otherProject("Other")
		s.send("POST", "/api/v3/checks/", object{"slug": "job"}, "X-Api-Key", keys.ReadWrite).is(201)
		s.send("GET", url, nil).text(200, "OK")
		s.send("GET", s.url+"/ping/"+p.PingKey+"/job", nil).text(200, "OK")
		s.send("GET", s.url+"/ping/"+p.PingKey+"/other", nil).text(404, "not found")
	})
}

// TestSlugLikeSignal: a slug may look like a signal.
func TestSlugLikeSignal(t *testing.T) {
	each(t, nil, func(s *site) {
		for _, slug := range []string{"start", "fail", "log", "0", "300"} {
			check := s.create(object{"slug": slug})
			base := s.url + "/ping/" + s.project.PingKey + "/" + slug
			s.send("GET", base, nil).text(200, "OK")
			s.send("GET", base+"/fail", nil).text(200, "OK")
			log := s.pings(check)
			s.equal(slug, []any{log[0]["type"], log[1]["type"]}, []any{"fail", "success"})
		}
	})
}
