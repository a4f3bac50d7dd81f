package server_test

import (
	"fmt"
	"net/netip"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rollcall-dev/rollcall/server"
)

func TestPingForms(t *testing.T) {
	each(t, nil, func(s *site) {
		check := s.create(object{"slug": "my-job_1"})
		byUUID, bySlug := check["ping_url"].(string), s.url+"/ping/"+s.project.PingKey+"/my-job_1"
		for _, c := range []struct {
			suffix, kind string
			exit         bool
		}{
			{"", "success", false}, {"/start", "start", false}, {"/fail", "fail", false}, {"/log", "log", false},
			{"/0", "success", true}, {"/1", "fail", true}, {"/255", "fail", true}, {"/007", "fail", true}, {"/000", "success", true},
		} {
			for _, base := range []string{byUUID, bySlug} {
				for _, method := range []string{"GET", "POST", "HEAD"} {
					for _, slash := range []string{"", "/"} {
						s.clock.Advance(time.Second)
						r := s.send(method, base+c.suffix+slash, nil, "User-Agent", "curl/8.0")
						want := "OK"
						if method == "HEAD" {
							want = ""
						}
						r.text(200, want)
						s.equal("headers", []string{
							r.header.Get("Content-Type"), r.header.Get("Access-Control-Allow-Origin"),
							r.header.Get("Ping-Body-Limit"), r.header.Get("Cache-Control"),
						}, []string{"text/plain; charset=utf-8", "*", "100000", "no-store, no-cache, max-age=0"})
						ping := s.pings(check)[0]
						s.equal("type of "+c.suffix, ping["type"], any(c.kind))
						s.equal("method", ping["method"], any(method))
					}
				}
			}
		}
	})
}

func TestPingLog(t *testing.T) {
	each(t, nil, func(s *site) {
		check := s.create(nil)
		s.equal("none", s.api("GET", path(check)+"/pings/", nil).body, "{\"pings\":[]}\n")
		s.send("GET", check["ping_url"].(string)+"/start", nil, "User-Agent", "curl/8.0").text(200, "OK")
		s.clock.Advance(1234567 * time.Microsecond)
		s.send("POST", check["ping_url"].(string), "all done", "User-Agent", strings.Repeat("ü", 201)).text(200, "OK")
		s.equal("log", s.pings(check), []object{
			{
				"type": "success", "date": "2026-03-15T12:00:01.484567+00:00", "n": 2.0, "scheme": "http", "remote_addr": "127.0.0.1",
				"method": "POST", "ua": strings.Repeat("ü", 200), "rid": nil, "duration": 1.23,
				"body_url": s.url + path(check) + "/pings/2/body",
			},
			{
				"type": "start", "date": "2026-03-15T12:00:00.250000+00:00", "n": 1.0, "scheme": "http", "remote_addr": "127.0.0.1",
				"method": "GET", "ua": "curl/8.0", "rid": nil, "body_url": nil,
			},
		})
		body := s.send("GET", s.pings(check)[0]["body_url"].(string), nil, "X-Api-Key", s.keys.ReadWrite).is(200)
		s.equal("body", []string{body.body, body.header.Get("Content-Type"), body.header.Get("X-Content-Type-Options")},
			[]string{"all done", "text/plain", "nosniff"})
		for _, n := range []string{"1", "3", "0", "-1", "+2", "02", "2.0", "x", "", "9223372036854775807", "9223372036854775808", "%32x"} {
			s.api("GET", path(check)+"/pings/"+n+"/body", nil).refused(404, "not found")
		}
		s.equal("n_pings", s.get(check)["n_pings"], any(2.0))
		s.equal("last_ping", s.get(check)["last_ping"], any("2026-03-15T12:00:01+00:00"))
	})
}

func TestPingRefused(t *testing.T) {
	each(t, nil, func(s *site) {
		check := s.create(object{"slug": "job"})
		id, key := check["uuid"].(string), s.project.PingKey
		const rid = "?rid=1f0e3c9a-0000-4000-8000-00000000000"
		for path, want := range map[string]string{
			"":                                      "404 not found",
			"/":                                     "404 not found",
			"//":                                    "404 not found",
			"/" + unknownUUID:                       "404 not found",
			"/00000000-0000-0000-0000-000000000000": "404 not found",
			"/" + strings.ToUpper(id):               "404 not found",
			"/" + strings.ToUpper(id) + "/fail":     "404 not found",
			"/{" + id + "}":                         "404 not found",
			"/" + strings.ReplaceAll(id, "-", ""):   "404 not found",
			"/" + id + "/":                          "200 OK",
			"/" + id + "//":                         "404 not found",
			"//" + id:                               "404 not found",
			"/" + id + "/stop":                      "404 not found",
			"/" + id + "/START":                     "404 not found",
			"/" + id + "/start/x":                   "404 not found",
			"/" + id + "/-1":                        "404 not found",
			"/" + id + "/1.0":                       "404 not found",
			"/" + id + "/%31":                       "200 OK",
			"/" + id + "%2Ffail":                    "404 not found",
			"/" + id + "/../" + id:                  "404 not found",
			"/" + id + "/%00":                       "404 not found",
			"/" + id + "/256":                       "400 invalid url format",
			"/" + id + "/99999999999999999999999":   "400 invalid url format",
			"/" + unknownUUID + "/256":              "400 invalid url format",
			"/" + key:                               "404 not found",
			"/" + key + "/":                         "404 not found",
			"/" + key + "/job":                      "200 OK",
			"/" + key + "/job/":                     "200 OK",
			"/" + key + "/j%6Fb/fail":               "200 OK",
			"/" + key + "/other":                    "404 not found",
			"/" + key + "/Job":                      "400 invalid url format",
			"/" + key + "/Job/start":                "400 invalid url format",
			"/" + key + "/%4Aob":                    "400 invalid url format",
			"/" + key + "/Job!":                     "404 not found",
			"/" + key + "/job/256":                  "400 invalid url format",
			"/" + key + "/job/stop":                 "404 not found",
			"/" + key + "/job%00":                   "404 not found",
			"/" + key + "/%FF":                      "404 not found",

			"/" + key + "/" + strings.Repeat("a", 101):                                "404 not found",
			"/" + key + "/" + strings.Repeat("a", 101) + "?create=1":                  "404 not found",
			"/" + strings.ToUpper(key) + "/job":                                       "404 not found",
			"/" + strings.Repeat("a", 22) + "/job":                                    "404 not found",
			"/" + strings.Repeat("a", 22) + "/job?create=1":                           "404 not found",
			"/%ff%ff%ff%ff%ff%ff%ff%ff%ff%ff%ff%ff%ff%ff%ff%ff%ff%ff%ff%ff%ff%ff/job": "404 not found",
			"/" + id + rid + "1":                                                      "200 OK",
			"/" + id + strings.ToUpper(rid[5:]) + "1":                                 "404 not found", // no query
			"/" + id + "?rid=1F0E3C9A-ABCD-4000-8000-00000000000F":                    "200 OK",
			"/" + id + "?RID=x":                                                       "200 OK",
			"/" + id + "?other=%zz&a;b":                                               "200 OK",
			"/" + id + "?rid=%31f0e3c9a-0000-4000-8000-000000000001":                  "200 OK",
			"/" + id + rid:        "400 invalid uuid format",
			"/" + id + rid + "12": "400 invalid uuid format",
			"/" + id + rid + "g":  "400 invalid uuid format",
			"/" + id + "?rid=":    "200 OK",
			"/" + id + "?rid":     "200 OK",
			"/" + id + "?rid=%zz": "400 invalid uuid format",
			"/" + id + "?rid=1f0e3c9a000040008000000000000001":       "400 invalid uuid format",
			"/" + id + "?rid={1f0e3c9a-0000-4000-8000-000000000001}": "400 invalid uuid format",
			"/" + unknownUUID + "?rid=x":                             "400 invalid uuid format",
			"/" + unknownUUID + "/256?rid=x":                         "400 invalid url format",
			"/" + key + "/Job?rid=x":                                 "400 invalid url format",
			"/" + key + "/other?rid=x":                               "400 invalid uuid format",
			"/" + key + "/other?rid=x&create=1":                      "400 invalid uuid format",
		} {
			before := s.get(check)["n_pings"].(float64)
			r := s.send("GET", "/ping"+path, nil)
			s.equal(path, fmt.Sprintf("%d %s", r.status, r.body), want)
			s.equal("headers of "+path, []string{r.header.Get("Content-Type"), r.header.Get("Ping-Body-Limit"), r.header.Get("Cache-Control")},
				[]string{"text/plain; charset=utf-8", "100000", "no-store, no-cache, max-age=0"})
			if counted := s.get(check)["n_pings"].(float64) > before; counted != (r.status == 200) {
				s.Errorf("%s: status %d, counted %v", path, r.status, counted)
			}
		}
		for _, method := range []string{"PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "BREW"} {
			for _, path := range []string{"/ping/" + id, "/ping/nothing"} {
				r := s.send(method, path, nil)
				r.text(405, "method not allowed: use GET, HEAD or POST; in place of curl -T, which sends PUT, use curl --data-binary @FILE")
				s.equal("Allow", r.header.Get("Allow"), "GET, HEAD, POST")
				s.equal("CORS", r.header.Get("Access-Control-Allow-Origin"), "*")
			}
		}
	})
}

func TestRunIDs(t *testing.T) {
	each(t, nil, func(s *site) {
		check := s.create(object{"grace": 31536000})
		const a, b = "aaaaaaaa-0000-4000-8000-000000000000", "bbbbbbbb-0000-4000-8000-000000000000"
		for _, step := range []struct {
			suffix   string
			wait     time.Duration
			duration any
			rid      any
		}{
			{"/start?rid=" + a, 0, nil, a},
			{"/start?rid=" + strings.ToUpper(b), time.Second, nil, b},
			{"/start", time.Second, nil, nil},
			{"?rid=" + a, time.Second, 3.0, a},
			{"?rid=" + a, 0, nil, a}, // ended already
			{"/log?rid=" + b, 0, nil, b},
			{"/7?rid=" + b, 1990 * time.Millisecond, 3.99, b},
			{"", 4 * time.Millisecond, 2.99, nil}, // 2.994 s
			{"", 0, nil, nil},
			{"/start", 0, nil, nil},
			{"/start", time.Hour, nil, nil}, // replaces the first
			{"/fail", time.Minute, 60.0, nil},
			{"/start", 0, nil, nil},
			{"", 72 * time.Hour, 259200.0, nil},
			{"/start", 0, nil, nil},
			{"", 72*time.Hour + 10*time.Millisecond, nil, nil},
		} {
			s.clock.Advance(step.wait)
			s.ping(check, step.suffix)
			ping := s.pings(check)[0]
			s.equal(step.suffix, []any{ping["rid"], ping["duration"]}, []any{step.rid, step.duration})
			if _, there := ping["duration"]; there != (step.duration != nil) {
				s.Errorf("%s: the key duration is there: %v, want %v", step.suffix, there, step.duration != nil)
			}
		}
	})
}

// TestDurationsOfMany: the list has the duration of every run that has ended, however many pings have none, and whatever
// was ignored meanwhile.
func TestDurationsOfMany(t *testing.T) {
	each(t, nil, func(s *site) {
		check := s.create(object{"methods": "POST", "grace": 31536000})
		post := func(suffix string) { s.send("POST", check["ping_url"].(string)+suffix, nil).text(200, "OK") }
		post("/start")
		s.clock.Advance(30 * time.Second)
		s.send("GET", check["ping_url"].(string), nil).is(200) // is ignored
		for i := range 20 {
			post(fmt.Sprintf("?rid=%08d-0000-4000-8000-000000000000", i))
		}
		s.clock.Advance(15 * time.Second)
		post("")
		list := s.pings(check)
		s.equal("the run", []any{list[0]["type"], list[0]["duration"]}, []any{"success", 45.0})
		for _, ping := range list[1:] {
			if _, there := ping["duration"]; there {
				s.Errorf("ping %v has a duration", ping)
			}
		}
		s.equal("ignored", list[21]["type"], any("ign"))
	})
}

func TestMethodsField(t *testing.T) {
	each(t, nil, func(s *site) {
		check := s.create(object{"methods": "POST"})
		for _, method := range []string{"GET", "HEAD"} {
			answer := "" // of HEAD
			if method == "GET" {
				answer = "OK (ignored: the check takes only POST)"
			}
			s.send(method, check["ping_url"].(string)+"/fail", nil).text(200, answer)
			s.equal(method, s.pings(check)[0]["type"], any("ign"))
		}
		s.status(check, "new", "")
		s.send("POST", check["ping_url"].(string), nil).text(200, "OK")
		s.status(check, "up", at(24*time.Hour))
		s.equal("n_pings", s.get(check)["n_pings"], any(3.0))
	})
}

// together sends pings, 64 at once, and counts their statuses. With many more at once, some would wait longer on a slow
// machine than the server lets a ping wait.
func (s *site) together(n int, url func(i int) string) map[int]int {
	var mu sync.Mutex
	count := map[int]int{}
	var group sync.WaitGroup
	slots := make(chan struct{}, 64)
	for i := range n {
		slots <- struct{}{}
		group.Go(func() {
			defer func() { <-slots }()
			response, err := s.client.Post(url(i), "text/plain", strings.NewReader(fmt.Sprint(i)))
			if err != nil {
				s.Error(err)
				return
			}
			response.Body.Close()
			mu.Lock()
			defer mu.Unlock()
			count[response.StatusCode]++
		})
	}
	group.Wait()
	return count
}

func TestConcurrentPings(t *testing.T) {
	each(t, nil, func(s *site) {
		checks := []object{s.create(nil), s.create(nil)}
		const jobs = 60
		s.equal("statuses", s.together(jobs, func(i int) string { return checks[i%2]["ping_url"].(string) }), map[int]int{200: jobs})
		for _, check := range checks {
			bodies := map[string]bool{}
			list := s.pings(check)
			for i, ping := range list {
				s.equal("n", ping["n"], any(float64(jobs/2-i)))
				bodies[s.send("GET", ping["body_url"].(string), nil, "X-Api-Key", s.keys.ReadWrite).is(200).body] = true
			}
			s.equal("pings and bodies", []int{len(list), len(bodies)}, []int{jobs / 2, jobs / 2})
			s.equal("n_pings", s.get(check)["n_pings"], any(float64(jobs/2)))
		}
	})
}

func TestPingLimits(t *testing.T) {
	for plan, limit := range map[string]int{"free": 100, "paid": 1000} {
		t.Run(string(plan), func(t *testing.T) {
			eachPlan(t, nil, plan, func(s *site) {
				check := s.create(nil)
				total := limit + 5
				s.equal("statuses", s.together(total, func(int) string { return check["ping_url"].(string) }), map[int]int{200: total})
				for range 2 { // before and after pruning
					list := s.pings(check)
					s.equal("listed", []any{len(list), list[0]["n"], list[limit-1]["n"]}, []any{limit, float64(total), 6.0})
					s.api("GET", path(check)+"/pings/6/body", nil).is(200)
					s.api("GET", path(check)+"/pings/5/body", nil).refused(404, "not found")
					if err := s.mon.Tick(s.Context()); err != nil {
						s.Fatal(err)
					}
				}
				s.equal("n_pings", s.get(check)["n_pings"], any(float64(total)))
			})
		})
	}
}

func TestTrustedProxies(t *testing.T) {
	each(t, &server.Config{TrustedProxies: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}, func(s *site) {
		check := s.create(nil)
		s.send("GET", check["ping_url"].(string), nil, "X-Forwarded-For", "198.51.100.7, 203.0.113.9, 127.0.0.2", "X-Forwarded-Proto", "https").is(200)
		ping := s.pings(check)[0]
		s.equal("origin", []any{ping["remote_addr"], ping["scheme"]}, []any{"203.0.113.9", "https"})
	})
}

func TestNoTrustedProxies(t *testing.T) {
	each(t, nil, func(s *site) {
		check := s.create(nil)
		s.send("GET", check["ping_url"].(string), nil, "X-Forwarded-For", "198.51.100.7", "X-Forwarded-Proto", "https").is(200)
		ping := s.pings(check)[0]
		s.equal("origin", []any{ping["remote_addr"], ping["scheme"]}, []any{"127.0.0.1", "http"})
	})
}

var dateForm = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}\+00:00$`)

func TestDateDigits(t *testing.T) {
	each(t, nil, func(s *site) {
		check := s.create(nil)
		for _, wait := range []time.Duration{0, 750 * time.Millisecond, 999 * time.Nanosecond, time.Microsecond} {
			s.clock.Advance(wait)
			s.ping(check, "")
		}
		for _, ping := range s.pings(check) {
			if date := ping["date"].(string); !dateForm.MatchString(date) {
				s.Errorf("date %q, want the form of RFC 3339 with six fraction digits", date)
			}
		}
		s.equal("newest", s.pings(check)[0]["date"], any("2026-03-15T12:00:01.000001+00:00"))
	})
}
