package server_test

import (
	"crypto/sha1"
	"encoding/hex"
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/dbtest"
	"github.com/rollcall-dev/rollcall/server"
)

func sha1Hex(text string) string {
	sum := sha1.Sum([]byte(text))
	return hex.EncodeToString(sum[:])
}

func TestMethods(t *testing.T) {
	each(t, nil, func(s *site) {
		check := s.create(nil)
		id := check["uuid"].(string)
		allow := map[string]string{
			"/api/v3/checks/":                  "GET, HEAD, OPTIONS, POST",
			"/api/v3/checks/{id}":              "DELETE, GET, HEAD, OPTIONS, POST",
			"/api/v3/checks/{id}/pause":        "OPTIONS, POST",
			"/api/v3/checks/{id}/resume":       "OPTIONS, POST",
			"/api/v3/checks/{id}/pings/":       "GET, HEAD, OPTIONS",
			"/api/v3/checks/{id}/pings/1/body": "GET, HEAD, OPTIONS",
			"/api/v3/checks/{id}/flips/":       "GET, HEAD, OPTIONS",
			"/api/v3/checks/{id}/stats/":       "GET, HEAD, OPTIONS",
			"/api/v3/channels/":                "GET, HEAD, OPTIONS, POST",
			"/api/v3/channels/{id}":            "DELETE, GET, HEAD, OPTIONS, PUT",
			"/api/v3/channel-kinds/":           "GET, HEAD, OPTIONS",
			"/api/v3/projects/":                "GET, HEAD, OPTIONS, POST",
			"/api/v3/projects/{id}":            "DELETE, GET, HEAD, OPTIONS, PUT",
			"/api/v3/status-pages/":            "GET, HEAD, OPTIONS, POST",
			"/api/v3/status-pages/{id}":        "DELETE, GET, HEAD, OPTIONS, PUT",
			"/api/v3/badges/":                  "GET, HEAD, OPTIONS",
			"/api/v3/status/":                  "GET, HEAD, OPTIONS",
		}
		for template, want := range allow {
			// With and without the last slash.
			for _, path := range []string{strings.TrimSuffix(template, "/"), strings.TrimSuffix(template, "/") + "/"} {
				path = strings.Replace(path, "{id}", id, 1)
				for _, method := range []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "TRACE", "BREW"} {
					if strings.Contains(want, method) {
						continue
					}
					r := s.send(method, path, nil)
					if method != "HEAD" { // its answer has no body
						r.refused(405, "method not allowed")
					}
					s.equal("Allow of "+method+" "+path, r.is(405).header.Get("Allow"), want)
				}
				options := s.send("OPTIONS", path, nil, "Origin", "https://example.org").is(204)
				s.equal("CORS of "+path, []string{
					options.header.Get("Access-Control-Allow-Origin"), options.header.Get("Access-Control-Allow-Headers"),
					options.header.Get("Access-Control-Allow-Methods"), options.body,
				}, []string{"*", "X-Api-Key", want, ""})
				get := s.api("GET", path, nil)
				s.equal("CORS of GET "+path, get.header.Get("Access-Control-Allow-Origin"), "*")
				s.equal("nosniff of GET "+path, get.header.Get("X-Content-Type-Options"), "nosniff")
				if strings.Contains(want, "HEAD") {
					head := s.api("HEAD", path, nil).is(get.status)
					s.equal("HEAD of "+path, []string{head.body, head.header.Get("Content-Length"), head.header.Get("Content-Type")},
						[]string{"", get.header.Get("Content-Length"), get.header.Get("Content-Type")})
				}
			}
		}
		s.send("GET", "/api/v3/checks/", nil).is(401)
		s.equal("CORS of 401", s.send("GET", "/api/v3/checks/", nil).header.Get("Access-Control-Allow-Origin"), "*")
	})
}

func TestUnknownPaths(t *testing.T) {
	each(t, nil, func(s *site) {
		check := s.create(nil)
		id := check["uuid"].(string)
		for _, path := range []string{ // that name a check, or a ping
			"/api/v3/checks/" + strings.ToUpper(id), "/api/v3/checks/{" + id + "}",
			"/api/v3/checks/urn:uuid:" + id, "/api/v3/checks/" + strings.ReplaceAll(id, "-", ""), "/api/v3/checks/x",
			"/api/v3/checks/%00", "/api/v3/checks/%FF", "/api/v3/checks/%2E%2E", "/api/v3/checks/" + strings.Repeat("a", 40),
			"/api/v3/checks/" + strings.Repeat("A", 40), "/api/v3/checks/" + strings.Repeat("g", 40), "/api/v3/checks/" + id + "%2Fpings",
			"/api/v3/checks//pings", "/api/v3/checks//flips/", "/api/v3/checks/" + id + "/pings//body",
		} {
			s.api("GET", path, nil).refused(404, "not found")
		}
		for _, path := range []string{
			"/api", "/api/", "/api/v3//", "/api/v4/checks/", "/api/v0/checks/", "/api/v3/check/", "/api/v3/Checks/",
			"/api/v3/checks//", "/api/v3//checks/", "/api//v3/checks/", "//api/v3/checks/", "/api/v3/./checks/", "/api/v3/x/../checks/",
			"/api/v3/checks/" + id + "//", "/api/v3/checks/" + id + "/nothing", "/api/v3/checks/" + id + "/flips/x",
			"/nothing", "/favicon.ico", "/ping2", "/apix", "/badges", "/bx",
		} {
			s.api("GET", path, nil).refused(404, "no such path")
		}
		s.api("POST", "/api/v3/checks//pause", nil).refused(404, "not found")
		s.api("POST", "/api/v3/checks/"+id+"%2Fpause", nil).refused(404, "not found")
		s.equal("status", s.get(check)["status"], any("new"))
		s.send("OPTIONS", "/api/v3/nothing", nil).refused(404, "no such path")
		s.send("OPTIONS", "/nothing", nil).refused(404, "no such path")

		home := s.send("GET", "/", nil).is(200)
		s.equal("Content-Type of /", home.header.Get("Content-Type"), "text/plain; charset=utf-8")
		s.send("POST", "/", nil).refused(405, "method not allowed")
	})
}

// TestMountedAtPath: with a path in a base URL, the handler answers below it.
func TestMountedAtPath(t *testing.T) {
	each(t, &server.Config{BaseURL: "https://example.org/rollcall/", PingBaseURL: "https://example.org/p/"}, func(s *site) {
		s.send("GET", "/api/v3/status/", nil).is(404)
		s.send("GET", "/", nil).is(404)
		s.send("GET", "/rollcallx", nil).is(404)
		s.send("GET", "/rollcall", nil).is(200)
		s.send("GET", "/rollcall/api/v3/status", nil).is(200)
		check := s.api("POST", "/rollcall/api/v3/checks/", object{"tags": "a b"}).object(201)
		id := check["uuid"].(string)
		s.equal("ping_url", check["ping_url"], any("https://example.org/p/"+id))
		s.equal("update_url", check["update_url"], any("https://example.org/rollcall/api/v3/checks/"+id))
		s.send("GET", "/p/"+id, nil).text(200, "OK")
		s.send("GET", "/p", nil).text(404, "not found")
		s.send("GET", "/p/"+id+"%2Ffail", nil).text(404, "not found")
		badge, _ := strings.CutPrefix(check["badge_url"].(string), "https://example.org")
		s.send("GET", badge, nil).is(200)
	})
}

func TestPingsOnOwnHost(t *testing.T) {
	each(t, &server.Config{PingBaseURL: "https://ping.example.org"}, func(s *site) {
		check := s.create(nil)
		id := check["uuid"].(string)
		s.equal("ping_url", check["ping_url"], any("https://ping.example.org/"+id))
		s.send("GET", "/"+id, nil).refused(404, "no such path")
		s.send("GET", "/"+id, nil, "Host", "Ping.Example.Org").text(200, "OK")
		s.send("GET", "/api/v3/status/", nil, "Host", "ping.example.org").text(404, "not found")
		s.send("GET", "/api/v3/status/", nil).is(200)
	})
}

func TestPingsAtRoot(t *testing.T) {
	each(t, &server.Config{BaseURL: "https://example.org", PingBaseURL: "https://example.org"}, func(s *site) {
		id := s.create(nil)["uuid"].(string)
		s.send("GET", "/"+id, nil).text(200, "OK")
		s.send("GET", "/nothing", nil).text(404, "not found")
		s.send("GET", "/", nil).is(200)
		s.send("GET", "/api/v3/nothing", nil).refused(404, "no such path")
	})
}

// TestPingAddresses: which addresses are those of pings.
func TestPingAddresses(t *testing.T) {
	for _, test := range []struct {
		base, ping string
		urls       map[string]bool
	}{
		{"https://example.org", "", map[string]bool{
			"https://example.org/ping/x": true, "https://other/ping": true, "https://example.org/ping/x/start?rid=1": true,
			"https://example.org/pingx": false, "https://example.org/%70ing/x": false, "https://example.org/": false,
			"https://example.org/livez": false, "https://example.org/api/v3/checks/": false, "https://example.org//ping/x": false,
		}},
		{"https://example.org/a", "https://example.org/a/b", map[string]bool{
			"https://example.org/a/b/x": true, "https://example.org/b/x": false, "https://example.org/a/x": false,
		}},
		{"https://example.org", "https://ping.example.org", map[string]bool{
			"https://ping.example.org/x": true, "https://Ping.Example.org/api/v3/checks/": true, "https://example.org/x": false,
			"https://ping.example.org/livez": false, "https://ping.example.org/readyz": false,
		}},
		{"https://example.org", "https://example.org", map[string]bool{
			"https://example.org/x": true, "https://example.org/api/v3/checks/": false, "https://example.org/": false,
		}},
	} {
		observed := make(requests, 1)
		_, srv := newServer(t, dbtest.Memory(t), monitor.Config{}, server.Config{
			BaseURL: test.base, PingBaseURL: test.ping, Answered: observed.answered, Logger: slog.New(slog.DiscardHandler),
		})
		for url, want := range test.urls {
			srv.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", url, nil))
			if got := <-observed; strings.HasPrefix(got, "GET /ping ") != want {
				t.Errorf("with %q and %q, %s: got %q, want a ping: %v", test.base, test.ping, url, got, want)
			}
		}
	}
}
