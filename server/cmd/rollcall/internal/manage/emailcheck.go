package manage

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/quotedprintable"
	"net"
	"net/netip"
	"net/smtp"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/pings"
	"github.com/rollcall-dev/rollcall/server/cmd/rollcall/internal/console"
	"github.com/rollcall-dev/rollcall/server/smtpd"
)

type EmailCheckCmd struct {
	Address string        `arg:"" help:"E-mail address of the check: <uuid>@DOMAIN or <ping key>+<slug>@DOMAIN."`
	SMTP    string        `name:"smtp" placeholder:"HOST:PORT" help:"SMTP server to send to (default: port 25 of the domain's mail servers in DNS)."`
	From    string        `env:"-" default:"rollcall@localhost" placeholder:"ADDRESS" help:"Sender of the message."`
	Subject string        `env:"-" default:"Rollcall e-mail check" placeholder:"TEXT" help:"Subject of the message, which can test the check's keywords."`
	Body    string        `env:"-" default:"This message tests the e-mail pings of a check." placeholder:"TEXT" help:"Text of the message."`
	Timeout time.Duration `env:"-" default:"30s" placeholder:"DURATION" help:"How long to wait for the mail server, and then for the ping."`
	console.JSONFlag
	onlyDatabase
}

func (EmailCheckCmd) Help() string {
	return `The command sends a message to the address of a check, as a job would, and waits until the ping is in the check's log in
the database. The ping counts: it may change the status of the check and send alerts.

With --json: {"check", "address", "server", "tls", "answer", "ping"}, where check is the check's id, tls is none or
the certificate's state, and ping is {"n", "type", "date", "remote_addr", "ua", "size", "status"}.

Examples:

    rollcall email-check --smtp localhost:2525 9c1e5a4f-4e0e-4ea5-8c2c-2f5d1b1d9d3e@ping.example.org
    rollcall email-check --subject 'backup FAILED' abcdefghijklmnopqrstuv+nightly@ping.example.org`
}

// Validate checks the flags. Kong calls it.
func (c *EmailCheckCmd) Validate() error {
	if at := strings.LastIndexByte(c.Address, '@'); at < 1 || at == len(c.Address)-1 {
		return errors.New("the address must be of the form NAME@DOMAIN")
	}
	if _, _, err := net.SplitHostPort(c.SMTP); c.SMTP != "" && err != nil {
		return errors.New("--smtp: must be of the form HOST:PORT")
	}
	if strings.ContainsAny(c.Address+c.From+c.Subject, "\r\n") {
		return errors.New("--from and --subject must not have line breaks")
	}
	if c.Timeout <= 0 {
		return fmt.Errorf("--timeout: is too small: %v", c.Timeout)
	}
	return c.onlyDatabase.Validate()
}

// EmailCheckDoc is the result in JSON.
type EmailCheckDoc struct {
	Check   string       `json:"check"`
	Address string       `json:"address"`
	Server  string       `json:"server"`
	TLS     string       `json:"tls"`
	Answer  string       `json:"answer"`
	Ping    emailPingDoc `json:"ping"`
}

type emailPingDoc struct {
	N          int64         `json:"n"`
	Type       pings.Kind    `json:"type"`
	Date       string        `json:"date"`
	RemoteAddr string        `json:"remote_addr"`
	UA         string        `json:"ua"`
	Size       int64         `json:"size"`
	Status     checks.Status `json:"status"`
}

func (c *EmailCheckCmd) Run(ctx context.Context, a *App) error {
	return a.withMonitor(ctx, false, func(mon *monitor.Monitor) error {
		at := strings.LastIndexByte(c.Address, '@')
		local, domain := c.Address[:at], c.Address[at+1:]
		id, err := smtpd.FindCheck(ctx, mon, local)
		if err != nil {
			return console.Missing(err, "a check with the address %q", c.Address)
		}
		doc := EmailCheckDoc{Check: id.String(), Address: c.Address}
		token := rand.Text()
		if err := c.deliver(ctx, domain, token, &doc); err != nil {
			return err
		}
		if doc.Ping, err = c.await(ctx, mon, id, token); err != nil {
			return err
		}
		return c.Print(a.Stdout, doc, func(w io.Writer) { doc.write(w) })
	})
}

func (d EmailCheckDoc) write(w io.Writer) {
	meaning := string(d.Ping.Type)
	switch d.Ping.Type {
	case pings.Ignored:
		meaning = "ignored: no keyword was found, or the check is paused"
	case pings.Failure:
		meaning = "fail: a failure keyword was found, or no keyword and the check requires one"
	}
	console.Table(w,
		[]string{"Check:", d.Check},
		[]string{"Sent to:", d.Address + " by " + d.Server},
		[]string{"Encryption:", d.TLS},
		[]string{"Answer:", d.Answer},
		[]string{"Arrived as:", fmt.Sprintf("ping %d, %s, of %d bytes", d.Ping.N, d.Ping.Date, d.Ping.Size)},
		[]string{"From:", d.Ping.RemoteAddr + ", " + d.Ping.UA},
		[]string{"Counted as:", meaning},
		[]string{"Status now:", string(d.Ping.Status)},
	)
}

// deliver sends the message to the domain's first mail server that accepts a connection.
func (c *EmailCheckCmd) deliver(ctx context.Context, domain, token string, doc *EmailCheckDoc) error {
	ctx, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	servers := []string{c.SMTP}
	if c.SMTP == "" {
		var err error
		if servers, err = MailServers(ctx, domain); err != nil {
			return err
		}
	}
	var failures []error
	for _, server := range servers {
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", server)
		if err != nil {
			failures = append(failures, fmt.Errorf("cannot connect to %s: %w", server, console.NetReason(err)))
			continue
		}
		deadline, _ := ctx.Deadline()
		_ = conn.SetDeadline(deadline)
		doc.Server = server
		err = c.send(conn, token, doc)
		conn.Close()
		return err
	}
	return errors.Join(failures...)
}

// MailServers returns the addresses of a domain's mail servers, preferred ones first.
func MailServers(ctx context.Context, domain string) ([]string, error) {
	if literal, ok := strings.CutPrefix(domain, "["); ok {
		literal = strings.TrimPrefix(strings.TrimSuffix(literal, "]"), "IPv6:")
		if _, err := netip.ParseAddr(literal); err == nil {
			return []string{net.JoinHostPort(literal, "25")}, nil
		}
	}
	list, err := net.DefaultResolver.LookupMX(ctx, domain)
	if dns, ok := errors.AsType[*net.DNSError](err); ok && dns.IsNotFound {
		return []string{net.JoinHostPort(domain, "25")}, nil // without MX records, the host itself (RFC 5321 section 5.1)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot look up the mail servers of %s: %w", domain, err)
	}
	var servers []string
	for _, mx := range list {
		servers = append(servers, net.JoinHostPort(strings.TrimSuffix(mx.Host, "."), "25"))
	}
	return servers, nil
}

// send sends the message over a connection, and describes the server in doc.
func (c *EmailCheckCmd) send(conn net.Conn, token string, doc *EmailCheckDoc) error {
	host, _, _ := net.SplitHostPort(doc.Server)
	refusal := func(what string, err error) error { return fmt.Errorf("%s does not %s: %w", doc.Server, what, err) }
	client, err := smtp.NewClient(conn, host)
	if err != nil {
		return refusal("speak SMTP", err)
	}
	doc.TLS = "none, the server does not offer STARTTLS"
	if offered, _ := client.Extension("STARTTLS"); offered {
		// Like other mail senders, this accepts any certificate. describeTLS reports an invalid one.
		if err := client.StartTLS(&tls.Config{ServerName: host, InsecureSkipVerify: true}); err != nil {
			return refusal("complete the STARTTLS that it offers", err)
		}
		state, _ := client.TLSConnectionState()
		doc.TLS = describeTLS(state, host)
	}
	if err := client.Mail(c.From); err != nil {
		return refusal("accept the sender "+c.From, err)
	}
	if err := client.Rcpt(c.Address); err != nil {
		return refusal("accept the address "+c.Address, err)
	}
	w, err := client.Data()
	if err == nil {
		if _, err = w.Write(c.message(token)); err == nil {
			err = w.Close()
		}
	}
	if err != nil {
		return refusal("accept the message", err)
	}
	doc.Answer = "250, accepted"
	_ = client.Quit() // the server has already accepted the message
	return nil
}

// describeTLS says whether the certificate of a server is valid for a host.
func describeTLS(state tls.ConnectionState, host string) string {
	version := tls.VersionName(state.Version)
	leaf := state.PeerCertificates[0]
	intermediates := x509.NewCertPool()
	for _, cert := range state.PeerCertificates[1:] {
		intermediates.AddCert(cert)
	}
	if _, err := leaf.Verify(x509.VerifyOptions{DNSName: host, Intermediates: intermediates}); err != nil {
		return fmt.Sprintf("%s, but the certificate is not valid: %v", version, err)
	}
	return fmt.Sprintf("%s, the certificate is valid until %s", version, console.Timestamp(leaf.NotAfter))
}

// tokenField is the header field that identifies the message in the log.
const tokenField = "X-Rollcall-Check"

func (c *EmailCheckCmd) message(token string) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "From: %s\r\nTo: %s\r\nSubject: %s\r\n", c.From, c.Address, mime.QEncoding.Encode("utf-8", c.Subject))
	fmt.Fprintf(&b, "Date: %s\r\nMessage-ID: <%s@rollcall>\r\n%s: %s\r\n", time.Now().Format(time.RFC1123Z), token, tokenField, token)
	b.WriteString("MIME-Version: 1.0\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\n")
	w := quotedprintable.NewWriter(&b)
	_, _ = io.WriteString(w, c.Body+"\n") // cannot fail in memory
	_ = w.Close()
	return b.Bytes()
}

// await waits for the ping of the message.
func (c *EmailCheckCmd) await(ctx context.Context, mon *monitor.Monitor, id uuid.UUID, token string) (emailPingDoc, error) {
	ctx, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	check, err := mon.Check(ctx, id)
	if err != nil {
		return emailPingDoc{}, err
	}
	for {
		ping, found, err := findMessage(ctx, mon.Project(check.ProjectID), id, token)
		if err != nil {
			return emailPingDoc{}, err
		}
		if found {
			check, err := mon.Check(ctx, id)
			if err != nil {
				return emailPingDoc{}, err
			}
			return emailPingDoc{
				N: ping.N, Type: ping.Kind, Date: console.Timestamp(ping.At), RemoteAddr: ping.RemoteAddr, UA: ping.UserAgent,
				Size: ping.BodySize, Status: check.Status(mon.Now()),
			}, nil
		}
		select {
		case <-ctx.Done():
			return emailPingDoc{}, fmt.Errorf("the mail server accepted the message, but the check's log has no such ping after %v; the server may use another database or relay the message", c.Timeout)
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// findMessage searches the latest pings of a check for the message.
func findMessage(ctx context.Context, project *monitor.Project, id uuid.UUID, token string) (pings.Ping, bool, error) {
	const recent = 20 // other pings may arrive meanwhile
	for ping, err := range project.Pings(ctx, id, checks.PingQuery{Limit: recent}) {
		if err != nil {
			return pings.Ping{}, false, err
		}
		if ping.Scheme != "email" {
			continue
		}
		body, err := project.PingBody(ctx, id, ping.N)
		if err != nil && !errors.Is(err, checks.ErrNotFound) {
			return pings.Ping{}, false, err
		}
		if bytes.Contains(body, []byte(tokenField+": "+token)) {
			return ping, true, nil
		}
	}
	return pings.Ping{}, false, nil
}
