package server_test

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

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
			{append(bytes.Repeat([]byte("x"), 100_000), "the reason"...), append(bytes.Repeat([]byte("x"), 99_990), "the reason"...)},
			{bytes.Repeat(all, 20_000), slices.Concat(bytes.Repeat(all, 400)[:50_000], bytes.Repeat(all, 400)[102_400-50_000:])}, // 5 MB
			{append(bytes.Repeat([]byte("y"), 20_000_000), "end"...), append(bytes.Repeat([]byte("y"), 99_997), "end"...)},
		} {
			for _, method := range []string{"POST", "GET"} {
				n++
				s.send(method, check["ping_url"].(string), c.sent).text(200, "OK")
				r := s.api("GET", fmt.Sprintf("%s/pings/%d/body", path(check), n), nil).is(200)
				if r.body != string(c.kept) {
					s.Errorf("body of %d bytes came back with %d bytes, or with others", len(c.sent), len(r.body))
				}
				s.equal("Content-Type", r.header.Get("Content-Type"), "text/plain")
				want := ""
				if cut := len(c.sent) - len(c.kept); cut > 0 {
					want = fmt.Sprint(cut)
				}
				s.equal("Ping-Body-Cut", r.header.Get("Ping-Body-Cut"), want)
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
			want := c.body
			if len(want) > 10 {
				want = want[:5] + want[len(want)-5:]
			}
			s.equal("body", got.body, want)
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
			s.send("GET", posts["ping_url"].(string), body).text(200, "OK (ignored: the check takes only POST)")
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

// TestTextOfBodies: keywords are searched in the text of a body, as a byte order mark, a charset and gzip say, and the body comes
// back as it was sent.
func TestTextOfBodies(t *testing.T) {
	wide := func(text string, order binary.AppendByteOrder) string {
		var b []byte
		for _, unit := range utf16.Encode([]rune(text)) {
			b = order.AppendUint16(b, unit)
		}
		return string(b)
	}
	packed := func(text string) string {
		var b bytes.Buffer
		w := gzip.NewWriter(&b)
		w.Write([]byte(text))
		w.Close()
		return b.String()
	}
	each(t, nil, func(s *site) {
		words := object{"filter_http_body": true, "failure_kw": "Störung,disk full", "success_kw": "Ende gut"}
		for _, c := range []struct{ name, body, contentType, encoding, kind string }{
			{"UTF-16 with a mark", "\xff\xfe" + wide("eine Störung", binary.LittleEndian), "", "", "fail"},
			{"big-endian", "\xfe\xff" + wide("eine Störung", binary.BigEndian), "text/plain", "", "fail"},
			{"UTF-16 without a mark", wide("eine Störung", binary.LittleEndian), "text/plain; charset=UTF-16", "", "fail"},
			{"UTF-8 with a mark", "\xef\xbb\xbfStörung", "", "", "fail"},
			{"a charset", "eine St\xf6rung", "text/plain; charset=iso-8859-1", "", "fail"},
			{"a charset in quotes", "eine St\x94rung", `text/plain; format=flowed; Charset="CP437"`, "", "fail"},
			{"not the UTF-8 that it says", "eine St\xf6rung", "text/plain;charset=utf-8", "", "fail"},
			{"no charset: bytes", "eine St\xf6rung", "text/plain", "", "ign"},
			{"an unknown charset: bytes", "eine St\xf6rung", "text/plain; charset=x-nobody", "", "ign"},
			{"gzip", packed("the disk full of logs"), "", "gzip", "fail"},
			{"gzip, in another case", packed("the disk full of logs"), "", " GZip", "fail"},
			{"gzip with a charset", packed("eine St\xf6rung"), "text/plain; charset=latin1", "x-gzip", "fail"},
			{"gzip with a mark", packed("\xff\xfe" + wide("eine Störung", binary.LittleEndian)), "", "gzip", "fail"},
			{"no gzip, for all it says", "disk full", "", "gzip", "fail"},
			{"a gzip that it does not say", packed("disk full"), "", "", "ign"},
			{"gzip within 10,000 bytes", packed(strings.Repeat(".", 9_991) + "disk full"), "", "gzip", "fail"},
			{"gzip beyond", packed(strings.Repeat(".", 9_992) + "disk full"), "", "gzip", "ign"},
			{"a bomb", packed(strings.Repeat(".", 20_000_000)), "", "gzip", "ign"},
			{"UTF-16 within 10,000 bytes", wide(strings.Repeat(".", 4_991)+"disk full", binary.LittleEndian), "text/plain; charset=utf-16le", "", "fail"},
			{"UTF-16 beyond", wide(strings.Repeat(".", 4_992)+"disk full", binary.LittleEndian), "text/plain; charset=utf-16le", "", "ign"},
			{"more bytes in UTF-8", strings.Repeat("\xf6", 9_991) + "disk full", "text/plain; charset=latin1", "", "fail"},
			{"decomposed", "eine Sto\u0308rung", "", "", "fail"},
			{"a wrapped line", "disk\r\n\tfull", "", "", "fail"},
			{"a no-break space", "disk\u00a0full", "", "", "fail"},
		} {
			check := s.create(words)
			s.send("POST", check["ping_url"].(string), c.body, "Content-Type", c.contentType, "Content-Encoding", c.encoding).text(200, "OK")
			ping := s.pings(check)[0]
			s.equal(c.name, ping["type"], any(c.kind))
			if len(c.body) <= 100_000 {
				got := s.send("GET", ping["body_url"].(string), nil, "X-Api-Key", s.keys.ReadWrite).is(200)
				s.equal(c.name+": body", got.body == c.body, true)
			}
		}
	})
}

// TestCutByClient: the number of bytes that a client has left out counts too.
func TestCutByClient(t *testing.T) {
	each(t, &server.Config{PingBodyLimit: 10}, func(s *site) {
		check := s.create(nil)
		for i, c := range []struct{ body, header, want string }{
			{"0123456789", "90", "90"}, {"0123456789ab", "90", "92"}, {"0123456789", "-1", ""}, {"0123456789", "x", ""}, {"", "5", ""},
		} {
			s.send("POST", check["ping_url"].(string), c.body, "Ping-Body-Cut", c.header).text(200, "OK")
			if c.body == "" {
				continue
			}
			r := s.send("GET", fmt.Sprintf("%s/pings/%d/body", path(check), i+1), nil, "X-Api-Key", s.keys.ReadWrite).is(200)
			s.equal(c.body, r.header.Get("Ping-Body-Cut"), c.want)
		}
	})
}
