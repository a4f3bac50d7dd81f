package email_test

import (
	"crypto/ed25519"
	"fmt"
	"io"
	"net"
	"net/mail"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/channels/email"
	pings "github.com/rollcall-dev/rollcall/pings/email"
)

// down returns an alert with every field set.
func down() channels.Notification {
	at := time.Date(2026, 3, 15, 4, 0, 0, 0, time.UTC)
	return channels.Notification{
		ID: "n1", Incident: "i1", Status: channels.Down, At: at, Reason: "exit status 3", Cause: "disk <full>",
		Check: channels.Check{
			ID: uuid.MustParse("5c1ae2b0-0d6b-4b5c-8a44-4d0a4a0f0f0f"), Name: "nightly backup", Slug: "nightly",
			Tags: []string{"db", "prod"}, Desc: "Copies /home.\nCall Žanis.", Project: "backups", Timing: "0 3 * * * (Europe/Riga), 1 hour of grace",
			NPings: 12, URL: "https://rollcall.example.org/api/v3/checks/5c1ae2b0-0d6b-4b5c-8a44-4d0a4a0f0f0f",
		},
		Ping: channels.Ping{At: at, Kind: "fail", ExitStatus: new(3), Duration: 41 * time.Second, Body: []byte("first\nlines"),
			End: []byte("\x1b[31mdisk <full>\x1b[0m\r\n\r\nCheck:        \u202ehttps://evil.example\x00\r\n")},
		Earlier: []channels.Change{
			{Status: channels.Down, At: at.Add(-2 * time.Hour), Reason: "no ping in time"},
			{Status: channels.Up, At: at.Add(-time.Hour)},
		},
	}
}

func channel(to string) channels.Channel {
	return channels.Channel{Name: "ops", Kind: channels.Email, Settings: map[string]string{"to": to}}
}

func equal(t *testing.T, what string, got, want any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestMessage(t *testing.T) {
	s := start(t, email.StartTLS)
	now := time.Date(2026, 3, 15, 4, 1, 0, 0, time.UTC)
	n := s.notifier(t, func(c *email.Config) { c.Now = func() time.Time { return now } })
	if err := n.Notify(t.Context(), channel("Ops <ops@example.org>, b@example.org"), down()); err != nil {
		t.Fatal(err)
	}
	both := s.got()
	got := both[0]
	equal(t, "envelopes", []any{got.From, got.To, both[1].From, both[1].To},
		[]any{"rollcall@example.org", []string{"ops@example.org"}, "rollcall@example.org", []string{"b@example.org"}})

	parsed, err := mail.ReadMessage(strings.NewReader(got.Data))
	if err != nil {
		t.Fatal(err)
	}
	var headers []string
	for _, name := range []string{"From", "To", "Subject", "Date", "Message-Id", "In-Reply-To", "References", "Auto-Submitted", "User-Agent"} {
		headers = append(headers, name+": "+parsed.Header.Get(name))
	}
	equal(t, "headers", headers, []string{
		`From: "Rollcall" <rollcall@example.org>`, `To: "Ops" <ops@example.org>, <b@example.org>`, "Subject: DOWN: nightly backup",
		"Date: Sun, 15 Mar 2026 04:01:00 +0000",
		"Message-Id: <rollcall.alert.676b8bb84ce7267dd520deca4811c8f1@example.org>",
		"In-Reply-To: <rollcall.incident.4cd9b7672d7fbee8fb51fb1e049f6903@example.org>",
		"References: <rollcall.incident.4cd9b7672d7fbee8fb51fb1e049f6903@example.org>",
		"Auto-Submitted: auto-generated", "User-Agent: rollcall",
	})
	body := pings.Parse([]byte(got.Data))
	equal(t, "subject", body.Subject, "DOWN: nightly backup")
	const want = `“nightly backup” is DOWN.

Reason:       exit status 3: disk <full>
Since:        Sun, 15 Mar 2026 04:00:00 UTC
Last ping:    Sun, 15 Mar 2026 04:00:00 UTC (fail, exit status 3, took 41 s)
Expected:     0 3 * * * (Europe/Riga), 1 hour of grace
Project:      backups
Tags:         db prod
Pings:        12
Check:        https://rollcall.example.org/api/v3/checks/5c1ae2b0-0d6b-4b5c-8a44-4d0a4a0f0f0f

Copies /home.
Call Žanis.

Body of the last ping:

> disk <full>
> Check:        https://evil.example

Changes not reported before:

- DOWN at Sun, 15 Mar 2026 02:00:00 UTC: no ping in time
- UP at Sun, 15 Mar 2026 03:00:00 UTC

-- 
Sent by Rollcall to the integration “ops”.`
	equal(t, "text", strings.TrimSpace(strings.ReplaceAll(body.Text, "\r\n", "\n")), want)
	for _, part := range []string{"is DOWN", "exit status 3", "Žanis", "disk <full>", "no ping in time", "/api/v3/checks/5c1ae2b0"} {
		if !strings.Contains(body.HTML, part) {
			t.Errorf("%q is not in the HTML part:\n%s", part, body.HTML)
		}
	}
}

// TestOutput has bodies that are cut, and one that is no text.
func TestOutput(t *testing.T) {
	s := start(t, email.StartTLS)
	for end, want := range map[string]string{
		strings.Repeat("long line\n", 200): "End of the last ping's body:\n\n> long line\n> long line\n",
		"\xff\xfe\x00":                     "\n\nChanges not",
		"</pre><script>":                   "Body of the last ping:\n\n> </pre><script>\n",
	} {
		alert := down()
		alert.Ping.End = []byte(end)
		if err := s.notifier(t, nil).Notify(t.Context(), channel("ops@example.org"), alert); err != nil {
			t.Fatal(err)
		}
		data := s.got()[0].Data
		body := pings.Parse([]byte(data))
		if text := strings.ReplaceAll(body.Text, "\r\n", "\n"); !strings.Contains(text, want) || len(text) > 2000 {
			t.Errorf("%d bytes: %s", len(text), text)
		}
		if strings.Contains(data, "<script>") && !strings.Contains(data, "&lt;script&gt;") {
			t.Errorf("the page has markup of the body: %s", data)
		}
	}
}

func TestVerdict(t *testing.T) {
	s := start(t, email.StartTLS)
	alert := down()
	alert.Verdict = "Down since 15 Mar 06:00 Europe/Riga.\r\n<b>Up</b>"
	if err := s.notifier(t, nil).Notify(t.Context(), channel("ops@example.org"), alert); err != nil {
		t.Fatal(err)
	}
	body := pings.Parse([]byte(s.got()[0].Data))
	if want := "“nightly backup” is DOWN.\n\nDown since 15 Mar 06:00 Europe/Riga. <b>Up</b>\n\nReason:"; !strings.HasPrefix(strings.ReplaceAll(body.Text, "\r\n", "\n"), want) {
		t.Errorf("text %q", body.Text)
	}
	if want := "Down since 15 Mar 06:00 Europe/Riga. <b>Up</b>"; !strings.Contains(body.HTML, want) {
		t.Errorf("HTML %q", body.HTML)
	}
}

func TestSubjects(t *testing.T) {
	s := start(t, email.StartTLS)
	n := s.notifier(t, nil)
	tests := []struct {
		subject, title string
		change         func(*channels.Notification)
	}{
		{"UP: nightly backup", "“nightly backup” is UP.", func(n *channels.Notification) {
			n.Status, n.DownFor = channels.Up, 26*time.Hour+5*time.Minute
		}},
		{"Still DOWN (reminder 2): nightly backup", "“nightly backup” is still DOWN.", func(n *channels.Notification) { n.Reminder = 2 }},
		{"Was DOWN: nightly backup", "“nightly backup” was DOWN and is up again.", func(n *channels.Notification) { n.Over = n.At.Add(time.Minute) }},
		{"[Test] DOWN: nightly backup", "This is a test sent by a user. “nightly backup” is DOWN.", func(n *channels.Notification) { n.Test = true }},
		{"DOWN: nightly", "“nightly” is DOWN.", func(n *channels.Notification) { n.Check.Name = " " }},
		{"DOWN: 5c1ae2b0-0d6b-4b5c-8a44-4d0a4a0f0f0f", "“5c1ae2b0-0d6b-4b5c-8a44-4d0a4a0f0f0f” is DOWN.", func(n *channels.Notification) {
			n.Check.Name, n.Check.Slug = "", ""
		}},
		{"DOWN: Žurka ☃", "“Žurka ☃” is DOWN.", func(n *channels.Notification) { n.Check.Name = "Žurka\t\n☃" }},
		{"DOWN: a Bcc: x@example.org <!-- c", "“a Bcc: x@example.org <!-- c” is DOWN.", func(n *channels.Notification) {
			n.Check.Name = "a\r\nBcc: x@example.org\r\n\r\n<!-- \x00\u202ec"
		}},
		{"DOWN: " + strings.Repeat("ж", 100) + "…", "“" + strings.Repeat("ж", 100) + "…” is DOWN.", func(n *channels.Notification) {
			n.Check.Name = strings.Repeat("ж", 300)
		}},
	}
	for _, tt := range tests {
		t.Run(tt.subject, func(t *testing.T) {
			alert := down()
			tt.change(&alert)
			if err := n.Notify(t.Context(), channel("ops@example.org"), alert); err != nil {
				t.Fatal(err)
			}
			got := s.got()[0]
			equal(t, "receivers", got.To, []string{"ops@example.org"})
			body := pings.Parse([]byte(got.Data))
			first, _, _ := strings.Cut(strings.ReplaceAll(body.Text, "\r\n", "\n"), "\n")
			equal(t, "subject and title", []string{body.Subject, first}, []string{tt.subject, tt.title})
			parsed, err := mail.ReadMessage(strings.NewReader(got.Data))
			if err != nil || parsed.Header.Get("Bcc") != "" {
				t.Errorf("header Bcc %q, %v", parsed.Header.Get("Bcc"), err)
			}
			if alert.DownFor > 0 && !strings.Contains(body.Text, "Was down for: 1 day 2 hours") {
				t.Error(body.Text)
			}
		})
	}
}

// Both parts of a mail have the button to acknowledge, if there is one.
func TestAcknowledgeLink(t *testing.T) {
	for _, link := range []string{"", "https://rollcall.example.org/acknowledge/x"} {
		s := start(t, email.StartTLS)
		n := down()
		n.AckURL = link
		if err := s.notifier(t, nil).Notify(t.Context(), channel("ops@example.org"), n); err != nil {
			t.Fatal(err)
		}
		data := s.got()[0].Data
		body, want := pings.Parse([]byte(data)), link != ""
		if strings.Contains(body.Text, "I have it:    "+link) != want || strings.Contains(body.HTML, "I have it") != want {
			t.Errorf("link %q: %s\n%s", link, body.Text, body.HTML)
		}
		if plain := strings.ReplaceAll(data, "=\r\n", ""); strings.Contains(plain, `href=3D"https://rollcall.example.org/acknowledge/x"`) != want {
			t.Error(data)
		}
	}
}

// TestHostileBody checks that the body of a ping cannot change the SMTP conversation or the HTML.
func TestHostileBody(t *testing.T) {
	s := start(t, email.StartTLS)
	alert := down()
	alert.Ping.End = []byte("a\r\n.\r\nMAIL FROM:<x@example.org>\r\n.\n..b\r\n--x\n</pre><script>alert(1)</script>" + strings.Repeat("ж", 900))
	alert.Check.URL, alert.Check.Tags = "javascript:alert(1)", []string{"<b>"}
	if err := s.notifier(t, nil).Notify(t.Context(), channel("ops@example.org"), alert); err != nil {
		t.Fatal(err)
	}
	got := s.got()
	if len(got) != 1 {
		t.Fatalf("%d messages", len(got))
	}
	body := pings.Parse([]byte(got[0].Data))
	const want = "a\n.\nMAIL FROM:<x@example.org>\n.\n..b\n--x\n</pre><script>alert(1)</script>ж"
	text := strings.ReplaceAll(body.Text, "\r\n", "\n")
	if quote := strings.ReplaceAll("\n"+want, "\n", "\n> "); !strings.Contains(text, quote) || !strings.Contains(text, "<b>") {
		t.Error(text)
	}
	if !strings.Contains(body.HTML, want) || !strings.Contains(body.HTML, "<b>") {
		t.Error(body.HTML)
	}
	if strings.Contains(got[0].Data, `href=3D"javascript`) || !strings.Contains(got[0].Data, "&lt;script") {
		t.Error(got[0].Data)
	}
}

// TestIdentifiers checks that a retry has the same Message-ID, and that all alerts of an incident share a thread.
func TestIdentifiers(t *testing.T) {
	s := start(t, email.StartTLS)
	n := s.notifier(t, nil)
	ids := func(id, incident string) [2]string {
		alert := down()
		alert.ID, alert.Incident = id, incident
		if err := n.Notify(t.Context(), channel("ops@example.org"), alert); err != nil {
			t.Fatal(err)
		}
		parsed, err := mail.ReadMessage(strings.NewReader(s.got()[0].Data))
		if err != nil {
			t.Fatal(err)
		}
		return [2]string{parsed.Header.Get("Message-Id"), parsed.Header.Get("References")}
	}
	first, same, up, other, none := ids("a", "1"), ids("a", "1"), ids("b", "1"), ids("<x>\r\ny: z", "2"), ids("c", "")
	equal(t, "again", same, first)
	if up[0] == first[0] || up[1] != first[1] || other[1] == first[1] || none[1] != "" {
		t.Error(first, up, other, none)
	}
}

func TestConnections(t *testing.T) {
	authenticated := func(c *email.Config) { c.Username, c.Password = "rollcall", password }
	tests := []struct {
		name   string
		server email.TLSMode
		change func(*email.Config)
		login  string
		err    string
	}{
		{"STARTTLS", email.StartTLS, nil, "", ""},
		{"STARTTLS by default", email.StartTLS, func(c *email.Config) { c.TLS = "" }, "", ""},
		{"STARTTLS if there is", email.StartTLS, func(c *email.Config) { c.TLS = email.Opportunistic }, "", ""},
		{"no STARTTLS if there is none", email.NoTLS, func(c *email.Config) { c.TLS = email.Opportunistic }, "", ""},
		{"no TLS", email.NoTLS, nil, "", ""},
		{"no TLS although there is", email.StartTLS, func(c *email.Config) { c.TLS = email.NoTLS }, "", ""},
		{"implicit TLS", email.ImplicitTLS, nil, "", ""},
		{"STARTTLS is missing", email.NoTLS, func(c *email.Config) { c.TLS = email.StartTLS }, "", "the mail server offers no encryption (STARTTLS)"},
		{"wrong certificate", email.StartTLS, func(c *email.Config) { c.RootCAs = nil }, "", "certificate"},
		{"wrong certificate, implicit", email.ImplicitTLS, func(c *email.Config) { c.RootCAs = nil }, "", "certificate"},
		{"PLAIN", email.StartTLS, authenticated, "PLAIN", ""},
		{"PLAIN, implicit", email.ImplicitTLS, authenticated, "PLAIN", ""},
		{"LOGIN", email.StartTLS, authenticated, "LOGIN", ""},
		{"wrong password", email.StartTLS, func(c *email.Config) { c.Username, c.Password = "rollcall", "x"+password }, "", "wrong password"},
		{"AUTH is missing", email.NoTLS, func(c *email.Config) { authenticated(c); c.TLS = email.Opportunistic }, "", "AUTH"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := start(t, tt.server)
			if tt.login == "LOGIN" {
				s.say("login", io.EOF)
			}
			err := s.notifier(t, tt.change).Notify(t.Context(), channel("ops@example.org"), down())
			if (err == nil) != (tt.err == "") || !strings.Contains(text(err), tt.err) || channels.IsPermanent(err) || strings.Contains(text(err), password) {
				t.Errorf("error %v, want %q", err, tt.err)
			}
			if delivered := len(s.got()) == 1; delivered != (tt.err == "") {
				t.Error("delivered:", delivered)
			}
			if tt.login != "" {
				equal(t, "logins", s.logins, []string{tt.login})
			}
		})
	}
}

func TestRefusals(t *testing.T) {
	unknown, greylisted := refuse(550, "no such user"), refuse(451, "greylisted")
	tests := []struct {
		name      string
		replies   map[string]error
		delivered []string
		err       string
		permanent bool
	}{
		{"unknown receiver", map[string]error{"a@example.org": unknown, "b@example.org": unknown}, nil,
			`the mail server accepted the message for 0 of 2 addresses: a@example.org: 550 "no such user"; b@example.org: 550 "no such user"`, true},
		{"one of two", map[string]error{"a@example.org": unknown}, []string{"b@example.org"},
			`the mail server accepted the message for 1 of 2 addresses: a@example.org: 550 "no such user"`, true},
		{"for now", map[string]error{"a@example.org": greylisted}, []string{"b@example.org"},
			`the mail server accepted the message for 1 of 2 addresses: a@example.org: 451 "greylisted"`, false},
		{"one for now, one for good", map[string]error{"a@example.org": greylisted, "b@example.org": unknown}, nil,
			`the mail server accepted the message for 0 of 2 addresses: a@example.org: 451 "greylisted"; b@example.org: 550 "no such user"`, false},
		{"authentication needed", map[string]error{"a@example.org": refuse(530, "log in first")}, []string{"b@example.org"},
			`the mail server accepted the message for 1 of 2 addresses: a@example.org: 530 "log in first"`, false},
		{"sender", map[string]error{"mail": refuse(553, "not you")}, nil, `the mail server refuses the sender: 553 "not you"`, false},
		{"message", map[string]error{"data": refuse(554, "spam")}, nil,
			`the mail server accepted the message for 0 of 2 addresses: a@example.org: 554 "spam"; b@example.org: 554 "spam"`, true},
		{"message for now", map[string]error{"data": refuse(452, "disk full")}, nil,
			`the mail server accepted the message for 0 of 2 addresses: a@example.org: 452 "disk full"; b@example.org: 452 "disk full"`, false},
		{"connection", map[string]error{"connect": refuse(421, "too busy")}, nil,
			`connect to the mail server: smtp: EHLO/HELO exchange failed. EHLO response: 421 "too busy", HELO response: 421 "too busy"`, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := start(t, email.StartTLS)
			for to, reply := range tt.replies {
				s.say(to, reply)
			}
			err := s.notifier(t, nil).Notify(t.Context(), channel("a@example.org,b@example.org"), down())
			equal(t, "error", text(err), tt.err)
			equal(t, "permanent", channels.IsPermanent(err), tt.permanent)
			var delivered []string
			for _, m := range s.got() {
				delivered = append(delivered, m.To...)
			}
			equal(t, "delivered", delivered, tt.delivered)
		})
	}
}

// TestGreylisting checks that each attempt, also of a new process, skips the addresses that already have the message.
func TestGreylisting(t *testing.T) {
	s := start(t, email.StartTLS)
	greylisted, unknown := refuse(451, "greylisted"), refuse(550, "no such user")
	s.say("b@example.org", greylisted, greylisted, nil)
	s.say("c@example.org", unknown)
	c := channel("a@example.org, b@example.org, c@example.org, A@EXAMPLE.ORG, d@example.org")
	var got []any
	n := down()
	for attempt := range 4 {
		if attempt == 1 {
			s.say("mail", refuse(451, "busy"))
		} else {
			s.say("mail")
		}
		err := s.notifier(t, nil).Notify(t.Context(), c, n)
		if done := channels.Accepted(err); done != nil {
			n.Done = done
		}
		var to []string
		for _, m := range s.got() {
			to = append(to, m.To...)
		}
		got = append(got, fmt.Sprint(to, " ", n.Done, " ", channels.IsPermanent(err), " ", err))
	}
	const pending = `the mail server accepted the message for 2 of 4 addresses: b@example.org: 451 "greylisted"; c@example.org: 550 "no such user"`
	equal(t, "attempts", got, []any{
		"[a@example.org d@example.org] [a@example.org d@example.org] false " + pending,
		`[] [a@example.org d@example.org] false the mail server refuses the sender: 451 "busy"`,
		"[] [a@example.org d@example.org] false " + pending,
		`[b@example.org] [a@example.org d@example.org b@example.org] true the mail server accepted the message for 3 of 4 addresses: c@example.org: 550 "no such user"`,
	})
}

// TestLostConnection checks that a server which closes the connection at one address keeps the message from no other.
func TestLostConnection(t *testing.T) {
	s := start(t, email.StartTLS)
	s.say("a@example.org", net.ErrClosed)
	err := s.notifier(t, nil).Notify(t.Context(), channel("a@example.org, b@example.org, c@example.org"), down())
	if !strings.HasPrefix(text(err), "the mail server accepted the message for 2 of 3 addresses: a@example.org: ") || channels.IsPermanent(err) {
		t.Error(err)
	}
	equal(t, "accepted", channels.Accepted(err), []string{"b@example.org", "c@example.org"})
	equal(t, "messages", len(s.got()), 2)
}

// TestOneRecipient checks that the error of a delivery to one of several addresses is about that address.
func TestOneRecipient(t *testing.T) {
	s := start(t, email.StartTLS)
	s.say("b@example.org", refuse(451, "greylisted"))
	n := down()
	n.Recipient = "b@example.org"
	err := s.notifier(t, nil).Notify(t.Context(), channel("a@example.org, b@example.org, c@example.org"), n)
	equal(t, "error", text(err), `b@example.org: 451 "greylisted"`)
	equal(t, "delivered", len(s.got()), 0)
}

// TestLongAddress checks that the name of an address in Done keeps to the limit of channels.Partial.
func TestLongAddress(t *testing.T) {
	s := start(t, email.StartTLS)
	long := strings.Repeat("a", 60) + "@" + strings.Repeat("b23456789.", 18) + "example.org"
	s.say("b@example.org", refuse(451, "greylisted"), nil)
	n := down()
	err := s.notifier(t, nil).Notify(t.Context(), channel(long+", b@example.org"), n)
	n.Done = channels.Accepted(err)
	if len(n.Done) != 1 || len(n.Done[0]) > 200 || len(s.got()) != 1 {
		t.Fatalf("done %q, %v", n.Done, err)
	}
	if err := s.notifier(t, nil).Notify(t.Context(), channel(long+", b@example.org"), n); err != nil {
		t.Error(err)
	}
	if got := s.got(); len(got) != 1 || got[0].To[0] != "b@example.org" {
		t.Errorf("%v", got)
	}
}

func TestNew(t *testing.T) {
	tests := []struct {
		change func(*email.Config)
		want   string
	}{
		{func(*email.Config) {}, ""},
		{func(c *email.Config) { c.Host = "" }, "email: Host is missing"},
		{func(c *email.Config) { c.Host = "h\r\nx" }, "email: Host or HELO contains a control character"},
		{func(c *email.Config) { c.HELO = "h\r\nx" }, "email: Host or HELO contains a control character"},
		{func(c *email.Config) { c.TLS = "ssl" }, `email: TLS is not starttls, implicit, opportunistic or none: "ssl"`},
		{func(c *email.Config) { c.Port = 65536 }, "email: Port is not from 1 to 65535: 65536"},
		{func(c *email.Config) { c.Port = -1 }, "email: Port is not from 1 to 65535: -1"},
		{func(c *email.Config) { c.Password = password }, "email: Username and Password must be set together"},
		{func(c *email.Config) { c.Username = "u" }, "email: Username and Password must be set together"},
		{func(c *email.Config) { c.Username, c.Password, c.TLS = "u", password, email.NoTLS }, "email: a Password needs TLS"},
		{func(c *email.Config) { c.Username, c.OAuth = "u", &email.OAuth{File: "f"} }, ""},
		{func(c *email.Config) { c.OAuth = &email.OAuth{File: "f"} }, "email: OAuth needs a Username"},
		{func(c *email.Config) { c.Username, c.Password, c.OAuth = "u", password, &email.OAuth{File: "f"} }, "email: OAuth and Password cannot be combined"},
		{func(c *email.Config) { c.Username, c.TLS, c.OAuth = "u", email.Opportunistic, &email.OAuth{File: "f"} }, "email: OAuth needs TLS starttls or implicit"},
		{func(c *email.Config) { c.Username, c.OAuth = "u", &email.OAuth{} }, "email: OAuth needs either TokenURL or File"},
		{func(c *email.Config) {
			c.Username, c.OAuth = "u", &email.OAuth{TokenURL: "login.example.org", ClientID: "i", ClientSecret: "s"}
		},
			"email: TokenURL of OAuth is not an http:// or https:// URL"},
		{func(c *email.Config) {
			c.Username, c.OAuth = "u", &email.OAuth{TokenURL: "https://login.example.org", ClientID: "i"}
		},
			"email: TokenURL of OAuth needs ClientID and ClientSecret"},
		{func(c *email.Config) { c.Username, c.OAuth = "u", &email.OAuth{File: "f", Scope: "s"} },
			"email: OAuth with a File needs no ClientID, ClientSecret or Scope"},
		{func(c *email.Config) { c.DKIM = &email.DKIM{Selector: "s"} }, "email: the Key for DKIM is neither RSA nor Ed25519"},
		{func(c *email.Config) { c.DKIM = &email.DKIM{Key: ed25519.NewKeyFromSeed(make([]byte, 32))} },
			`email: the Selector for DKIM is not a DNS name: ""`},
		{func(c *email.Config) { c.From = "" }, `email: From is not an e-mail address: ""`},
		{func(c *email.Config) { c.From = "a@example.org, b@example.org" }, `email: From is not an e-mail address: "a@example.org, b@example.org"`},
	}
	for _, tt := range tests {
		config := email.Config{Host: "smtp.example.org", From: "Rollcall <r@example.org>"}
		tt.change(&config)
		_, err := email.New(&config)
		equal(t, "error", text(err), tt.want)
	}
}

// TestStorm sends one message about several checks.
func TestStorm(t *testing.T) {
	s := start(t, email.StartTLS)
	var list []channels.Notification
	for i, name := range []string{"a <b>", "c", "d"} {
		n := down()
		n.Check.ID, n.Check.Name, n.At, n.Check.URL = uuid.New(), name, n.At.Add(time.Duration(i)*time.Second), "https://rollcall.example.org/c/"+fmt.Sprint(i)
		list = append(list, n)
	}
	list[1].Reason, list[1].Cause, list[1].Over = "a run was missed", "", list[1].At.Add(time.Minute)
	n := channels.Combine("g1", "https://rollcall.example.org/p/1", list)
	n.AckURL = "https://rollcall.example.org/acknowledge/all"
	if err := s.notifier(t, nil).Notify(t.Context(), channel("ops@example.org"), n); err != nil {
		t.Fatal(err)
	}
	body := pings.Parse([]byte(s.got()[0].Data))
	const want = `3 checks of backups are DOWN.

exit status 3: disk <full> (2):

- a <b>, since Sun, 15 Mar 2026 04:00:00 UTC
- d, since Sun, 15 Mar 2026 04:00:02 UTC

a run was missed (1):

- c, since Sun, 15 Mar 2026 04:00:01 UTC, up again since Sun, 15 Mar 2026 04:01:01 UTC

https://rollcall.example.org/p/1
I have it:    https://rollcall.example.org/acknowledge/all

-- 
Sent by Rollcall to the integration “ops”.`
	equal(t, "subject", body.Subject, "DOWN: 3 checks of backups")
	equal(t, "text", strings.TrimSpace(strings.ReplaceAll(body.Text, "\r\n", "\n")), want)
	for _, part := range []string{"3 checks of backups are DOWN", "disk <full> (2)", "a <b>", "up again since", "I have it"} {
		if !strings.Contains(body.HTML, part) {
			t.Errorf("%q is not in the HTML part:\n%s", part, body.HTML)
		}
	}
}
