package standard_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net"
	"net/http"
	"net/http/httptest"
	"net/mail"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/emersion/go-smtp"
	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/channels/email"
	"github.com/rollcall-dev/rollcall/channels/services"
	"github.com/rollcall-dev/rollcall/channels/twilio"
	"github.com/rollcall-dev/rollcall/channels/webhook"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/monitor/monitortest"
	"github.com/rollcall-dev/rollcall/pings"
)

// outage returns the alerts of a monitor about a nightly backup that fails once: that it is down, and that it is up again. Their
// identifiers, which differ from run to run, are replaced.
func outage(t *testing.T) (alerts []channels.Notification) {
	t.Helper()
	const site = "https://rollcall.example.org"
	id := func(name string) uuid.UUID { return uuid.NewSHA1(uuid.Nil, []byte(name)) }
	first := time.Date(2026, 11, 28, 3, 0, 0, 0, time.UTC)
	mon := monitortest.New(first, &monitor.Config{
		AlertLink: func(checks.Check, string) string { return site + "/checks/" + id("check").String() },
		AckLink:   func(context.Context, checks.Check) string { return site + "/acknowledge/EXAMPLE" },
	})
	defer mon.Close()
	project, err := mon.OpenProject(t.Context(), "default")
	if err != nil {
		t.Fatal(err)
	}
	c, err := project.Create(t.Context(), checks.Spec{Name: new("backup"), Slug: new("backup"), Schedule: new("0 3 * * *")})
	if err != nil {
		t.Fatal(err)
	}
	run := func(at time.Time, length time.Duration, end pings.Signal) {
		mon.AdvanceTo(at)
		for _, signal := range []pings.Signal{{Kind: pings.Start}, end} {
			if _, err := mon.Ping(t.Context(), c.ID, signal); err != nil {
				t.Fatal(err)
			}
			mon.Advance(length)
		}
	}
	for day := range 4 {
		run(first.AddDate(0, 0, day), 38*time.Second, pings.Signal{Kind: pings.Success})
	}
	failed, output := first.AddDate(0, 0, 4), "copying 48 files\nbackup.tar: no space left on device\n"
	run(failed, 41*time.Second, pings.Signal{Kind: pings.Failure, ExitStatus: new(2), Body: []byte(output)})
	run(failed.Add(4*time.Hour+12*time.Minute), 44*time.Second, pings.Signal{Kind: pings.Success})
	for i, n := range mon.TakeAlerts() {
		n.Check.ID, n.ID, n.Incident = id("check"), id(fmt.Sprint("alert", i)).String(), id("incident").String()
		alerts = append(alerts, n)
	}
	if len(alerts) != 2 || alerts[0].Status != channels.Down || alerts[1].Status != channels.Up {
		t.Fatalf("alerts %+v", alerts)
	}
	return alerts
}

// A request is what a receiver gets over HTTP.
type request struct {
	head string // its line and headers
	body []byte
}

// receiver answers as the services do that have accepted a message, and keeps the requests.
type receiver struct{ got []request }

func (r *receiver) RoundTrip(req *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	var head bytes.Buffer
	fmt.Fprintf(&head, "%s %s\n", req.Method, req.URL)
	_ = req.Header.Write(&head) // a buffer takes everything
	r.got = append(r.got, request{strings.ReplaceAll(head.String(), "\r", ""), body})
	w := httptest.NewRecorder()
	switch {
	case req.URL.Host == "hooks.slack.com":
		_, _ = w.WriteString("ok")
	case req.URL.Host == "api.twilio.com":
		_, _ = w.WriteString(`{"sid":"SM0123456789abcdef0123456789abcdef","status":"delivered"}`)
	case strings.HasSuffix(req.URL.Host, ".powerplatform.com"), req.URL.Host == "events.pagerduty.com", req.URL.Host == "api.opsgenie.com":
		w.WriteHeader(http.StatusAccepted)
		fallthrough
	default: // each service reads its own fields
		_, _ = w.WriteString(`{"ok":true,"id":"1","status":"success","requestId":"1"}`)
	}
	return w.Result(), nil
}

// requests returns what an integration with the settings sends over HTTP about the alerts.
func requests(t *testing.T, kind channels.Kind, settings map[string]string, alerts []channels.Notification) []request {
	t.Helper()
	r := &receiver{}
	client := &http.Client{Transport: r}
	phones, err := twilio.New(&twilio.Config{Client: client})
	if err != nil {
		t.Fatal(err)
	}
	types := slices.Concat(services.New(&services.Config{Client: client}), phones,
		[]channels.Type{webhook.New(&webhook.Config{Client: client, Now: func() time.Time { return alerts[0].At }})})
	notify(t, types, kind, settings, alerts)
	if len(r.got) != len(alerts) {
		t.Fatalf("%d requests", len(r.got))
	}
	return r.got
}

func notify(t *testing.T, types []channels.Type, kind channels.Kind, settings map[string]string, alerts []channels.Notification) {
	t.Helper()
	i := slices.IndexFunc(types, func(info channels.Type) bool { return info.Kind == kind })
	for _, n := range alerts {
		if err := types[i].Notifier.Notify(t.Context(), channels.Channel{Kind: kind, Name: "ops", Settings: settings}, n); err != nil {
			t.Fatal(err)
		}
	}
}

// A mailbox is a mail server that keeps what it receives.
type mailbox struct{ got [][]byte }

func (b *mailbox) NewSession(*smtp.Conn) (smtp.Session, error) { return b, nil }
func (b *mailbox) Mail(string, *smtp.MailOptions) error        { return nil }
func (b *mailbox) Rcpt(string, *smtp.RcptOptions) error        { return nil }
func (b *mailbox) Reset()                                      {}
func (b *mailbox) Logout() error                               { return nil }

func (b *mailbox) Data(r io.Reader) error {
	data, err := io.ReadAll(r)
	b.got = append(b.got, data)
	return err
}

// mails returns the mails of an integration about the alerts.
func mails(t *testing.T, settings map[string]string, alerts []channels.Notification) (list [][]byte) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	box := &mailbox{}
	server := smtp.NewServer(box)
	done := make(chan error)
	go func() { done <- server.Serve(listener) }()
	kind, err := email.New(&email.Config{Host: "127.0.0.1", Port: listener.Addr().(*net.TCPAddr).Port, TLS: email.NoTLS, HELO: "h",
		From: "Rollcall <rollcall@example.org>", Now: func() time.Time { return alerts[0].At }})
	if err != nil {
		t.Fatal(err)
	}
	notify(t, []channels.Type{kind}, channels.Email, settings, alerts)
	if err := server.Close(); err != nil {
		t.Error(err)
	}
	<-done
	return box.got
}

// parts returns the headers of a mail and its HTML part.
func parts(t *testing.T, data []byte) (header mail.Header, page string) {
	t.Helper()
	m, err := mail.ReadMessage(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	_, params, err := mime.ParseMediaType(m.Header.Get("Content-Type"))
	if err != nil {
		t.Fatal(err)
	}
	for r := multipart.NewReader(m.Body, params["boundary"]); ; {
		part, err := r.NextPart()
		if err != nil {
			t.Fatal("no HTML part: ", err)
		}
		if !strings.HasPrefix(part.Header.Get("Content-Type"), "text/html") {
			continue
		}
		content, err := io.ReadAll(part)
		if err != nil {
			t.Fatal(err)
		}
		return m.Header, strings.ReplaceAll(string(content), "\r\n", "\n")
	}
}
