package server_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/server"
)

// sentAt formats a time after noon as a queueing client does.
func sentAt(d time.Duration) string { return noon.Add(d).Format("2006-01-02T15:04:05.000000Z") }

// late sends a ping that waited in a queue.
func (s *site) late(check object, suffix string, sent time.Duration) {
	s.Helper()
	s.send("POST", check["ping_url"].(string)+suffix, "late", "Rollcall-At", sentAt(sent)).text(200, "OK")
}

// alerted returns the alerts of the project so far, oldest first.
func (s *site) alerted() []string {
	s.Helper()
	texts := []string{}
	for d, err := range s.mon.Project(s.project.ID).Deliveries(s.Context(), checks.DeliveryQuery{}) {
		s.must(err)
		texts = append(texts, string(d.Status)+" "+d.CreatedAt.Sub(noon).String())
	}
	slices.Reverse(texts)
	return texts
}

func TestAcceptLate(t *testing.T) {
	each(t, &server.Config{AcceptLate: 24 * time.Hour}, func(s *site) {
		_, err := s.mon.Project(s.project.ID).CreateChannel(s.Context(), channels.Channel{Kind: channels.Email, Name: "ops", Settings: map[string]string{"to": "ops@example.org"}})
		s.must(err)
		check := s.create(object{"timeout": 3600, "grace": 600, "channels": "*", "slug": "job"})
		s.ping(check, "")

		// The network is away from 12:10 on. The watcher takes the check down.
		s.clock.Advance(2 * time.Hour)
		err = s.mon.Tick(s.Context())
		s.must(err)
		s.status(check, "down", "")
		s.equal("alerts", s.alerted(), []string{"down 2h0m0s"})

		// At 14:00 the queue comes, the oldest first.
		s.late(check, "/start", 55*time.Minute)
		s.late(check, "/fail", 60*time.Minute)
		s.status(check, "down", "")
		s.late(check, "/start", 110*time.Minute)
		s.late(check, "", 115*time.Minute)
		s.status(check, "up", at(175*time.Minute))
		s.late(check, "/log", -21*time.Hour)
		s.late(check, "/fail", 100*time.Minute) // a second queue, which has older pings
		s.status(check, "up", at(175*time.Minute))
		s.equal("alerts", s.alerted(), []string{"down 2h0m0s"})
		s.equal("flips", s.flips(check, ""), [][2]any{{at(115 * time.Minute), 1.0}, {at(70 * time.Minute), 0.0}, {at(0), 1.0}})
		s.equal("last_ping", s.get(check)["last_ping"], any(at(115*time.Minute)))
		s.equal("n_pings", s.get(check)["n_pings"], any(7.0))

		// The log is in the order of time. The numbers are those of the arrival.
		var log []string
		for _, ping := range s.pings(check) {
			entry := fmt.Sprintf("%v %s %s", ping["n"], ping["type"], ping["date"])
			if took, ok := ping["duration"]; ok {
				entry += fmt.Sprint(" ", took)
			}
			log = append(log, entry)
		}
		s.equal("log", log, []string{
			"5 success 2026-03-15T13:55:00.250000+00:00 300", "4 start 2026-03-15T13:50:00.250000+00:00", "7 fail 2026-03-15T13:40:00.250000+00:00",
			"3 fail 2026-03-15T13:00:00.250000+00:00 300", "2 start 2026-03-15T12:55:00.250000+00:00", "1 success 2026-03-15T12:00:00.250000+00:00",
			"6 log 2026-03-14T15:00:00.250000+00:00",
		})
		s.equal("body", s.api("GET", path(check)+"/pings/7/body", nil).is(200).body, "late")

		// The next ping in time raises the alert that the check is up.
		s.clock.Advance(time.Minute)
		s.ping(check, "")
		s.equal("alerts", s.alerted(), []string{"down 2h0m0s", "up 2h1m0s"})

		// A late failure alerts only together with the next failure.
		s.clock.Advance(10 * time.Minute)
		s.late(check, "/fail", 125*time.Minute)
		s.status(check, "down", "")
		err = s.mon.Tick(s.Context())
		s.must(err)
		s.equal("alerts", len(s.alerted()), 2)
		s.clock.Advance(70 * time.Minute)
		err = s.mon.Tick(s.Context())
		s.must(err)
		s.equal("alerts", s.alerted()[2:], []string{"down 3h21m0s"})
	})
}

// TestAlwaysLate: the first success of a check whose pings all arrive too late begins its watch.
func TestAlwaysLate(t *testing.T) {
	each(t, &server.Config{AcceptLate: 24 * time.Hour}, func(s *site) {
		_, err := s.mon.Project(s.project.ID).CreateChannel(s.Context(), channels.Channel{Kind: channels.Email, Name: "ops", Settings: map[string]string{"to": "ops@example.org"}})
		s.must(err)
		check := s.create(object{"timeout": 3600, "grace": 600, "channels": "*"})
		s.status(check, "new", "")
		for hour := range 3 {
			s.late(check, "", time.Duration(hour-10)*time.Hour)
			s.status(check, "up", at(time.Hour))
		}
		s.equal("last_ping", s.get(check)["last_ping"], any(at(-8*time.Hour)))
		s.clock.Advance(70 * time.Minute)
		s.must(s.mon.Tick(s.Context()))
		s.status(check, "down", "")
		s.equal("alerts", s.alerted(), []string{"down 1h10m0s"})
		s.equal("flips", s.flips(check, ""), [][2]any{{at(70 * time.Minute), 0.0}, {at(-10 * time.Hour), 1.0}})
	})
}

func TestAcceptLateRefused(t *testing.T) {
	each(t, &server.Config{AcceptLate: 24 * time.Hour}, func(s *site) {
		check := s.create(nil)
		url := check["ping_url"].(string)
		const malformed, old, future = "Rollcall-At is not a time as in 2026-03-01T12:00:00.000000Z",
			"Rollcall-At is too long ago: the limit is 24h0m0s", "Rollcall-At is in the future"
		for value, want := range map[string]string{
			"": malformed, "x": malformed, "2026-03-15": malformed, "2026-03-15 11:00:00Z": malformed, "2026-03-15T11:00:00": malformed,
			"2026-03-15T11:00Z": malformed, "2026-02-29T11:00:00Z": malformed, "2026-03-15T25:00:00Z": malformed,
			"1773572400": malformed, "Sun, 15 Mar 2026 11:00:00 GMT": malformed, "0000-01-01T00:00:00Z": old, "0001-01-01T00:00:00Z": old, "-2026-03-15T11:00:00Z": malformed,
			"2026-03-14T12:00:00.249Z": old, "2025-03-15T11:00:00Z": old, "1970-01-01T00:00:00Z": old,
			"2026-03-15T12:01:00.251Z": future, "9999-12-31T23:59:59Z": future, "2026-03-15T11:00:00-02:00": future,
		} {
			s.send("GET", url, nil, "Rollcall-At", value).text(400, want)
			s.send("GET", "/ping/"+s.project.PingKey+"/unknown?create=1", nil, "Rollcall-At", value).text(400, want)
		}
		s.equal("n_pings", s.get(check)["n_pings"], any(0.0))
		s.equal("checks", len(s.api("GET", "/api/v3/checks/", nil).list(200, "checks")), 1)
		s.send("PUT", url, nil, "Rollcall-At", "x").text(405, "method not allowed: use GET, HEAD or POST; in place of curl -T, which sends PUT, use curl --data-binary @FILE")
		s.send("GET", "/ping/"+unknownUUID, nil, "Rollcall-At", sentAt(-time.Hour)).text(404, "not found")

		for value, want := range map[string]string{
			"2026-03-14T12:00:00.25Z": "2026-03-14T12:00:00.250000+00:00", "2026-03-15T12:01:00Z": "2026-03-15T12:00:00.250000+00:00",
			"2026-03-15T13:00:00.123456+02:00": "2026-03-15T11:00:00.123456+00:00", "2026-03-15T11:00:00.123456789Z": "2026-03-15T11:00:00.123456+00:00",
		} {
			check := s.create(nil)
			s.send("GET", check["ping_url"].(string), nil, "Rollcall-At", value, "Rollcall-At", "x").text(200, "OK")
			s.equal(value, s.pings(check)[0]["date"], any(want))
		}
		fresh := s.send("POST", "/ping/"+s.project.PingKey+"/fresh?create=1", nil, "Rollcall-At", sentAt(-time.Hour))
		fresh.text(201, "Created")
	})
}

// TestAcceptLateOff: without the setting the header has no effect, and no answer changes.
func TestAcceptLateOff(t *testing.T) {
	each(t, nil, func(s *site) {
		for _, value := range []string{sentAt(-time.Hour), sentAt(time.Hour), "x", ""} {
			check := s.create(nil)
			plain := s.send("GET", check["ping_url"].(string), nil)
			late := s.send("GET", check["ping_url"].(string), nil, "Rollcall-At", value)
			plain.header.Del("Date")
			late.header.Del("Date")
			s.equal(value, []any{late.status, late.header, late.body}, []any{plain.status, plain.header, plain.body})
			for _, ping := range s.pings(check) {
				s.equal("date", ping["date"], any("2026-03-15T12:00:00.250000+00:00"))
			}
		}
		check := s.create(nil)
		s.send("OPTIONS", check["ping_url"].(string), nil, "Access-Control-Request-Headers", "rollcall-at").text(405, "method not allowed: use GET, HEAD or POST; in place of curl -T, which sends PUT, use curl --data-binary @FILE")
	})
}

func TestAcceptLatePreflight(t *testing.T) {
	each(t, &server.Config{AcceptLate: time.Hour}, func(s *site) {
		r := s.send("OPTIONS", "/ping/"+unknownUUID, nil, "Origin", "https://example.org", "Access-Control-Request-Method", "POST",
			"Access-Control-Request-Headers", "rollcall-at").is(204)
		s.equal("CORS", []string{
			r.header.Get("Access-Control-Allow-Origin"), r.header.Get("Access-Control-Allow-Methods"), r.header.Get("Access-Control-Allow-Headers"),
			r.header.Get("Access-Control-Allow-Credentials"), r.header.Get("Ping-Body-Limit"), r.body,
		}, []string{"*", "GET, HEAD, POST, OPTIONS", "Rollcall-At", "", "100000", ""})
		put := s.send("PUT", "/ping/"+unknownUUID, nil)
		put.text(405, "method not allowed: use GET, HEAD or POST; in place of curl -T, which sends PUT, use curl --data-binary @FILE")
		s.equal("Allow", put.header.Get("Allow"), "GET, HEAD, POST, OPTIONS")
	})
}

// TestLatePingsArePruned: the log keeps the pings that came last, whatever their times are.
func TestLatePingsArePruned(t *testing.T) {
	eachPlan(t, &server.Config{AcceptLate: 24 * time.Hour}, "free", func(s *site) {
		check := s.create(nil)
		for i := range 130 {
			s.clock.Advance(time.Second)
			if i%2 == 0 {
				s.late(check, "", -time.Duration(i)*time.Minute)
			} else {
				s.ping(check, "")
			}
		}
		err := s.mon.Tick(s.Context())
		s.must(err)
		list := s.pings(check)
		seen := map[float64]bool{}
		for i, ping := range list {
			seen[ping["n"].(float64)] = true
			if i > 0 && strings.Compare(list[i-1]["date"].(string), ping["date"].(string)) < 0 {
				t.Errorf("%v is listed before %v", list[i-1], ping)
			}
		}
		for n := 31.0; n <= 130; n++ {
			if !seen[n] {
				t.Errorf("ping %v is missing", n)
			}
		}
		s.equal("length", len(list), 100)
		s.equal("last_ping", s.get(check)["last_ping"], any(at(130*time.Second)))
	})
}
