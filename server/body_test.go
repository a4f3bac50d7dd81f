package server_test

import (
	"bytes"
	"fmt"
	"net"
	"strings"
	"testing"

	"github.com/rollcall-dev/rollcall/server"
)

func TestBodies(t *testing.T) {
	each(t, nil, func(s *site) {
		check := s.create(nil)
		all := make([]byte, 256)
		for i := range all {
			all[i] = byte(i)
		}
		n := 0
		for _, c := range []struct{ sent, kept []byte }{
			{[]byte("text\r\n\n"), []byte("text\r\n\n")},
			{all, all},
			{[]byte("\xff\xfe<script>\x00"), []byte("\xff\xfe<script>\x00")},
			{bytes.Repeat([]byte("x"), 100_000), bytes.Repeat([]byte("x"), 100_000)},
			{bytes.Repeat([]byte("x"), 100_001), bytes.Repeat([]byte("x"), 100_000)},
			{bytes.Repeat(all, 20_000), bytes.Repeat(all, 400)[:100_000]}, // 5 MB
		} {
			for _, method := range []string{"POST", "GET"} {
				n++
				s.send(method, check["ping_url"].(string), c.sent).text(200, "OK")
				r := s.api("GET", fmt.Sprintf("%s/pings/%d/body", path(check), n), nil).is(200)
				if r.body != string(c.kept) {
					s.Errorf("body of %d bytes came back with %d bytes, or with others", len(c.sent), len(r.body))
				}
				s.equal("Content-Type", r.header.Get("Content-Type"), "text/plain")
			}
		}
		s.send("POST", check["ping_url"].(string), "").text(200, "OK")
		s.equal("empty body", s.pings(check)[0]["body_url"], any(nil))
	})
}

// TestBrokenBody: an incomplete body is not a ping.
func TestBrokenBody(t *testing.T) {
	each(t, nil, func(s *site) {
		check := s.create(nil)
		for _, request := range []string{
			"POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nhalf",
			"POST %s HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n",
			"POST %s HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nnonsense",
		} {
			conn, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
			s.must(err)
			fmt.Fprintf(conn, request, "/ping/"+check["uuid"].(string))
			conn.(*net.TCPConn).CloseWrite()
			var answer bytes.Buffer
			answer.ReadFrom(conn)
			conn.Close()
			if !strings.HasPrefix(answer.String(), "HTTP/1.1 400 ") || !strings.Contains(answer.String(), "could not be read") {
				s.Errorf("answer %s, want 400", answer.String())
			}
		}
		s.equal("n_pings", s.get(check)["n_pings"], any(0.0))
	})
}

func TestSmallBodyLimit(t *testing.T) {
	each(t, &server.Config{PingBodyLimit: 10}, func(s *site) {
		check := s.create(object{"filter_http_body": true, "success_kw": "done"})
		for _, c := range []struct{ body, kind string }{
			{strings.Repeat(".", 9_996) + "done", "success"},
			{strings.Repeat(".", 9_997) + "done", "ign"},
			{"done", "success"},
			{"0123456789", "ign"},
			{"", "ign"},
		} {
			r := s.send("POST", check["ping_url"].(string), c.body)
			r.text(200, "OK")
			s.equal("limit", r.header.Get("Ping-Body-Limit"), "10")
			ping := s.pings(check)[0]
			s.equal("kind", ping["type"], any(c.kind))
			if c.body == "" {
				s.equal("body", ping["body_url"], any(nil))
				continue
			}
			got := s.send("GET", ping["body_url"].(string), nil, "X-Api-Key", s.keys.ReadWrite).is(200)
			s.equal("body", got.body, c.body[:min(10, len(c.body))])
		}
	})
}

func TestKeywords(t *testing.T) {
	each(t, nil, func(s *site) {
		fill := func(n int) string { return strings.Repeat("x", n) }
		words := object{"filter_http_body": true, "start_kw": "begin", "success_kw": "done, ok ,", "failure_kw": "ERROR,fatal error"}
		strict := object{"filter_default_fail": true}
		for key, value := range words {
			strict[key] = value
		}
		for _, c := range []struct {
			fields                     object
			method, suffix, body, kind string
		}{
			{words, "POST", "", "it is done", "success"},
			{words, "POST", "", "undone", "success"},
			{words, "POST", "", "Done", "ign"},
			{words, "POST", "", "error", "ign"},
			{words, "POST", "", "a fatal error", "fail"},
			{words, "POST", "", "begin", "start"},
			{words, "POST", "", "begin done ERROR", "fail"},
			{words, "POST", "", "begin, done", "success"},
			{words, "POST", "/fail", "ok", "success"},
			{words, "POST", "/start", "nothing", "ign"},
			{words, "GET", "", "", "ign"},
			{words, "HEAD", "", "", "ign"},
			{words, "GET", "", "ok", "success"},
			{words, "POST", "", "\xff\x00ok", "success"},
			{words, "POST", "", fill(9_996) + "done", "success"},
			{words, "POST", "", fill(9_997) + "done", "ign"},
			{words, "POST", "", fill(10_000) + "done", "ign"},
			{strict, "POST", "", fill(9_997) + "done", "fail"},
			{strict, "GET", "", "", "fail"},
			{strict, "POST", "", "ok", "success"},
			{strict, "POST", "/log", "nothing", "fail"},
			{object{"success_kw": "done", "filter_default_fail": true}, "POST", "", "nothing", "success"},
			{object{"filter_subject": true, "filter_body": true, "success_kw": "done", "filter_default_fail": true}, "POST", "", "nothing", "success"},
			{object{"filter_http_body": true}, "POST", "", "anything", "ign"},
			{object{"filter_http_body": true, "success_kw": " , "}, "POST", "", " , ", "ign"},
			{object{"filter_http_body": true, "success_kw": "ключ"}, "POST", "", "есть ключ", "success"},
		} {
			check := s.create(c.fields)
			s.send(c.method, check["ping_url"].(string)+c.suffix, c.body).is(200)
			s.equal(fmt.Sprintf("%s %s %.40q", c.method, c.suffix, c.body), s.pings(check)[0]["type"], any(c.kind))
			got := s.get(check)
			s.equal("n_pings", got["n_pings"], any(1.0))
			if c.kind == "ign" {
				s.equal("ignored", []any{got["status"], got["last_ping"]}, []any{"new", nil})
			}
		}
	})
}

// TestIgnoredBeforeKeywords: what a check ignores stays ignored, whatever the keywords say (server/API.md sections 2.1 and 3).
func TestIgnoredBeforeKeywords(t *testing.T) {
	each(t, nil, func(s *site) {
		words := object{"filter_http_body": true, "filter_default_fail": true, "start_kw": "begin", "success_kw": "done", "failure_kw": "ERROR"}
		with := func(field string, value any) object {
			fields := without(words)
			fields[field] = value
			return s.create(fields)
		}
		posts, paused := with("methods", "POST"), with("manual_resume", true)
		s.api("POST", path(paused)+"/pause", nil).is(200)
		for _, body := range []string{"", "done", "begin", "ERROR", "nothing"} {
			s.send("GET", posts["ping_url"].(string), body).text(200, "OK")
			s.status(posts, "new", "")
			s.send("POST", paused["ping_url"].(string), body).text(200, "OK")
			s.status(paused, "paused", "")
		}
		for _, check := range []object{posts, paused} {
			for _, ping := range s.pings(check) {
				s.equal("type", ping["type"], any("ign"))
			}
			got := s.get(check)
			s.equal("counted", []any{got["n_pings"], got["last_ping"]}, []any{5.0, nil})
		}
	})
}
