package server_test

import (
	"crypto/sha256"
	"encoding/base64"
	"strings"
	"testing"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/server"
)

// TestUnsubscribe follows the link of a message as people and mail services do: https://www.rfc-editor.org/rfc/rfc8058
func TestUnsubscribe(t *testing.T) {
	each(t, &server.Config{BaseURL: "https://rollcall.example.org/ops", AccessLog: true}, func(s *site) {
		c, err := s.mon.Project(s.project.ID).CreateChannel(s.Context(), channels.Channel{Kind: channels.Email, Name: "<b>on call</b>", Settings: map[string]string{"to": "Ops <ops@example.org>, b@example.org"}})
		s.must(err)
		link := func(address string) string {
			s.Helper()
			path, found := strings.CutPrefix(s.server.UnsubscribeURL(s.Context(), c, address), "https://rollcall.example.org")
			if !found || !strings.HasPrefix(path, "/ops/unsubscribe/") || strings.Contains(path, address) {
				s.Fatalf("address %q", path)
			}
			return path
		}
		settings := func() string {
			s.Helper()
			list, err := s.mon.Project(s.project.ID).Channels(s.Context())
			s.must(err)
			return list[0].Settings["to"] + " without " + list[0].Settings["unsubscribed"]
		}
		ops, b := link("ops@example.org"), link("b@example.org")

		// A program that follows links changes nothing.
		page := s.send("GET", ops, nil).is(200)
		s.send("HEAD", ops, nil).is(200)
		for _, part := range []string{"&lt;b&gt;on call&lt;/b&gt;", "sends alerts to ops@example.org", `<form method="post">`} {
			if !strings.Contains(page.body, part) {
				s.Errorf("%q is not in the page: %s", part, page.body)
			}
		}
		_, style, _ := strings.Cut(page.body, "<style>")
		style, _, _ = strings.Cut(style, "</style>")
		sum := sha256.Sum256([]byte(style))
		s.equal("policy", page.header.Get("Content-Security-Policy"), "default-src 'none'; style-src 'sha256-"+
			base64.StdEncoding.EncodeToString(sum[:])+"'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'")
		s.equal("settings", settings(), "Ops <ops@example.org>, b@example.org without ")

		// A mail service sends a POST without cookies, in either form of a body, and maybe again.
		for range 2 {
			answer := s.send("POST", ops, "List-Unsubscribe=One-Click", "Content-Type", "application/x-www-form-urlencoded").is(200)
			if !strings.Contains(answer.body, "ops@example.org gets no alerts") || strings.Contains(answer.body, "<form") {
				s.Error(answer.body)
			}
			s.equal("settings", settings(), "Ops <ops@example.org>, b@example.org without ops@example.org")
		}
		s.send("POST", b, "--x\r\nContent-Disposition: form-data; name=\"List-Unsubscribe\"\r\n\r\nOne-Click\r\n--x--\r\n",
			"Content-Type", "multipart/form-data; boundary=x", "Origin", "https://mail.example.net", "Sec-Fetch-Site", "cross-site").is(200)
		s.equal("settings", settings(), "Ops <ops@example.org>, b@example.org without ops@example.org, b@example.org")

		s.equal("Allow", s.send("DELETE", b, nil).is(405).header.Get("Allow"), "GET, HEAD, POST")
		if log := s.log.String(); strings.Contains(log, strings.TrimPrefix(ops, "/ops/unsubscribe/")) || !strings.Contains(log, "/unsubscribe") {
			s.Error(log)
		}
		err = s.mon.Project(s.project.ID).DeleteChannel(s.Context(), c.ID)
		s.must(err)
		s.send("GET", ops, nil).is(404)
		s.send("POST", ops, "List-Unsubscribe=One-Click").is(404)
	})
}

// TestUnsubscribeForgery checks that nobody can take another address off, or an address off another integration.
func TestUnsubscribeForgery(t *testing.T) {
	each(t, &server.Config{BaseURL: "https://rollcall.example.org"}, func(s *site) {
		mail := func(to string) channels.Channel {
			c, err := s.mon.Project(s.project.ID).CreateChannel(s.Context(), channels.Channel{Kind: channels.Email, Name: "", Settings: map[string]string{"to": to}})
			s.must(err)
			return c
		}
		c, other := mail("ops@example.org, opa@example.org"), mail("ops@example.org")
		good := strings.TrimPrefix(s.server.UnsubscribeURL(s.Context(), c, "ops@example.org"), "https://rollcall.example.org/unsubscribe/")
		raw, err := base64.RawURLEncoding.DecodeString(good)
		s.must(err)
		change := func(edit func([]byte) []byte) string {
			return base64.RawURLEncoding.EncodeToString(edit([]byte(string(raw))))
		}
		for _, token := range []string{
			"", "x", "..", good + "A", good[1:], good + "/x", strings.Repeat("A", 10_000), "%00", good[:42], good[:42] + "%0A" + good[42:],
			change(func(b []byte) []byte { b[len(b)-13] = 'a'; return b }),               // another address
			change(func(b []byte) []byte { copy(b[48:], other.ID[:]); return b }),        // another integration
			change(func(b []byte) []byte { b[0] ^= 1; return b }),                        // another signature
			change(func(b []byte) []byte { return b[:64] }),                              // no address
			change(func(b []byte) []byte { return append(make([]byte, 32), b[32:]...) }), // no signature
		} {
			for _, method := range []string{"GET", "POST"} {
				s.send(method, "/unsubscribe/"+token, nil).is(404)
			}
		}
		list, err := s.mon.Project(s.project.ID).Channels(s.Context())
		s.must(err)
		for _, c := range list {
			s.equal("unsubscribed", c.Settings["unsubscribed"], "")
		}
		s.send("POST", "/unsubscribe/"+good, nil).is(200)
	})
}

// TestUnsubscribeNeedsHTTPS checks that messages of a server without https have no such address.
func TestUnsubscribeNeedsHTTPS(t *testing.T) {
	each(t, nil, func(s *site) {
		s.equal("address", s.server.UnsubscribeURL(s.Context(), channels.Channel{}, "ops@example.org"), "")
	})
}

// TestUnsubscribeLongest checks that the token of the longest address is accepted, and fits a line of a header (RFC 5322,
// section 2.1.1).
func TestUnsubscribeLongest(t *testing.T) {
	each(t, &server.Config{BaseURL: "https://rollcall.example.org"}, func(s *site) {
		long := strings.Repeat("a", 64) + "@" + strings.Repeat("b23456789.", 17) + "b2345678.example.org" // 255 characters
		c, err := s.mon.Project(s.project.ID).CreateChannel(s.Context(), channels.Channel{Kind: channels.Email, Name: "", Settings: map[string]string{"to": long}})
		s.must(err)
		link := s.server.UnsubscribeURL(s.Context(), c, long)
		if len(link) > 900 {
			s.Errorf("%d characters", len(link))
		}
		s.send("POST", strings.TrimPrefix(link, "https://rollcall.example.org"), nil).is(200)
	})
}
