package server_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/dbtest"
	"github.com/rollcall-dev/rollcall/server"
)

// undocumented sends a request that need not be in the OpenAPI document.
func (s *site) undocumented(method, path string, headers ...string) reply {
	s.Helper()
	plain := *s
	plain.client = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	return plain.send(method, path, nil, headers...)
}

// exchange sends bytes over a new connection, closes its sending side, and returns all answers.
func (s *site) exchange(sent string) []reply {
	s.Helper()
	conn := s.connect(sent)
	_ = conn.CloseWrite()
	var answers []reply
	for reader := bufio.NewReader(conn); ; {
		answer, err := http.ReadResponse(reader, nil)
		if err != nil {
			return answers
		}
		answers = append(answers, s.reply(sent, answer))
	}
}

// raw sends bytes over a new connection and returns the first answer.
func (s *site) raw(sent string) reply {
	s.Helper()
	answer, err := http.ReadResponse(bufio.NewReader(s.connect(sent)), nil)
	if err != nil {
		s.Fatalf("%.200q: %v", sent, err)
	}
	return s.reply(sent, answer)
}

func (s *site) connect(sent string) *net.TCPConn {
	s.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
	s.must(err)
	s.Cleanup(func() { conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(2 * time.Minute)) // only reached if something is broken
	if _, err := io.WriteString(conn, sent); err != nil {
		s.Fatal(err)
	}
	return conn.(*net.TCPConn)
}

func (s *site) reply(sent string, answer *http.Response) reply {
	s.Helper()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		s.Fatalf("%.200q: %v", sent, err)
	}
	return reply{s, fmt.Sprintf("%.100q", sent), answer.StatusCode, answer.Header, string(body)}
}

// TestHeadersOfAnswers: every answer forbids sniffing, loading, running and caching (unless it may be cached), and does
// not name the software.
func TestHeadersOfAnswers(t *testing.T) {
	each(t, nil, func(s *site) {
		check := s.create(object{"tags": "<script>alert(1)</script>"})
		s.send("POST", check["ping_url"].(string), "<script>alert(1)</script>").is(200)
		badge := s.badges()["<script>alert(1)</script>"]["svg"]
		const strict, framed = "default-src 'none'; frame-ancestors 'none'; sandbox", "default-src 'none'; sandbox"
		for _, c := range []struct {
			method, path string
			status       int
			policy       string
			cache        string
		}{
			{"GET", "/", 200, strict, "no-store"},
			{"GET", "/nothing", 404, strict, "no-store"},
			{"GET", "/api/v3/checks/", 200, strict, "no-store"},
			{"HEAD", path(check), 200, strict, "no-store"},
			{"GET", path(check) + "/pings/1/body", 200, strict, "no-store"},
			{"PUT", "/api/v3/checks/", 405, strict, "no-store"},
			{"OPTIONS", "/api/v3/checks/", 204, strict, "no-store"},
			{"GET", "/api/v3/nothing", 404, strict, "no-store"},
			{"GET", "/ping/" + check["uuid"].(string), 200, strict, "no-store, no-cache, max-age=0"},
			{"GET", "/ping/nothing", 404, strict, "no-store, no-cache, max-age=0"},
			{"GET", badge, 200, framed, "no-store, no-cache, max-age=0"},
			{"GET", "/b/2/nothing.svg", 404, framed, "no-store, no-cache, max-age=0"},
			{"GET", "/api/v3/openapi.json", 200, strict, "no-cache"},
			{"GET", "/api/v3/", 200, "", "no-cache"}, // with its own policy, see below
		} {
			r := s.api(c.method, c.path, nil).is(c.status)
			want := map[string]string{
				"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "Content-Security-Policy": c.policy, "Cache-Control": c.cache,
				"Server": "", "X-Powered-By": "", "Set-Cookie": "", "Location": "", "Access-Control-Allow-Credentials": "",
			}
			if c.policy == "" {
				want["Content-Security-Policy"] = r.header.Get("Content-Security-Policy")
			}
			got := map[string]string{}
			for name := range want {
				got[name] = r.header.Get(name)
			}
			s.equal(r.what, got, want)
		}
		page := s.send("GET", "/api/v3/", nil).header.Get("Content-Security-Policy")
		for _, part := range []string{"default-src 'none'", "style-src 'sha256-", "frame-ancestors 'none'", "base-uri 'none'", "form-action 'none'", "sandbox"} {
			if !strings.Contains(page, part) {
				s.Errorf("the policy of the reference page lacks %s: %s", part, page)
			}
		}
		if strings.Contains(page, "script") || strings.Contains(page, "unsafe") || strings.Contains(page, "allow-") {
			s.Errorf("the policy of the reference page allows too much: %s", page)
		}
		for _, address := range []string{badge, s.url + "/b/3/" + check["badge_url"].(string)[strings.LastIndex(check["badge_url"].(string), "/")+1:]} {
			r := s.send("GET", address, nil).is(200)
			if strings.Contains(strings.ToLower(r.body), "<script") || r.header.Get("Content-Type") != "image/svg+xml" {
				s.Errorf("%s is no SVG, or has a script: %s", address, r.body)
			}
		}
		// The body of a ping is never served as a page.
		s.equal("type of a body", s.api("GET", path(check)+"/pings/1/body", nil).header.Get("Content-Type"), "text/plain")
	})
}

// TestAddressesAreConfigured: no header of a request influences an address in an answer.
func TestAddressesAreConfigured(t *testing.T) {
	each(t, &server.Config{BaseURL: "https://rollcall.example.org"}, func(s *site) {
		const evil = "evil.example"
		headers := []string{"Host", evil, "X-Forwarded-Host", evil, "X-Host", evil, "Forwarded", "host=" + evil, "X-Forwarded-Server", evil,
			"X-Original-Host", evil, "X-Forwarded-Prefix", "/" + evil, "Origin", "https://" + evil, "Referer", "https://" + evil + "/", "X-Api-Key", s.keys.ReadWrite}
		made := s.send("POST", "/api/v3/checks/", object{"tags": "a"}, headers...)
		made.is(201)
		for _, path := range []string{"/", "/api/v3/", "/api/v3/openapi.json", "/api/v3/checks/", "/api/v3/badges/", "/nothing"} {
			if r := s.send("GET", path, nil, headers...); strings.Contains(r.body+fmt.Sprint(r.header), evil) {
				s.Errorf("%s: a header of the request is in the answer: %v %s", r.what, r.header, r.body)
			}
		}
		id := made.object(201)["uuid"].(string)
		s.equal("ping_url", made.object(201)["ping_url"], any("https://rollcall.example.org/ping/"+id))
		// With an absolute address in the request line, and without a host.
		absolute := s.raw("GET http://" + evil + "/api/v3/checks/" + id + " HTTP/1.1\r\nHost: " + evil + "\r\nX-Api-Key: " + s.keys.ReadWrite + "\r\n\r\n").is(200)
		if strings.Contains(absolute.body, evil) {
			s.Errorf("the host of the request line is in the answer: %s", absolute.body)
		}
		s.raw("GET / HTTP/1.1\r\n\r\n").is(400)
		s.raw("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n").is(400)
		s.raw("GET / HTTP/1.1\r\nHost: a/../b\r\n\r\n").is(400)
	})
}

// TestPathForms: a path is taken as written, and never leads from one part of the server to another.
func TestPathForms(t *testing.T) {
	each(t, nil, func(s *site) {
		id := s.create(nil)["uuid"].(string)
		for _, path := range []string{
			"/ping/../api/v3/checks/", "/ping/%2e%2e/api/v3/checks/", "/ping/..%2fapi%2fv3%2fchecks", "/ping/..;/api/v3/checks/", "/ping//api/v3/checks/",
			"/ping/" + id + "/../../api/v3/checks/", "/ping/%2e/" + id, "/ping/./" + id, "/ping//" + id, "//ping/" + id, "/ping%2f" + id, "/ping\\" + id, "/Ping/" + id,
			"/api/v3/checks/../checks/", "/api/v3/checks/%2e%2e/checks/", "/api/v3/checks/" + id + "/../" + id, "/api/v3/checks/..%2f..%2fping/" + id, "/api/v3//checks/",
			"/api/v3/checks/" + id + "%00", "/api/v3/checks/" + id + ".json", "/api/v3/checks/" + id + ";x", "/api/v3/checks/" + id + "%20", "/badge/../api/v3/checks/",
			"/b/2/../../api/v3/checks/", "/b/2/..%2f..%2fetc%2fpasswd.svg", "/../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "/..%5c..%5cwindows", "/api/v3/./openapi.json",
		} {
			r := s.raw("GET " + path + " HTTP/1.1\r\nHost: x\r\nX-Api-Key: " + s.keys.ReadWrite + "\r\n\r\n")
			if r.status != 404 || r.header.Get("Location") != "" {
				s.Errorf("path %s: status %d, Location %q, want 404: %.100s", path, r.status, r.header.Get("Location"), r.body)
			}
		}
		for _, target := range []string{"api/v3/checks/", "*", "", "/a b", "/%zz", "/\x00", "http://[::1/"} {
			r := s.raw("GET " + target + " HTTP/1.1\r\nHost: x\r\n\r\n")
			if r.status != 400 && r.status != 404 {
				s.Errorf("target %q: status %d, want 400 or 404: %.100s", target, r.status, r.body)
			}
		}
		s.equal("n_pings", s.api("GET", "/api/v3/checks/"+id, nil).object(200)["n_pings"], any(0.0))
	})
}

// TestSmuggling: if the end of a request is doubtful, the server refuses it, or frames it as every proxy must, and never
// takes part of a body for a request.
func TestSmuggling(t *testing.T) {
	each(t, nil, func(s *site) {
		check := s.create(nil)
		id := check["uuid"].(string)
		hidden := "POST /ping/" + id + "/fail HTTP/1.1\r\nHost: x\r\n\r\n"
		for name, headers := range map[string]string{
			"two lengths":            "Content-Length: 0\r\nContent-Length: 60\r\n",
			"list of lengths":        "Content-Length: 0, 60\r\n",
			"length with sign":       "Content-Length: +0\r\n",
			"negative length":        "Content-Length: -1\r\n",
			"length in hexadecimal":  "Content-Length: 0x0\r\n",
			"length too large":       "Content-Length: 99999999999999999999\r\n",
			"empty length":           "Content-Length:\r\n",
			"unknown coding":         "Transfer-Encoding: xchunked\r\n",
			"identity":               "Transfer-Encoding: identity\r\n",
			"two codings":            "Transfer-Encoding: gzip, chunked\r\n",
			"coding twice":           "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n",
			"space before the colon": "Transfer-Encoding : chunked\r\n",
			"vertical tab":           "Transfer-Encoding: \x0bchunked\r\n",
			"folded line":            "Transfer-Encoding:\r\n chunked, x\r\n",
			"NUL":                    "X: a\x00b\r\n",
			"no colon":               "Transfer-Encoding chunked\r\n",
		} {
			for i, answer := range s.exchange("POST /ping/" + id + "/log HTTP/1.1\r\nHost: x\r\n" + headers + "\r\n" + hidden) {
				if i > 0 || answer.status != 400 && answer.status != 501 {
					s.Errorf("%s: answer %d has status %d, want one answer, 400 or 501", name, i, answer.status)
				}
			}
		}
		s.equal("n_pings", s.get(check)["n_pings"], any(0.0))

		// With both a length and chunks, the chunks count, and the connection ends with the answer (RFC 9112 section
		// 6.3): what a proxy takes for the body, going by the length, is not a request here.
		chunk := "0\r\n\r\n"
		answers := s.exchange("POST /ping/" + id + "/log HTTP/1.1\r\nHost: x\r\nContent-Length: " + fmt.Sprint(len(chunk)+len(hidden)) +
			"\r\nTransfer-Encoding: chunked\r\n\r\n" + chunk + hidden)
		if len(answers) != 1 || answers[0].status != 200 {
			s.Errorf("a length and chunks: %d answers, want one, 200: %v", len(answers), answers)
		}
		s.equal("type", s.pings(check)[0]["type"], any("log"))
		s.equal("n_pings", s.get(check)["n_pings"], any(1.0))

		// The rest of a body that no handler has read is not a request.
		rest := s.exchange("POST /api/v3/checks/ HTTP/1.1\r\nHost: x\r\nX-Api-Key: wrong\r\nContent-Length: " + fmt.Sprint(len(hidden)) + "\r\n\r\n" + hidden)
		if len(rest) != 1 || rest[0].status != 401 {
			s.Errorf("an unread body: %d answers, want one, 401: %v", len(rest), rest)
		}
		s.equal("n_pings", s.get(check)["n_pings"], any(1.0))
	})
}

// TestMethodsAreWhatTheyAre: only the request line sets the method.
func TestMethodsAreWhatTheyAre(t *testing.T) {
	each(t, nil, func(s *site) {
		check := s.create(object{"methods": "POST"})
		for _, header := range []string{"X-HTTP-Method-Override", "X-HTTP-Method", "X-Method-Override", "_method"} {
			s.send("GET", path(check)+"?_method=DELETE", nil, "X-Api-Key", s.keys.ReadWrite, header, "DELETE").is(200)
			s.send("POST", path(check), object{"_method": "DELETE"}, "X-Api-Key", s.keys.ReadWrite, header, "DELETE").is(200)
			s.send("GET", check["ping_url"].(string), nil, header, "POST").is(200)
			s.equal("type", s.pings(check)[0]["type"], any("ign"))
		}
		for _, method := range []string{"get", "Post", "DELETE\t", "G ET", "GET\x00", "", strings.Repeat("A", 5000)} {
			r := s.raw(method + " " + path(check) + " HTTP/1.1\r\nHost: x\r\nX-Api-Key: " + s.keys.ReadWrite + "\r\n\r\n")
			if r.status != 400 && r.status != 405 {
				s.Errorf("method %.20q: status %d, want 400 or 405", method, r.status)
			}
		}
		s.equal("still there", s.get(check)["status"], any("new"))
	})
}

// TestProtocols: HTTP/1.0 and 1.1 are spoken. HTTP/2 without TLS, upgrades and tunnels are not.
func TestProtocols(t *testing.T) {
	each(t, nil, func(s *site) {
		check := s.create(nil)
		ping := "/ping/" + check["uuid"].(string)
		s.raw("GET "+ping+" HTTP/1.0\r\n\r\n").text(200, "OK")
		if r := s.raw("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00"); r.status != 404 {
			s.Errorf("HTTP/2 without TLS: status %d, want 404", r.status)
		}
		upgrade := s.raw("GET " + ping + " HTTP/1.1\r\nHost: x\r\nConnection: Upgrade, HTTP2-Settings\r\n" +
			"Upgrade: h2c\r\nHTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA\r\n\r\n")
		upgrade.text(200, "OK")
		s.raw("GET "+ping+" HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"+
			"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n").text(200, "OK")
		s.raw("CONNECT evil.example:443 HTTP/1.1\r\nHost: evil.example:443\r\n\r\n").is(405)
		s.raw("GET " + ping + " HTTP/3.0\r\nHost: x\r\n\r\n").is(505)
		s.raw("GET " + ping + " HTTP/9\r\nHost: x\r\n\r\n").is(400)
		s.raw("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n").is(400) // TLS to a server without it
		s.raw("TRACE / HTTP/1.1\r\nHost: x\r\nX-Api-Key: " + s.keys.ReadWrite + "\r\n\r\n").is(405)
		s.equal("n_pings", s.get(check)["n_pings"], any(3.0))

		// A client that expects 100 Continue gets it, or is refused without its body.
		go100 := s.exchange("POST " + ping + " HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\nbody")
		if len(go100) != 2 || go100[0].status != 100 || go100[1].status != 200 {
			s.Errorf("Expect: 100-continue: %d answers, want 100 and 200: %v", len(go100), go100)
		}
		s.raw("POST /api/v3/checks/ HTTP/1.1\r\nHost: x\r\nX-Api-Key: wrong\r\nExpect: 100-continue\r\nContent-Length: 1000000000\r\n\r\n").is(401)
		s.raw("POST " + ping + " HTTP/1.1\r\nHost: x\r\nExpect: 200-maybe\r\nContent-Length: 0\r\n\r\n").is(417)
	})
}

// TestCompressedBodies: nothing decompresses a body, so nothing small becomes large.
func TestCompressedBodies(t *testing.T) {
	each(t, nil, func(s *site) {
		var packed bytes.Buffer
		w := gzip.NewWriter(&packed)
		_, _ = w.Write(bytes.Repeat([]byte(" "), 10_000_000))
		_, _ = w.Write([]byte("{}"))
		_ = w.Close()
		s.send("POST", "/api/v3/checks/", packed.Bytes(), "X-Api-Key", s.keys.ReadWrite, "Content-Encoding", "gzip").refused(400, "the body is not valid UTF-8")
		check := s.create(nil)
		s.send("POST", check["ping_url"].(string), packed.Bytes(), "Content-Encoding", "gzip").text(200, "OK")
		if body := s.api("GET", path(check)+"/pings/1/body", nil).is(200).body; body != packed.String() {
			s.Errorf("the body has %d bytes and is not the %d bytes sent", len(body), packed.Len())
		}
	})
}

// TestPreflights: any page may call the API, without credentials of the browser and with one additional header.
func TestPreflights(t *testing.T) {
	each(t, nil, func(s *site) {
		for _, path := range []string{"/api/v3/checks/", "/api/v3/checks/" + unknownUUID, "/api/v3/badges"} {
			r := s.send("OPTIONS", path, nil, "Origin", "https://evil.example", "Access-Control-Request-Method", "DELETE",
				"Access-Control-Request-Headers", "X-Api-Key, X-Evil", "Access-Control-Request-Private-Network", "true").is(204)
			s.equal(path, []string{
				r.header.Get("Access-Control-Allow-Origin"), r.header.Get("Access-Control-Allow-Headers"), r.header.Get("Access-Control-Allow-Credentials"),
				r.header.Get("Access-Control-Allow-Private-Network"), r.body,
			}, []string{"*", "X-Api-Key", "", "", ""})
		}
		s.send("OPTIONS", "/ping/"+unknownUUID, nil, "Origin", "https://evil.example").is(405)
	})
}

// TestHostileJSON: JSON that is legal and hostile.
func TestHostileJSON(t *testing.T) {
	each(t, nil, func(s *site) {
		post := func(body string) reply { return s.api("POST", "/api/v3/checks/", body) }
		// Of a duplicate key the last one counts, as in encoding/json and most other parsers.
		s.equal("twice", post(`{"name":"first","name":"last","timeout":60,"timeout":120}`).object(201)["name"], any("last"))
		post(`{"timeout":120,"timeout":"x"}`).refusedField("timeout", "timeout is not a number")
		s.send("POST", "/api/v3/checks/", `{"api_key":"`+s.keys.ReadWrite+`","api_key":"`+strings.Repeat("x", 32)+`"}`).refused(401, "wrong api key")
		s.equal("another case", post(`{"Name":"x","NAME":"y","naMe":"z"}`).object(201)["name"], any(""))
		s.equal("escaped key", post(`{"\u006eame":"x"}`).object(201)["name"], any("x"))
		for _, number := range []string{"1e400", "1e999999999999", "9223372036854775808", "1" + strings.Repeat("0", 100_000)} {
			if r := post(`{"timeout":` + number + `}`).is(400); !strings.Contains(r.body, "timeout is too large") || len(r.body) > 1200 {
				s.Errorf("timeout %.20s: %.200s", number, r.body)
			}
		}
		post(`{"timeout":-1e400}`).is(400)
		post(`{"timeout":1e-400}`).refusedField("timeout", "timeout is not a whole number: 1e-400")
		for _, number := range []string{"NaN", "Infinity", "0x3c", "060", "+60", "60.", ".6e2", "6_0", "60L"} {
			post(`{"timeout":` + number + `}`).is(400)
		}
		// Deep nesting is refused at once, or ignored in an unknown field.
		post(`{"x":` + strings.Repeat("[", 400_000) + strings.Repeat("]", 400_000) + "}").is(400)
		post(strings.Repeat(`{"name":`, 100_000) + "1" + strings.Repeat("}", 100_000)).is(400)
		post(`{"x":` + strings.Repeat("[", 5000) + strings.Repeat("]", 5000) + "}").is(201)
		var keys strings.Builder
		for i := range 40_000 {
			fmt.Fprintf(&keys, `,"k%x":0`, uint32(i)*0x9E3779B1)
		}
		s.equal("many keys", post(`{"name":"n"` + keys.String() + "}").object(201)["name"], any("n"))
		post(`{"unique":[` + strings.TrimSuffix(strings.Repeat(`"name",`, 100_000), ",") + `]}`).is(201)
		post(`{"channels":"` + strings.Repeat("a,", 400_000) + `"}`).is(400)
		post(`{"tz":"` + strings.Repeat("../", 30_000) + `etc/passwd"}`).is(400)
		post(`{"tz":"../../../../etc/passwd"}`).is(400)
		post("\ufeff{}").is(400)
		post(`{} {}`).is(400)
		post(`{"name":"x"}` + strings.Repeat(" ", 900_000)).is(201)
		post(strings.Repeat(" ", 1_000_000)).is(400)
		post(strings.Repeat(" ", 1_000_001)).refused(413, "the body is too large: the maximum is 1000000 bytes")
		post(`{"__proto__":{"name":"x"},"constructor":{"prototype":{}}}`).is(201)
	})
}

// TestTargetsWithoutPath: a target that is no path says nothing about where the handler is mounted, and leaves the only warning about
// that to a request that does.
func TestTargetsWithoutPath(t *testing.T) {
	s := serve(t, dbtest.SQLite(t), &server.Config{BaseURL: "https://rollcall.example.org/ops"})
	for sent, want := range map[string]int{
		"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n": 404, "OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n": 200, "GET * HTTP/1.1\r\nHost: x\r\n\r\n": 404,
		"CONNECT example.org:443 HTTP/1.1\r\nHost: example.org:443\r\n\r\n":               404,
		"GET http://example.org/ HTTP/1.1\r\nHost: example.org\r\n\r\n":                   404,
		"GET http://example.org/ops/api/v3/status/ HTTP/1.1\r\nHost: example.org\r\n\r\n": 200,
	} {
		s.raw(sent).is(want)
	}
	if s.log.String() != "" {
		s.Errorf("the log has %s", s.log)
	}
	s.raw("GET /api/v3/checks/ HTTP/1.1\r\nHost: x\r\n\r\n").is(404)
	if !strings.Contains(s.log.String(), "mount the handler at the path of BaseURL") {
		s.Errorf("the log has %s", s.log)
	}
}

// TestHugeFields puts each kind of huge value into each field of each endpoint. It is refused, and no transaction begins.
func TestHugeFields(t *testing.T) {
	each(t, nil, func(s *site) {
		v := newVictim(s)
		hook := object{"kind": "webhook", "name": "hook", "settings": object{"url_down": "https://example.org/"}}
		hookPath := "/api/v3/channels/" + s.admin().as("POST", "/api/v3/channels/", hook).object(201)["id"].(string)
		var began atomic.Int64
		other := s.another(&dbtest.Hooked{Store: s.store, Around: func(op string, do func() error) error {
			if op == "Update" {
				began.Add(1)
			}
			return do()
		}}, monitor.Config{}, server.Config{}).admin()
		other.client = &http.Client{} // without the checks of the document, which take longer than the server
		began.Store(0)

		items, names := make([]string, 30_000), object{}
		for i := range items {
			items[i] = strconv.Itoa(i)
			names[items[i]] = "x"
		}
		long := strings.Repeat("ü", 150_000)
		nested := json.RawMessage(strings.Repeat("[", 9_000) + strings.Repeat("]", 9_000))
		values := []any{strings.Join(items, " "), strings.Join(items, ","), long, items, nested, names, object{"url_down": long}}

		settings := []string{"unique"}
		for _, setting := range checks.AllSettings() {
			settings = append(settings, setting.Name)
		}
		channel, project := []string{"kind", "name", "settings", "sources"}, []string{"name", "account", "plan", "max_checks"}
		page, pageFields := object{"slug": "new", "title": "New"}, []string{"slug", "title", "description", "tags"}
		for _, e := range []struct {
			method, path string
			valid        object
			fields       []string
		}{
			{"POST", "/api/v3/checks/", nil, settings},
			{"POST", v.in("/api/v3/checks/:id"), nil, settings[1:]},
			{"POST", "/api/v3/channels/", hook, append(channel, "unique")},
			{"PUT", hookPath, hook, channel},
			{"POST", "/api/v3/projects/", object{"name": "new"}, project},
			{"PUT", v.in("/api/v3/projects/:id"), object{"name": "new"}, project},
			{"POST", "/api/v3/status-pages/", page, pageFields},
			{"PUT", v.in("/api/v3/status-pages/:id"), page, pageFields},
		} {
			for _, field := range e.fields {
				for i, value := range values {
					body := without(e.valid)
					body[field] = value
					r := other.everywhere(e.method, e.path, body)
					if r.status != 400 || len(r.body) > 2000 || !strings.Contains(r.body, `"field":`) {
						t.Errorf("%s %s: %s, value %d: status %d, %.300s", e.method, e.path, field, i, r.status, r.body)
					}
				}
			}
		}
		if n := began.Load(); n != 0 {
			t.Errorf("%d transactions began", n)
		}
		query := "/api/v3/checks/?tag=" + strings.Join(items[:3_000], "&tag=")
		if list := s.api("GET", query, nil).list(200, "checks"); len(list) != 0 {
			t.Errorf("no check has 3,000 tags, but %d were found", len(list))
		}
	})
}

// TestStrictTransport: with https URLs, each answer of a host tells browsers to use only https; with http URLs none does.
func TestStrictTransport(t *testing.T) {
	const year = "max-age=31536000"
	s := serve(t, dbtest.SQLite(t), nil)
	project, keys, err := s.mon.Projects().Create(t.Context(), checks.ProjectSpec{Name: "strict"})
	s.must(err)
	check, err := s.mon.Project(project.ID).Create(t.Context(), checks.Spec{Channels: new("")})
	s.must(err)
	ping := "/" + check.ID.String()
	for _, c := range []struct {
		name            string
		config          server.Config
		pings           string // path of pings
		ofBase, ofPings string
	}{
		{"http", server.Config{BaseURL: "http://ops.example.org"}, "/ping", "", ""},
		{"http, with a setting", server.Config{BaseURL: "http://ops.example.org", HSTS: year}, "/ping", "", ""},
		{"https", server.Config{BaseURL: "https://ops.example.org"}, "/ping", year, year},
		{"https with a path", server.Config{BaseURL: "https://ops.example.org/jobs"}, "/jobs/ping", year, year},
		{"subdomains", server.Config{BaseURL: "https://ops.example.org", HSTS: year + "; includeSubDomains"}, "/ping", year + "; includeSubDomains", year + "; includeSubDomains"},
		{"none", server.Config{BaseURL: "https://ops.example.org", HSTS: "none"}, "/ping", "", ""},
		{"pings by http", server.Config{BaseURL: "https://ops.example.org", PingBaseURL: "http://ping.example.org"}, "", year, ""},
		{"pings by https", server.Config{BaseURL: "http://ops.example.org", PingBaseURL: "https://ping.example.org"}, "", "", year},
	} {
		_, srv := newServer(t, s.store, monitor.Config{Now: s.clock.Now}, c.config)
		base := strings.TrimPrefix(strings.TrimSuffix(c.pings, "/ping"), "/ping")
		for _, path := range []string{
			"/", base + "/", base + "/api/v3/checks/", base + "/api/v3/", base + "/api/v3/nothing", base + "/badge/x", base + "/unsubscribe/x", base + "/acknowledge/x", "/livez", "/readyz",
			"/nothing", c.pings + ping, c.pings + "/nothing", c.pings + ping + "/fail",
		} {
			isPing := strings.HasPrefix(path, c.pings+ping) || c.pings != "" && strings.HasPrefix(path, c.pings)
			for _, method := range []string{"GET", "POST", "OPTIONS", "PUT"} {
				r := httptest.NewRequest(method, path, nil)
				r.Header.Set("X-Api-Key", keys.ReadWrite)
				r.Host = "ops.example.org"
				want := c.ofBase
				if isPing && c.pings == "" {
					r.Host, want = "ping.example.org", c.ofPings
				}
				w := httptest.NewRecorder()
				srv.ServeHTTP(w, r)
				if got := w.Header().Get("Strict-Transport-Security"); got != want {
					t.Errorf("%s: %s %s: status %d with %q, want %q", c.name, method, path, w.Code, got, want)
				}
			}
		}
	}
	for _, wrong := range []string{"yes", "max-age=1\r\nX: y"} {
		if _, err := server.New(s.mon, &server.Config{BaseURL: "https://ops.example.org", HSTS: wrong}); err == nil {
			t.Errorf("HSTS %q is accepted", wrong)
		}
	}
}
