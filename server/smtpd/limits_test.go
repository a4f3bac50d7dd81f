package smtpd_test

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net/smtp"
	"net/textproto"
	"strings"
	"testing"
	"time"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/pings"
	"github.com/rollcall-dev/rollcall/server/smtpd"
)

func TestMessageSize(t *testing.T) {
	const limit = 1_000_000
	each(t, smtpd.Config{MaxReceivedBytes: limit}, func(s *site) {
		c := s.create(checks.Spec{})
		line := strings.Repeat("x", 98) + "\r\n"
		fits := strings.Repeat(line, limit/len(line))
		d := s.dial()
		d.begin(address(c))
		d.send(fits + ".\r\n")
		d.expect(250)
		for _, tooLong := range []string{"\r\n" + fits, fits + fits} {
			refused := s.dial()
			refused.begin(address(c))
			refused.send(tooLong + ".\r\n")
			refused.expect(552)
			refused.ended()
		}
		d.command(250, "MAIL FROM:<a@b.example> SIZE=%d", limit)
		d.command(250, "RSET")
		d.command(552, "MAIL FROM:<a@b.example> SIZE=%d", limit+1)
		d.command(552, "MAIL FROM:<a@b.example> SIZE=4000000000")
		d.envelope(address(c))
		d.chunk(250, fmt.Sprintf("BDAT %d LAST", limit), fits)
		d.envelope(address(c))
		d.chunk(552, fmt.Sprintf("BDAT %d LAST", limit+1), fits+"x")
		d.ended()
		log := s.bodies(c)
		if len(log) != 2 || log[0] != fits || log[1] != fits {
			s.Errorf("%d messages", len(log))
		}
	})
}

// TestLongMessage: a message that is longer than what is kept is a ping all the same, without its middle. Its subject and
// its text are searched for keywords.
func TestLongMessage(t *testing.T) {
	each(t, smtpd.Config{}, func(s *site) {
		const kept = 1_000_000
		c := s.create(checks.Spec{FilterSubject: new(true), FilterBody: new(true), FailureKW: new("FAILED"), SuccessKW: new("the end")})
		message := "Subject: report\r\n\r\nfirst\r\n" + strings.Repeat(strings.Repeat("x", 78)+"\r\n", 100_000) + "the end\r\n"
		failed := strings.Replace(message, "report", "FAILED", 1)
		client, err := smtp.Dial(s.addr)
		if err != nil {
			s.Fatal(err)
		}
		defer client.Close()
		for _, m := range []string{message, failed} {
			if err := sendOne(client, address(c), m); err != nil {
				s.Fatal(err)
			}
		}
		d := s.dial()
		d.command(250, "EHLO client.example.org")
		d.envelope(address(c))
		d.chunk(250, fmt.Sprintf("BDAT %d LAST", len(message)), message)
		log := s.pings(c)
		if len(log) != 3 {
			s.Fatalf("%d pings", len(log))
		}
		for i, want := range []pings.Kind{pings.Success, pings.Failure, pings.Success} {
			p, m := log[i], message
			if want == pings.Failure {
				m = failed
			}
			if body := m[:kept/2] + m[len(m)-kept/2:]; p.Kind != want || string(p.Body) != body {
				s.Errorf("message %d: %s with %d bytes, want %s with the ends of %d", i, p.Kind, len(p.Body), want, len(m))
			}
			if got, err := s.mon.Project(c.ProjectID).PingWithBody(s.Context(), c.ID, p.N); err != nil || got.BodyCut != int64(len(m)-kept) {
				s.Errorf("message %d: %d bytes are cut, error %v", i, got.BodyCut, err)
			}
		}
	})
}

// TestDroppedMessage: of a message that is refused, or has no recipient, the server reads a bounded part, and ends the connection.
func TestDroppedMessage(t *testing.T) {
	s := one(t, smtpd.Config{MaxReceivedBytes: 1_000_000})
	c := s.create(checks.Spec{})
	lines := []byte(strings.Repeat(strings.Repeat("x", 78)+"\r\n", 10_000))
	const much = 300_000_000
	for name, begin := range map[string]struct {
		lines []string
		code  int
	}{
		"a message":             {[]string{"MAIL FROM:<a@b.example>", "RCPT TO:<" + address(c) + ">", "DATA"}, 552},
		"a chunk":               {[]string{"MAIL FROM:<a@b.example>", "RCPT TO:<" + address(c) + ">", fmt.Sprintf("BDAT %d LAST", much)}, 552},
		"a huge chunk":          {[]string{"MAIL FROM:<a@b.example>", "RCPT TO:<" + address(c) + ">", "BDAT 99999999999999999999 LAST"}, 552},
		"a chunk for nobody":    {[]string{"MAIL FROM:<a@b.example>", fmt.Sprintf("BDAT %d LAST", much)}, 503},
		"a message for nobody":  {[]string{"MAIL FROM:<a@b.example>", "DATA"}, 500},
		"lines like commands":   {[]string{"MAIL FROM:<a@b.example>", "RCPT TO:<" + address(c) + ">", "DATA", strings.Repeat("STARTTLS\r\nNOOP\r\n", 200_000)}, 552},
		"chunks for nobody":     {[]string{strings.Repeat("BDAT 60000\r\n"+strings.Repeat("x", 60_000), 1000)}, 421},
		"a message in one line": {[]string{"MAIL FROM:<a@b.example>", "RCPT TO:<" + address(c) + ">", "DATA", strings.Repeat("x", 20_000_000)}, 552},
	} {
		t.Run(name, func(t *testing.T) {
			d := s.dial()
			d.command(250, "EHLO client.example.org")
			sent := make(chan int, 1)
			go func() {
				total := 0
				for _, line := range begin.lines {
					n, _ := d.conn.Write([]byte(line + "\r\n"))
					total += n
				}
				for total < much {
					n, err := d.conn.Write(lines)
					if total += n; err != nil {
						break
					}
				}
				sent <- total
			}()
			answered := false
			for {
				code, _, err := d.text.ReadResponse(0)
				if answered = answered || code == begin.code; err != nil && code == 0 {
					break
				}
			}
			d.conn.Close()
			if total := <-sent; total > 100_000_000 {
				t.Errorf("the server took %d bytes", total)
			}
			if !answered {
				t.Errorf("no answer %d", begin.code)
			}
		})
	}
	s.equal("bodies", s.bodies(c), []string(nil))
}

// TestIdleCommands: a client that sends commands and no message is sent away after a hundred. One that sends messages is not.
func TestIdleCommands(t *testing.T) {
	s := one(t, smtpd.Config{})
	c := s.create(checks.Spec{})
	for _, command := range []string{"NOOP", "RSET", "VRFY x", "HELP", "EHLO x", "HELO x", "MAIL FROM:<a@b.example>", "AUTH PLAIN", "BDAT 0", "EXPN x", "NOOP " + strings.Repeat("x", 5000)} {
		t.Run(strings.Fields(command)[0], func(t *testing.T) {
			d := s.dial()
			d.command(250, "EHLO client.example.org")
			for n := 1; ; n++ {
				d.send(command + "\r\n")
				code, text, err := d.text.ReadResponse(0)
				if code == 421 && strings.Contains(text, "without a message") && n <= 101 {
					break
				}
				if code == 0 && n > 3 && n < 10 {
					break // the library has had enough of errors
				}
				if n > 101 || code == 0 {
					t.Fatalf("command %d: %d %s, %v", n, code, text, err)
				}
			}
			d.ended()
		})
	}
	d := s.dial()
	d.command(250, "EHLO client.example.org")
	for range 5 {
		for range 50 {
			d.command(250, "NOOP")
		}
		d.envelope(address(c))
		d.command(354, "DATA")
		d.send(".\r\n")
		d.expect(250)
	}
	d.command(250, "MAIL FROM:<a@b.example>")
	for n := 1; ; n++ {
		d.send("RCPT TO:<" + address(c) + ">\r\n")
		if code, _, _ := d.text.ReadResponse(0); code == 421 {
			break
		}
		if n > 1000 {
			t.Fatal("more than 1000 recipients")
		}
	}
	d.ended()
	s.equal("pings", len(s.pings(c)), 5)
}

// TestLongLine sends messages with one overlong line (RFC 5321, section 4.5.3.1.10). The client can read the reply while
// it is still sending.
func TestLongLine(t *testing.T) {
	cert, pool := certificate(t)
	s := one(t, smtpd.Config{TLS: serverTLS(cert), MaxReceivedBytes: 1_000_000})
	c := s.create(checks.Spec{})
	for _, size := range []int{1_000_001, 1_001_000, 1_100_000, 20_000_000} {
		for _, secure := range []bool{false, true} {
			t.Run(fmt.Sprintf("%d bytes, TLS %t", size, secure), func(t *testing.T) {
				client, err := smtp.Dial(s.addr)
				if err != nil {
					t.Fatal(err)
				}
				defer client.Close()
				if secure {
					if err := client.StartTLS(&tls.Config{RootCAs: pool, ServerName: "localhost"}); err != nil {
						t.Fatal(err)
					}
				}
				err = sendOne(client, address(c), strings.Repeat("x", size))
				if refusal, ok := errors.AsType[*textproto.Error](err); !ok || refusal.Code != 552 {
					t.Errorf("error %v, want 552", err)
				}
			})
		}
	}
	s.equal("bodies", s.bodies(c), []string(nil))

	d := one(t, smtpd.Config{MaxMessageBytes: 10, MaxReceivedBytes: 10}).dial()
	d.command(500, "NOOP %s", strings.Repeat("x", 2000))
	d.ended()
}

func TestMaxRecipients(t *testing.T) {
	s := one(t, smtpd.Config{MaxRecipients: 2})
	var list []checks.Check
	for range 3 {
		list = append(list, s.create(checks.Spec{}))
	}
	d := s.dial()
	d.command(250, "EHLO client.example.org")
	d.envelope(address(list[0]), address(list[1]))
	d.command(452, "RCPT TO:<%s>", address(list[2]))
	d.command(354, "DATA")
	d.send(".\r\n")
	d.expect(250)
	for i, c := range list {
		s.equal(fmt.Sprint("pings of check ", i), len(s.pings(c)), min(2-i, 1))
	}
}

// TestGuessing checks that the server disconnects a client that guesses addresses.
func TestGuessing(t *testing.T) {
	s := one(t, smtpd.Config{})
	d := s.dial()
	d.command(250, "EHLO client.example.org")
	d.command(250, "MAIL FROM:<a@b.example>")
	for i := range 100 {
		d.command(550, "RCPT TO:<%08d-0000-4000-8000-000000000000@%s>", i, domain)
	}
	d.command(421, "RCPT TO:<00000100-0000-4000-8000-000000000000@%s>", domain)
	d.expect(421)
	d.ended()
}

func TestMaxConnections(t *testing.T) {
	for name, config := range map[string]smtpd.Config{
		"all":         {MaxConnections: 2},
		"of a client": {MaxPerClient: 2},
	} {
		t.Run(name, func(t *testing.T) {
			s := one(t, config)
			first, second := s.dial(), s.dial()
			third := s.dialRaw()
			third.expect(421)
			third.ended()
			second.command(250, "NOOP")
			first.command(221, "QUIT")
			first.ended()
			for deadline := time.Now().Add(patience); ; { // the server may not have noticed yet
				d := s.dialRaw()
				if code, _, _ := d.text.ReadResponse(0); code == 220 {
					break
				} else if code != 421 || time.Now().After(deadline) {
					t.Fatalf("answer %d", code)
				}
			}
		})
	}
}

func TestTimeouts(t *testing.T) {
	for name, config := range map[string]smtpd.Config{
		"of a command":   {ReadTimeout: time.Second / 2},
		"of the session": {SessionTimeout: time.Second / 2},
	} {
		t.Run(name, func(t *testing.T) {
			s := one(t, config)
			c := s.create(checks.Spec{})
			idle := s.dial()
			idle.expect(421)
			idle.ended()

			slow := s.dial()
			slow.send("EHLO x\r\nMAIL FROM:<a@b.example>\r\nRCPT TO:<" + address(c) + ">\r\nDATA\r\nhalf a message\r\n")
			for {
				line, err := slow.text.ReadLine()
				if err != nil {
					break // if patience was the reason, expect would have failed above
				}
				if strings.HasPrefix(line, "250 2.0.0 OK") {
					t.Errorf("acknowledged: %s", line)
				}
			}
			slow.ended()
			s.equal("bodies", s.bodies(c), []string(nil))
		})
	}
}
