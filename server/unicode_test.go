package server_test

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/server"
)

// trouble lists characters that break naive code: edges of surrogates and encodings, noncharacters, combining and
// direction marks, controls, and the syntax of SQL, JSON, arrays and patterns.
var trouble = []rune("\x01\x07\b\t\n\r\x1b\x1f \"#$%&'()*,/:;<=>?@[\\]^_`{|}~\x7f\u0080\u0085\u009b\u00a0\u00ad\u00df\u0130\u0131\u017f\u0300\u0301\u034f\u05d0" +
	"\u0627\u07ff\u0800\u0e33\u115f\u180e\u1e9e\u200b\u200d\u200e\u202e\u2028\u2029\u2066\u20dd\u3000\ud7ff\ue000\ufdd0\ufe0f\ufeff\ufffc\ufffd\ufffe\uffff" +
	"\U00010000\U0001d173\U0001f1f1\U0001f469\U0001fffe\U000e0001\U000e0041\U0010fffe\U0010ffff")

// anyRune draws any character but NUL.
func anyRune() *rapid.Generator[rune] {
	return rapid.OneOf(rapid.SampledFrom(trouble), rapid.Int32Range(1, 0x10FFFF)).Filter(utf8.ValidRune)
}

// anyText draws a text of up to most characters, often of exactly that many.
func anyText(most int) *rapid.Generator[string] {
	return rapid.OneOf(rapid.StringOfN(anyRune(), 0, min(most, 20), -1), rapid.StringOfN(anyRune(), most, most, -1))
}

// escapedJSON writes a JSON string in ASCII only, with surrogate pairs.
func escapedJSON(text string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, unit := range utf16.Encode([]rune(text)) {
		fmt.Fprintf(&b, `\u%04x`, unit)
	}
	return b.String() + `"`
}

// TestTextsOfChecks: every text of a check comes back as it was sent, however JSON escaped it.
func TestTextsOfChecks(t *testing.T) {
	each(t, nil, func(s *site) {
		rapid.Check(s.T, func(t *rapid.T) {
			fields := map[string]string{"slug": rapid.StringMatching(`[a-z0-9_-]{0,100}`).Draw(t, "slug")}
			for name, most := range map[string]int{"name": 100, "tags": 500, "desc": 1000, "start_kw": 200, "success_kw": 200, "failure_kw": 200} {
				fields[name] = anyText(most).Draw(t, name)
			}
			escaped := rapid.Bool().Draw(t, "escaped")
			var body strings.Builder
			for name, text := range fields {
				written, _ := json.Marshal(text)
				if escaped {
					written = []byte(escapedJSON(text))
				}
				fmt.Fprintf(&body, ",%q:%s", name, written)
			}
			check := s.api("POST", "/api/v3/checks/", "{"+body.String()[1:]+"}").object(201)
			for _, read := range []object{check, s.get(check)} {
				for name, text := range fields {
					if read[name] != text {
						t.Fatalf("%s is %q, want %q", name, read[name], text)
					}
				}
			}
		})
	})
}

// TestTextsOfPings: a user agent comes back as HTTP sent it, and a body unchanged.
func TestTextsOfPings(t *testing.T) {
	each(t, nil, func(s *site) {
		rapid.Check(s.T, func(t *rapid.T) {
			check := s.create(nil)
			sendable := func(r rune) bool { return r >= ' ' && r != 0x7f }
			agent := rapid.StringOfN(anyRune().Filter(sendable), 0, 200, -1).Draw(t, "user agent")
			agent = strings.Trim(agent, " ")
			body := rapid.OneOf(rapid.SliceOfN(rapid.Byte(), 1, 300), rapid.Map(anyText(300), func(s string) []byte { return []byte("x" + s) })).Draw(t, "body")
			s.send("POST", check["ping_url"].(string), body, "User-Agent", agent).text(200, "OK")
			if ping := s.pings(check)[0]; ping["ua"] != agent {
				t.Fatalf("user agent %q, want %q", ping["ua"], agent)
			}
			if got := s.api("GET", path(check)+"/pings/1/body", nil).is(200).body; got != string(body) {
				t.Fatalf("body %q, want %q", got, body)
			}
		})
		check := s.create(nil)
		// Invalid UTF-8 is replaced.
		for sent, want := range map[string]string{
			"a\xff\xfe\xffb": "a\ufffdb", "\xed\xa0\x80": "\ufffd", "\xc0\x80": "\ufffd", "é\xe9": "é\ufffd", "a\tb": "a\tb",
			strings.Repeat("\U0001f600", 201): strings.Repeat("\U0001f600", 200),
		} {
			s.send("GET", check["ping_url"].(string), nil, "User-Agent", sent).text(200, "OK")
			s.equal("user agent", s.pings(check)[0]["ua"], any(want))
		}
	})
}

// TestTextsOfForwarding: of the forwarding headers of a trusted proxy only addresses are kept.
func TestTextsOfForwarding(t *testing.T) {
	each(t, &server.Config{TrustedProxies: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}, func(s *site) {
		check := s.create(nil)
		for sent, want := range map[string]string{
			"203.0.113.9": "203.0.113.9", "2001:DB8::1": "2001:db8::1", "[2001:db8::1%eth0]:5": "2001:db8::1", "::ffff:203.0.113.9": "203.0.113.9",
			"<script>": "127.0.0.1", "203.0.113.9\xff": "127.0.0.1", "２０３.0.113.9": "127.0.0.1", "203.0.113.9'; DROP TABLE rollcall_pings; --": "127.0.0.1",
			strings.Repeat("1", 5000): "127.0.0.1", "unknown": "127.0.0.1", "": "127.0.0.1", "٢.٢.٢.٢": "127.0.0.1",
		} {
			s.send("GET", check["ping_url"].(string), nil, "X-Forwarded-For", sent, "X-Forwarded-Proto", sent).text(200, "OK")
			ping := s.pings(check)[0]
			s.equal(sent, []any{ping["remote_addr"], ping["scheme"]}, []any{want, "http"})
		}
	})
}

// TestNamesOfProjectsAndChannels: names may be any visible text without control characters, and come back unchanged.
func TestNamesOfProjectsAndChannels(t *testing.T) {
	each(t, nil, func(s *site) {
		n := 0
		name := rapid.StringOfN(anyRune().Filter(func(r rune) bool { return r >= ' ' && r != 0x7f }), 1, 90, -1).Filter(func(name string) bool {
			return strings.ContainsFunc(name, func(r rune) bool {
				return !unicode.IsSpace(r) && !unicode.In(r, unicode.Cc, unicode.Cf, unicode.Other_Default_Ignorable_Code_Point) && r != '\u2800'
			})
		})
		rapid.Check(s.T, func(t *rapid.T) {
			n++
			spec := checks.ProjectSpec{Name: fmt.Sprint(n, name.Draw(t, "project")), Account: name.Draw(t, "account")}
			project, keys, err := s.mon.Projects().Create(s.Context(), spec)
			if err != nil {
				t.Fatalf("project %+v was refused: %v", spec, err)
			}
			read, err := s.mon.Projects().ByName(s.Context(), spec.Name)
			if err != nil || read.ID != project.ID || read.Name != spec.Name || read.Account != spec.Account {
				t.Fatalf("project %+v came back as %+v, error %v", spec, read, err)
			}
			channel := name.Draw(t, "channel")
			if _, err := s.mon.Project(project.ID).CreateChannel(s.Context(), channels.Channel{Kind: channels.Email, Name: channel, Settings: map[string]string{"to": "a@example.org"}}); err != nil {
				t.Fatal(err)
			}
			list := s.send("GET", "/api/v3/channels/", nil, "X-Api-Key", keys.ReadWrite).list(200, "channels")
			if len(list) != 1 || list[0]["name"] != channel {
				t.Fatalf("integration %q came back as %v", channel, list)
			}
			if !strings.ContainsAny(channel, ",*") && strings.TrimSpace(channel) != "" {
				check := s.send("POST", "/api/v3/checks/", object{"channels": channel}, "X-Api-Key", keys.ReadWrite).object(201)
				if check["channels"] != list[0]["id"] {
					t.Fatalf("integration %q by its name is %v", channel, check["channels"])
				}
			}
		})
	})
}

// TestTextsThatAreNone: NUL, lone surrogates and invalid UTF-8 are refused, not repaired.
func TestTextsThatAreNone(t *testing.T) {
	each(t, nil, func(s *site) {
		for _, field := range []string{"name", "tags", "desc", "start_kw", "success_kw", "failure_kw", "channels", "schedule", "slug"} {
			s.api("POST", "/api/v3/checks/", `{"`+field+`":"a\u0000b"}`).refusedField(field, field+" has a NUL character")
			s.api("POST", "/api/v3/checks/", "{\""+field+"\":\"a\x00b\"}").is(400) // invalid JSON
			for _, half := range []string{`\ud800`, `\udfff`, `\ud83d\u0041`, `\udc00\ud800`, `\ud83d\ud83d\ude00`} {
				s.api("POST", "/api/v3/checks/", `{"`+field+`":"`+half+`"}`).is(400)
			}
			for _, bytes := range []string{"\xff", "\xc0\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xe2\x82", "\x80"} {
				s.api("POST", "/api/v3/checks/", `{"`+field+`":"`+bytes+`"}`).refused(400, "the body is not valid UTF-8")
			}
		}
		s.equal("checks", len(s.api("GET", "/api/v3/checks/", nil).list(200, "checks")), 0)
		for _, query := range []string{"?slug=%00", "?tag=%00", "?tag=%ff", "?slug=%ff", "?tag=%ed%a0%80"} {
			s.equal(query, len(s.api("GET", "/api/v3/checks/"+query, nil).list(200, "checks")), 0)
		}
	})
}
