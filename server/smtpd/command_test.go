package smtpd_test

import (
	"crypto/tls"
	"net/textproto"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/server/smtpd"
)

// TestDevices sends what devices send: nothing that a ping does not need may keep it from being one.
func TestDevices(t *testing.T) {
	cert, pool := certificate(t)
	each(t, smtpd.Config{TLS: serverTLS(cert)}, func(s *site) {
		for _, secure := range []bool{false, true} {
			for _, test := range []struct{ greeting, mail, rcpt, ua string }{
				{"EHLO nas", "MAIL FROM:<a@b.example>", "RCPT TO:<ID>", "a@b.example"},
				{"HELO", "MAIL FROM:<root>", "RCPT TO:<ID>", "root"},
				{"EHLO", "MAIL FROM:<>", "RCPT TO:<ID>", "<>"},
				{"HELO ", "MAIL FROM: <root@nas>", "RCPT TO: <ID>", "root@nas"},
				{"ehlo my nas", "mail from:root@nas", "rcpt to:ID", "root@nas"},
				{"EHLO _nas_.local", "MAIL FROM:<my nas@home.example>", "RCPT TO:<ID>", "my nas@home.example"},
				{"HELO [192.0.2.1]", "MAIL FROM:My NAS <nas@home.example>", "RCPT TO:My check <ID>", "nas@home.example"},
				{"HELO x", "MAIL FROM:< root@nas >", "RCPT TO:< ID >", "root@nas"},
				{"HELO x", "MAIL FROM:root", "RCPT TO:<ID> NOTIFY=NEVER ORCPT=rfc822;x", "root"},
				{"HELO x", "MAIL  FROM :<root@>", "RCPT  TO :<ID>", "root@"},
				{"HELO x", "MAIL FROM:", "RCPT TO:<ID>", "<>"},
				{"HELO\tx", "MAIL FROM:<root>", "RCPT TO:<ID>", "root"},
				{"HELO x", "MAIL FROM:<a@b@c>", "RCPT TO:<ID>", "a@b@c"},
				{"HELO x", "MAIL FROM:<(none)>", "RCPT TO:<ID>", "(none)"},
				{"EHLO x", `MAIL FROM:<"a b"@c.example>`, "RCPT TO:<ID>", "a b@c.example"},
				{"EHLO x", `MAIL FROM:<"a>b"@c.example> BODY=8BITMIME`, "RCPT TO:<ID>", "a>b@c.example"},
				{"EHLO x", `MAIL FROM:<"root>`, "RCPT TO:<ID>", `"root>`},
				{"EHLO x", "MAIL FROM:<a@b.example> BODY=BINARYMIME SIZE=x AUTH=<> RET=HDRS ENVID=1 SMTPUTF8 FOO BAR=a=b", "RCPT TO:<ID>", "a@b.example"},
				{"EHLO x", "MAIL FROM:<a@b.example>SIZE=10 AUTH=root BODY=", "RCPT TO:<ID>X=Y", "a@b.example"},
				{"EHLO x", "MAIL FROM:a@b.example SIZE=10 BODY=8BITMIME SMTPUTF8", "RCPT TO:ID NOTIFY=NEVER", "a@b.example"},
				{"EHLO x", "MAIL FROM:<\xe4@b.example>", "RCPT TO:<ID>", "\ufffd@b.example"},
			} {
				c := s.create(checks.Spec{})
				d := s.dial()
				if secure {
					d.command(250, "EHLO x")
					d.command(220, "STARTTLS")
					over := tls.Client(d.conn, &tls.Config{RootCAs: pool, ServerName: "localhost"})
					d = &dialogue{s, over, textproto.NewConn(over)}
				}
				d.command(250, "%s", test.greeting)
				d.command(250, "%s", test.mail)
				d.command(250, "%s", strings.ReplaceAll(test.rcpt, "ID", address(c)))
				d.command(354, "DATA now")
				d.send("Subject: x\r\n\r\nMAIL FROM:<root>\r\n.\r\n")
				d.expect(250)
				d.command(221, " quit")
				d.ended()
				log := s.pings(c)
				if len(log) != 1 || log[0].UserAgent != "Email from "+test.ua || string(log[0].Body) != "Subject: x\r\n\r\nMAIL FROM:<root>\r\n" {
					s.Errorf("TLS %v, %q: %+v", secure, test.mail, log)
				}
			}
		}
	})
}

// TestDeviceChunks leaves chunks alone, whatever they look like.
func TestDeviceChunks(t *testing.T) {
	s := one(t, smtpd.Config{})
	c := s.create(checks.Spec{})
	const first, second = "HELO\r\nMAIL FROM:<root>", "\r\nBDAT 5\r\nHELO\r\n"
	d := s.dial()
	d.send("HELO\r\nMAIL FROM:<root>\r\nRCPT TO:<" + address(c) + ">\r\nBDAT 22\r\n" + first + "bdat  16 last\r\n" + second + "QUIT\r\n")
	for _, code := range []int{250, 250, 250, 250, 250, 221} {
		d.expect(code)
	}
	s.equal("bodies", s.bodies(c), []string{first + second})
}

// refusals counts refused mail by the code of the reply.
type refusals struct{ noCheck, tooLarge atomic.Int64 }

func (r *refusals) count(code int) {
	if code == 550 {
		r.noCheck.Add(1)
	} else {
		r.tooLarge.Add(1)
	}
}

// TestRefusedMail: refused mail leaves a line in the log, and is counted.
func TestRefusedMail(t *testing.T) {
	for name, test := range map[string]struct {
		commands, want    []string
		reply             int
		noCheck, tooLarge int64
	}{
		"no check":  {[]string{"MAIL FROM:<a@b.example>", "RCPT TO:<nobody@" + domain + ">"}, []string{"code=550", "recipient=nobody@" + domain, "remote_addr=127.0.0.1"}, 550, 1, 0},
		"relay":     {[]string{"MAIL FROM:<a@b.example>", "RCPT TO:<a@elsewhere.example>"}, []string{"code=550", "recipient=a@elsewhere.example"}, 550, 1, 0},
		"no slug":   {[]string{"MAIL FROM:<a@b.example>", "RCPT TO:<ABcdefghijklmnopqrstuv+x@" + domain + ">"}, []string{"code=550", "recipient=(key)+x@" + domain}, 550, 1, 0},
		"no plus":   {[]string{"MAIL FROM:<a@b.example>", "RCPT TO:<abcdefghijklmnopqrstuv@" + domain + ">"}, []string{"code=550", "recipient=(key)@" + domain}, 550, 1, 0},
		"announced": {[]string{"MAIL FROM:<a@b.example> SIZE=1001"}, []string{"code=552", "size=1001"}, 552, 0, 1},
		"sent":      {[]string{"MAIL FROM:<a@b.example>", "RCPT TO:<ID>", "DATA", strings.Repeat("x", 1001) + "\r\n."}, []string{"code=552"}, 552, 0, 1},
	} {
		t.Run(name, func(t *testing.T) {
			var counted refusals
			s := one(t, smtpd.Config{MaxMessageBytes: 1000, MaxReceivedBytes: 1000, Refused: counted.count})
			c := s.create(checks.Spec{})
			d := s.dial()
			d.command(250, "EHLO x")
			for i, command := range test.commands {
				code := 250
				switch {
				case i == len(test.commands)-1:
					code = test.reply
				case command == "DATA":
					code = 354
				}
				d.command(code, "%s", strings.ReplaceAll(command, "ID", address(c)))
			}
			for _, want := range append(test.want, "mail was refused") {
				if log := s.log.String(); strings.Count(log, want) != 1 {
					t.Errorf("%s is not once in the log: %s", want, log)
				}
			}
			if counted.noCheck.Load() != test.noCheck || counted.tooLarge.Load() != test.tooLarge {
				t.Errorf("counted %d, %d", counted.noCheck.Load(), counted.tooLarge.Load())
			}
		})
	}
}

// TestUnknownCharset: an unknown character set is in the log once.
func TestUnknownCharset(t *testing.T) {
	s := one(t, smtpd.Config{})
	c := s.create(checks.Spec{FilterBody: new(true), FailureKW: new("Störung")})
	d := s.dial()
	d.command(250, "EHLO x")
	for range 3 {
		d.envelope(address(c))
		d.command(354, "DATA")
		d.send("Subject: x\r\nContent-Type: text/plain; charset=x-nobody-knows\r\n\r\nSt\xf6rung\r\n.\r\n")
		d.expect(250)
	}
	if log := s.log.String(); strings.Count(log, "x-nobody-knows") != 1 {
		t.Errorf("the log: %s", log)
	}
	for _, p := range s.pings(c) {
		s.equal("kind", string(p.Kind), "fail")
	}
}
