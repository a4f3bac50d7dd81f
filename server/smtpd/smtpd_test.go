package smtpd_test

import (
	"cmp"
	"fmt"
	"net"
	"net/smtp"
	"strings"
	"sync"
	"testing"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/dbtest"
	"github.com/rollcall-dev/rollcall/pings"
	"github.com/rollcall-dev/rollcall/server/smtpd"
)

func TestNew(t *testing.T) {
	mon, err := monitor.New(dbtest.SQLite(t).Open(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		mon    *monitor.Monitor
		config *smtpd.Config
		ok     bool
	}{
		"no monitor":           {nil, &smtpd.Config{Domain: domain}, false},
		"no domain":            {mon, nil, false},
		"a space":              {mon, &smtpd.Config{Domain: "a b"}, false},
		"an address":           {mon, &smtpd.Config{Domain: "a@b"}, false},
		"a negative limit":     {mon, &smtpd.Config{Domain: domain, MaxRecipients: -1}, false},
		"a limit too large":    {mon, &smtpd.Config{Domain: domain, MaxMessageBytes: 1 << 40}, false},
		"defaults":             {mon, &smtpd.Config{Domain: domain}, true},
		"international domain": {mon, &smtpd.Config{Domain: "bücher.example"}, true},
		"an address literal":   {mon, &smtpd.Config{Domain: "[192.0.2.1]"}, true},
	} {
		if _, err := smtpd.New(test.mon, test.config); (err == nil) != test.ok {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

// TestMailAboutMail: what mail programs write in answer to a message of the job is logged and ignored, whatever the keywords of the
// check. What devices send without a sender, and what cron marks as generated, are pings.
func TestMailAboutMail(t *testing.T) {
	each(t, smtpd.Config{}, func(s *site) {
		const report = "Content-Type: multipart/report; report-type=delivery-status; boundary=b\n\n--b\n\ntext\n--b--\n"
		for _, test := range []struct {
			name, from, message, why string
		}{
			{"a bounce", "", report, "a delivery report"},
			{"a report of a sender", "nas@example.org", report, ""},
			{"no sender", "", "Subject: done\n\n", ""},
			{"out of office", "ann@example.org", "Auto-Submitted: auto-replied (vacation)\n\nI am away\n", "an automatic reply"},
			{"out of office with a parameter", "ann@example.org", "AUTO-SUBMITTED:\n  Auto-Replied; owner-email=a@example.org\n\n", "an automatic reply"},
			{"an old program's reply", "ann@example.org", "Precedence: auto_reply\n\n", "an automatic reply"},
			{"another", "ann@example.org", "X-Autoreply: yes\n\n", "an automatic reply"},
			{"a filter", "ann@example.org", "Auto-Submitted: auto-notified\n\n", "a notification about a message"},
			{"a read receipt", "ann@example.org", "Content-Type: multipart/report; boundary=b; report-type=\"disposition-notification\"\n\n--b--\n", "a read receipt"},
			{"cron", "root@example.org", "Auto-Submitted: auto-generated\nPrecedence: bulk\n\n", ""},
			{"no", "root@example.org", "Auto-Submitted: no\n\n", ""},
			{"in the text", "root@example.org", "Subject: x\n\nAuto-Submitted: auto-replied\n", ""},
		} {
			for _, spec := range []checks.Spec{{}, {FilterBody: new(true), FilterDefaultFail: new(true)}} {
				c := s.create(spec)
				if err := smtp.SendMail(s.addr, nil, test.from, []string{address(c)}, []byte(crlf(test.message))); err != nil {
					s.Fatal(err)
				}
				log := s.pings(c)
				if len(log) != 1 {
					s.Fatalf("%s: %d pings", test.name, len(log))
				}
				want, agent := pings.Success, "Email from "+cmp.Or(test.from, "<>")
				switch {
				case test.why != "":
					want, agent = pings.Ignored, agent+", ignored: "+test.why
				case spec.FilterBody != nil:
					want = pings.Failure
				}
				s.equal(test.name, []any{log[0].Kind, log[0].UserAgent}, []any{want, agent})
			}
		}
	})
}

// TestPing sends a message to both addresses of a check with net/smtp, and reads the log.
func TestPing(t *testing.T) {
	each(t, smtpd.Config{}, func(s *site) {
		c := s.create(checks.Spec{Slug: new("nightly-dump_1")})
		message := crlf("From: Backup <x@y.example>\nSubject: done\n\n.a line with a dot\n..two\n.\nend \x00\xff\n")
		for _, to := range []string{address(c), s.project.PingKey + "+nightly-dump_1@PING.Example.ORG"} {
			if err := smtp.SendMail(s.addr, nil, "backup@nas.example.org", []string{to}, []byte(message)); err != nil {
				s.Fatal(err)
			}
		}
		want := pings.Ping{
			N: 1, Kind: pings.Success, Scheme: "email", RemoteAddr: "127.0.0.1", UserAgent: "Email from backup@nas.example.org",
			BodySize: int64(len(message)), Body: []byte(message),
		}
		second := want
		second.N = 2
		s.equal("log", s.pings(c), []pings.Ping{want, second})
		got, err := s.mon.Check(s.Context(), c.ID)
		if err != nil || got.Status(s.mon.Now()) != checks.StatusUp {
			s.Errorf("status %s, %v", got.Status(s.mon.Now()), err)
		}
	})
}

func TestRecipients(t *testing.T) {
	each(t, smtpd.Config{}, func(s *site) {
		c := s.create(checks.Spec{Slug: new("job")})
		s.create(checks.Spec{Slug: new("twins")})
		s.create(checks.Spec{Slug: new("twins")})
		id, key := c.ID.String(), s.project.PingKey
		d := s.dial()
		d.command(250, "EHLO client.example.org")
		d.command(250, "MAIL FROM:<>")
		for _, test := range []struct {
			to   string
			code int
		}{
			{id + "@" + domain, 250},
			{id + "@PING.EXAMPLE.org", 250},
			{`"` + id + `"@` + domain, 250},
			{key + "+job@" + domain, 250},
			{"@relay.example:" + id + "@" + domain, 250}, // a source route is ignored
			{id + "@example.org", 550},
			{id + "@x." + domain, 550},
			{id + "@" + domain + ".", 550},
			{id + "@[127.0.0.1]", 550},
			{id + "@" + domain + "@" + domain, 550},
			{id + "%" + domain + "@" + domain, 550},
			{strings.ToUpper(id) + "@" + domain, 250},
			{strings.ReplaceAll(id, "-", "") + "@" + domain, 550},
			{"urn:uuid:" + id + "@" + domain, 501},
			{"{" + id + "}@" + domain, 550},
			{id + "+start@" + domain, 550},
			{"00000000-0000-0000-0000-000000000000@" + domain, 550},
			{"6f5dd2d1-8a4c-4a52-9d5f-0d9e2f1c7b3a@" + domain, 550},
			{"postmaster@" + domain, 550},
			{key + "@" + domain, 550},
			{key + "+@" + domain, 550},
			{key + "+none@" + domain, 550},
			{key + "+twins@" + domain, 550},
			{key + "+JOB@" + domain, 250},
			{key + "+job+x@" + domain, 550},
			{strings.ToUpper(key) + "+job@" + domain, 250},
			{strings.Repeat("a", 22) + "+job@" + domain, 550},
			{key + "+" + strings.Repeat("a", 101) + "@" + domain, 550},
			{key + "+j\xffb@" + domain, 550},
			{key + "+j\x00b@" + domain, 550},
			{strings.Repeat("a", 5000) + "@" + domain, 550},
			{id + "@" + strings.Repeat("ü", 400_000), 550},
		} {
			d.send("RCPT TO:<" + test.to + ">\r\n")
			if code, text, _ := d.text.ReadResponse(0); code != test.code {
				s.Errorf("%s: %d %s, want %d", test.to, code, text, test.code)
			}
		}
		d.command(354, "DATA")
		d.send("Subject: x\r\n\r\n.\r\n")
		d.expect(250)
		log := s.pings(c)
		if len(log) != 1 || log[0].UserAgent != "Email from <>" { // many addresses of one check
			s.Errorf("log %+v", log)
		}
	})
}

func TestInternationalDomain(t *testing.T) {
	s := one(t, smtpd.Config{Domain: "Bücher.example"})
	c := s.create(checks.Spec{})
	d := s.dial()
	d.command(250, "EHLO client.example.org")
	d.command(250, "MAIL FROM:<jörg@exämple.org> SMTPUTF8 BODY=8BITMIME")
	d.command(250, "RCPT TO:<%s@xn--bcher-kva.example>", c.ID)
	d.command(250, "RCPT TO:<%s@BÜCHER.example>", c.ID)
	d.command(354, "DATA")
	d.send("Subject: Störung\r\n\r\n.\r\n")
	d.expect(250)
	s.equal("user agent", s.pings(c)[0].UserAgent, "Email from jörg@exämple.org")
}

// TestKeywords lets messages decide the state of a check (server/API.md section 2.1.1). Package email tests the
// variety.
func TestKeywords(t *testing.T) {
	each(t, smtpd.Config{}, func(s *site) {
		c := s.create(checks.Spec{StartKW: new("began"), SuccessKW: new("completed"), FailureKW: new("FAILED"), FilterSubject: new(true), FilterBody: new(true)})
		for _, message := range []string{
			"Subject: backup began\n\n",
			"Subject: report\nContent-Type: text/html\n\n<b>com</b>pleted\n",
			"Subject: =?utf-8?q?FAI?= =?utf-8?q?LED?=\n\ncompleted\n",
			"Subject: nothing to say\n\n",
			"no header at all, FAILED\n",
		} {
			if err := smtp.SendMail(s.addr, nil, "a@b.example", []string{address(c)}, []byte(crlf(message))); err != nil {
				s.Fatal(err)
			}
		}
		var kinds []pings.Kind
		for _, p := range s.pings(c) {
			kinds = append(kinds, p.Kind)
		}
		s.equal("kinds", kinds, []pings.Kind{pings.Start, pings.Success, pings.Failure, pings.Ignored, pings.Failure})
		if d := s.pings(c)[1].Duration; d == nil {
			s.Error("the run that was started has no duration")
		}
	})
}

// TestOtherRulesOfMessages covers what decides beside keywords (server/API.md sections 2.1.1 and 3).
func TestOtherRulesOfMessages(t *testing.T) {
	const page = "Subject: r\nMIME-Version: 1.0\nContent-Type: multipart/alternative; boundary=x\n\n--x\n" +
		"Content-Type: text/plain; charset=utf-8\n\nsee below\n--x\n" +
		"Content-Type: text/html; charset=utf-8\nContent-Transfer-Encoding: 8bit\n\n<p>k\u013c<i>\u016b</i>da</p>\n--x--\n"
	strict := checks.Spec{FilterSubject: new(true), FilterDefaultFail: new(true), SuccessKW: new("completed")}
	paused := checks.Spec{FilterSubject: new(true), SuccessKW: new("completed"), ManualResume: new(true)}
	each(t, smtpd.Config{}, func(s *site) {
		for name, test := range map[string]struct {
			spec    checks.Spec
			pause   bool
			message string
			want    pings.Kind
		}{
			"no keyword, a failure by default": {strict, false, "Subject: report\n\ncompleted\n", pings.Failure},
			"a keyword, for all the default":   {strict, false, "Subject: completed\n\n", pings.Success},
			"keywords of HTTP bodies":          {checks.Spec{FilterHTTPBody: new(true), FilterDefaultFail: new(true), SuccessKW: new("x")}, false, "Subject: r\n\n", pings.Success},
			"methods":                          {checks.Spec{Methods: new("POST")}, false, "Subject: r\n\n", pings.Success},
			"paused until resumed":             {paused, true, "Subject: completed\n\n", pings.Ignored},
			"not only ASCII":                   {checks.Spec{FilterBody: new(true), FailureKW: new("k\u013c\u016bda")}, false, page, pings.Failure},
		} {
			c := s.create(test.spec)
			if test.pause {
				if _, err := s.mon.Project(c.ProjectID).Pause(s.Context(), c.ID); err != nil {
					s.Fatal(err)
				}
			}
			if err := smtp.SendMail(s.addr, nil, "a@b.example", []string{address(c)}, []byte(crlf(test.message))); err != nil {
				s.Fatal(err)
			}
			if log := s.pings(c); len(log) != 1 || log[0].Kind != test.want {
				s.Errorf("%s: log %+v, want one entry of kind %q", name, log, test.want)
			}
		}
	})
}

// TestSeveralRecipients pings several checks with one message, and skips one that is deleted meanwhile.
func TestSeveralRecipients(t *testing.T) {
	each(t, smtpd.Config{}, func(s *site) {
		a, b, gone := s.create(checks.Spec{}), s.create(checks.Spec{}), s.create(checks.Spec{})
		d := s.dial()
		d.begin(address(a), address(b), address(gone), address(a))
		if _, err := s.mon.Project(gone.ProjectID).Delete(s.Context(), gone.ID); err != nil {
			s.Fatal(err)
		}
		d.send("Subject: x\r\n\r\nall\r\n.\r\n")
		d.expect(250)
		s.equal("bodies of a", s.bodies(a), []string{"Subject: x\r\n\r\nall\r\n"})
		s.equal("bodies of b", s.bodies(b), []string{"Subject: x\r\n\r\nall\r\n"})

		d.envelope(address(b))
		if _, err := s.mon.Project(b.ProjectID).Delete(s.Context(), b.ID); err != nil {
			s.Fatal(err)
		}
		d.command(354, "DATA")
		d.send("x\r\n.\r\n")
		d.expect(550)
		d.command(221, "QUIT")
		d.ended()
	})
}

// TestConcurrentClients checks that each message of many concurrent clients is one ping.
func TestConcurrentClients(t *testing.T) {
	const clients, messages = 16, 10
	each(t, smtpd.Config{}, func(s *site) {
		c := s.create(checks.Spec{})
		var wg sync.WaitGroup
		for i := range clients {
			wg.Go(func() {
				client, err := smtp.Dial(s.addr)
				if err != nil {
					s.Error(err)
					return
				}
				defer client.Close()
				for n := range messages {
					if err := sendOne(client, address(c), fmt.Sprintf("Subject: %d of %d\r\n\r\n", n, i)); err != nil {
						s.Error(err)
						return
					}
				}
			})
		}
		wg.Wait()
		seen := make(map[string]bool)
		for _, body := range s.bodies(c) {
			seen[body] = true
		}
		if len(seen) != clients*messages {
			s.Errorf("%d different messages, want %d", len(seen), clients*messages)
		}
	})
}

func sendOne(client *smtp.Client, to, message string) error {
	if err := client.Mail("a@b.example"); err != nil {
		return err
	}
	if err := client.Rcpt(to); err != nil {
		return err
	}
	w, err := client.Data()
	if err != nil {
		return err
	}
	if _, err := w.Write([]byte(message)); err != nil {
		return err
	}
	return w.Close()
}

// BenchmarkMessages sends messages on many open connections at once.
func BenchmarkMessages(b *testing.B) {
	for _, db := range []dbtest.DB{dbtest.SQLite(b), dbtest.PostgreSQL(b)} {
		b.Run(db.Name, func(b *testing.B) {
			mon, err := monitor.New(db.Open(b), nil)
			if err != nil {
				b.Fatal(err)
			}
			project, err := mon.OpenProject(b.Context(), "jobs")
			if err != nil {
				b.Fatal(err)
			}
			c, err := project.Create(b.Context(), checks.Spec{FilterBody: new(true), SuccessKW: new("completed")})
			if err != nil {
				b.Fatal(err)
			}
			server, err := smtpd.New(mon, &smtpd.Config{Domain: domain})
			if err != nil {
				b.Fatal(err)
			}
			listener, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				b.Fatal(err)
			}
			go server.Serve(listener)
			defer server.Shutdown(b.Context())
			message := crlf("Subject: report\n\n" + strings.Repeat("copied a file\n", 100) + "completed\n")
			b.SetParallelism(16)
			b.RunParallel(func(pb *testing.PB) {
				client, err := smtp.Dial(listener.Addr().String())
				if err != nil {
					b.Error(err)
					return
				}
				defer client.Quit()
				for pb.Next() {
					if err := sendOne(client, address(*c.Check), message); err != nil {
						b.Error(err)
						return
					}
				}
			})
		})
	}
}
