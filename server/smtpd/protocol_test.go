package smtpd_test

import (
	"crypto/tls"
	"net"
	"net/textproto"
	"slices"
	"strings"
	"testing"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/server/smtpd"
)

func TestExtensions(t *testing.T) {
	cert, _ := certificate(t)
	s := one(t, smtpd.Config{TLS: serverTLS(cert), MaxRecipients: 7})
	got := strings.Split(s.dial().command(250, "EHLO client.example.org"), "\n")
	for _, want := range []string{"PIPELINING", "8BITMIME", "SMTPUTF8", "CHUNKING", "STARTTLS", "ENHANCEDSTATUSCODES", "LIMITS RCPTMAX=7"} {
		if !slices.Contains(got, want) {
			t.Errorf("%s is not offered: %q", want, got)
		}
	}
	plain := one(t, smtpd.Config{})
	d := plain.dial()
	if text := d.command(250, "EHLO client.example.org"); strings.Contains(text, "STARTTLS") || strings.Contains(text, "AUTH") {
		t.Errorf("without a certificate: %q", text)
	}
	d.command(502, "STARTTLS")
	d.command(250, "HELO client.example.org")
}

func TestCommandOrder(t *testing.T) {
	s := one(t, smtpd.Config{})
	c := s.create(checks.Spec{})
	d := s.dial()
	d.command(502, "MAIL FROM:<a@b.example>")
	d.command(250, "EHLO client.example.org")
	d.command(502, "RCPT TO:<%s>", address(c))
	d.command(502, "DATA")
	d.command(250, "MAIL FROM:<a@b.example>")
	d.command(502, "DATA")
	d.command(503, "MAIL FROM:<a@b.example>")
	d.command(550, "RCPT TO:<nobody@%s>", domain)
	d.command(502, "DATA")
	d.command(250, "RSET")
	d.command(250, "MAIL FROM:<a@b.example>")
	d.command(250, "RCPT TO:<%s>", address(c))
	d.command(250, "EHLO again.example.org") // like RSET
	d.command(502, "DATA")
	d.command(250, "NOOP")
	d.command(252, "VRFY root")
	d.command(500, "BLAH BLAH")
	d.command(221, "QUIT")
	d.ended()
	s.equal("bodies", s.bodies(c), []string(nil))
}

// TestLineBreaks checks where a message ends, and that the server stores it unchanged. A server that accepts line breaks
// other than CR LF can be tricked into reading part of a message as commands.
func TestLineBreaks(t *testing.T) {
	for name, test := range map[string]struct{ sent, stored string }{
		"empty":                 {".\r\n", ""},
		"a line":                {"a\r\n.\r\n", "a\r\n"},
		"bare LF":               {"a\nb\n\r\n.\r\n", "a\nb\n\r\n"},
		"bare CR":               {"a\rb\r\n.\r\n", "a\rb\r\n"},
		"LF . LF":               {"a\n.\nRSET\r\n.\r\n", "a\n.\nRSET\r\n"},
		"LF . CR LF":            {"a\n.\r\nRSET\r\n.\r\n", "a\n.\r\nRSET\r\n"},
		"CR . CR":               {"a\r.\rb\r\n.\r\n", "a\r.\rb\r\n"},
		"CR LF . LF":            {"a\r\n.\nb\r\n.\r\n", "a\r\n\nb\r\n"},
		"CR LF . CR":            {"a\r\n.b\r.\r\n.\r\n", "a\r\nb\r.\r\n"},
		"CR CR LF":              {"a\r\r\nb\r\r\n.\r\n", "a\r\r\nb\r\r\n"},
		"CR CR LF, then dots":   {"a\r\r\n..\r\r\n.\r\n", "a\r\r\n..\r\r\n"},
		"CR CR LF . CR CR LF":   {"a\r\r\n.\r\r\nb\r\n.\r\n", "a\r\r\n.\r\r\nb\r\n"},
		"NUL":                   {"a\x00\r\n.\r\n", "a\x00\r\n"},
		"CR LF NUL . CR LF":     {"a\r\n\x00.\r\n.\r\n", "a\r\n\x00.\r\n"},
		"dots":                  {"..\r\n...a\r\na.\r\n.\r\n", ".\r\n..a\r\na.\r\n"},
		"a dot is not required": {".a\r\n.\r\n", "a\r\n"},
		"a very long line":      {strings.Repeat("x", 500_000) + "\r\n.\r\n", strings.Repeat("x", 500_000) + "\r\n"},
	} {
		t.Run(name, func(t *testing.T) {
			s := one(t, smtpd.Config{})
			c := s.create(checks.Spec{})
			d := s.dial()
			d.begin(address(c))
			d.send(test.sent)
			d.expect(250)
			d.command(221, "QUIT")
			d.ended()
			s.equal("bodies", s.bodies(c), []string{test.stored})
		})
	}
}

// TestEndAfterDoubledCR sends a message with CR CR LF in pieces of every size, followed by commands.
func TestEndAfterDoubledCR(t *testing.T) {
	s := one(t, smtpd.Config{})
	c := s.create(checks.Spec{})
	transaction := "MAIL FROM:<a@b.example>\r\nRCPT TO:<" + address(c) + ">\r\nDATA\r\n"
	const message = "Subject: x\r\r\n\r\r\nend\r\r\n"
	var want []string
	for size := 1; size < 30; size++ {
		d := s.dial()
		d.command(250, "EHLO client.example.org")
		d.send(transaction)
		for _, code := range []int{250, 250, 354} {
			d.expect(code)
		}
		for rest := message + ".\r\n" + transaction; rest != ""; {
			n := min(size, len(rest))
			d.send(rest[:n])
			rest = rest[n:]
		}
		for _, code := range []int{250, 250, 250, 354} {
			d.expect(code)
		}
		d.send("plain\r\n.\r\nQUIT\r\n")
		d.expect(250)
		d.expect(221)
		d.ended()
		want = append(want, message, "plain\r\n")
	}
	s.equal("bodies", s.bodies(c), want)
}

func TestPipelining(t *testing.T) {
	each(t, smtpd.Config{}, func(s *site) {
		c := s.create(checks.Spec{})
		d := s.dial()
		transaction := "MAIL FROM:<a@b.example>\r\nRCPT TO:<" + address(c) + ">\r\nRCPT TO:<x@y.example>\r\n"
		d.send("EHLO client.example.org\r\n" + transaction + "DATA\r\none\r\n.\r\n" +
			transaction + "BDAT 3\r\ntwoBDAT 5 LAST\r\n\r\n.\r\n" + "NOOP\r\nQUIT\r\n")
		for _, code := range []int{250, 250, 250, 550, 354, 250, 250, 250, 550, 250, 250, 250, 221} {
			d.expect(code)
		}
		d.ended()
		s.equal("bodies", s.bodies(c), []string{"one\r\n", "two\r\n.\r\n"})
	})
}

// TestChunks sends messages with BDAT.
func TestChunks(t *testing.T) {
	s := one(t, smtpd.Config{MaxMessageBytes: 10, MaxReceivedBytes: 10})
	c := s.create(checks.Spec{})
	d := s.dial()
	d.command(250, "EHLO client.example.org")
	d.chunk(502, "BDAT 3 LAST", "abc")
	d.envelope(address(c))
	d.command(250, "BDAT 0")
	d.chunk(250, "BDAT 5", ".\r\n\x00\n")
	d.command(250, "BDAT 0 LAST")
	d.envelope(address(c))
	d.chunk(250, "BDAT 10 LAST", "0123456789")
	d.envelope(address(c))
	d.chunk(552, "BDAT 11 LAST", "01234567890")
	d.envelope(address(c))
	d.command(501, "BDAT -1 LAST")
	d.command(501, "BDAT x")
	d.command(250, "BDAT 0 LAST")
	d.command(221, "QUIT")
	s.equal("bodies", s.bodies(c), []string{".\r\n\x00\n", "0123456789", ""})
}

// TestGivingUp aborts a message between two chunks. The client must then open a new connection.
func TestGivingUp(t *testing.T) {
	for name, sent := range map[string]struct {
		code int
		line string
		data string
	}{
		"by itself":       {250, "RSET", ""},
		"with a greeting": {250, "EHLO client.example.org", ""},
		"as too large":    {552, "BDAT 6 LAST", "678901"},
	} {
		t.Run(name, func(t *testing.T) {
			s := one(t, smtpd.Config{MaxMessageBytes: 10, MaxReceivedBytes: 10})
			c := s.create(checks.Spec{})
			d := s.dial()
			d.command(250, "EHLO client.example.org")
			d.envelope(address(c))
			d.chunk(250, "BDAT 6", "012345")
			d.send(sent.line + "\r\n" + sent.data + "MAIL FROM:<a@b.example>\r\n")
			d.expect(sent.code)
			d.expect(421)
			d.expect(421)
			d.ended()
			s.equal("bodies", s.bodies(c), []string(nil))
		})
	}
}

// TestBreakingOff checks that an incomplete message is not a ping.
func TestBreakingOff(t *testing.T) {
	for name, start := range map[string]string{
		"data":           "DATA\r\nSubject: OK\r\n\r\nfirst half\r\n",
		"chunk":          "BDAT 100\r\nSubject: OK\r\n",
		"last chunk":     "BDAT 100 LAST\r\nSubject: OK\r\n",
		"between chunks": "BDAT 5\r\nab\r\nc",
		"before data":    "",
	} {
		t.Run(name, func(t *testing.T) {
			s := one(t, smtpd.Config{})
			c := s.create(checks.Spec{})
			d := s.dial()
			d.command(250, "EHLO client.example.org")
			d.envelope(address(c))
			d.send(start)
			d.conn.(*net.TCPConn).CloseWrite()
			for {
				line, err := d.text.ReadLine()
				if err != nil {
					break
				}
				if strings.HasPrefix(line, "250") && !strings.Contains(line, "Continue") {
					t.Errorf("acknowledged: %s", line)
				}
			}
			if err := s.server.Shutdown(t.Context()); err != nil { // nothing is being received after this
				t.Error(err)
			}
			s.equal("bodies", s.bodies(c), []string(nil))
		})
	}
}

func TestStartTLS(t *testing.T) {
	cert, pool := certificate(t)
	each(t, smtpd.Config{TLS: serverTLS(cert)}, func(s *site) {
		c := s.create(checks.Spec{})
		d := s.dial()
		d.command(250, "EHLO client.example.org")
		d.envelope(address(c))
		// The session before TLS does not count, nor do unencrypted commands sent along with STARTTLS.
		d.send("STARTTLS\r\nRSET\r\nNOOP\r\n")
		d.expect(220)
		secure := tls.Client(d.conn, &tls.Config{RootCAs: pool, ServerName: "localhost"})
		if err := secure.Handshake(); err == nil {
			d = &dialogue{s, secure, textproto.NewConn(secure)}
			d.command(502, "MAIL FROM:<a@b.example>")
		} // otherwise the server read those commands as part of the handshake, which is just as safe

		d = s.dial()
		d.command(250, "EHLO client.example.org")
		d.command(220, "STARTTLS")
		secure = tls.Client(d.conn, &tls.Config{RootCAs: pool, ServerName: "localhost"})
		d = &dialogue{s, secure, textproto.NewConn(secure)}
		d.command(502, "MAIL FROM:<a@b.example>")
		if text := d.command(250, "EHLO client.example.org"); strings.Contains(text, "STARTTLS") {
			s.Errorf("offered again: %q", text)
		}
		d.command(502, "STARTTLS")
		d.envelope(address(c))
		d.command(354, "DATA")
		d.send("secret\r\n.\r\n")
		d.expect(250)
		d.envelope(address(c))
		d.chunk(250, "BDAT 7 LAST", "second\n")
		d.command(221, "QUIT")
		s.equal("bodies", s.bodies(c), []string{"secret\r\n", "second\n"})
		s.equal("address", s.pings(c)[0].RemoteAddr, "127.0.0.1")
	})
}

// TestOtherProtocols checks that the server soon disconnects clients that speak another protocol.
func TestOtherProtocols(t *testing.T) {
	s := one(t, smtpd.Config{})
	for _, sent := range []string{
		"GET / HTTP/1.1\r\nHost: x\r\nAccept: */*\r\nUser-Agent: y\r\nX: z\r\n\r\n",
		"\x16\x03\x01\x02\x00\x01\x00\r\n\x00\r\n\x00\r\n\x00\r\n\x00\r\n\x00\r\n",
		strings.Repeat("x", 2_000_000),
	} {
		d := s.dial()
		go d.conn.Write([]byte(sent))
		for {
			if _, err := d.text.ReadLine(); err != nil {
				if ne, ok := err.(net.Error); ok && ne.Timeout() {
					t.Errorf("%.20q: the connection was not closed", sent)
				}
				break
			}
		}
	}
}
