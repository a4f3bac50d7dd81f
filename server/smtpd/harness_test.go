package smtpd_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"log/slog"
	"math/big"
	"net"
	"net/textproto"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/sqlstore"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/dbtest"
	"github.com/rollcall-dev/rollcall/pings"
	"github.com/rollcall-dev/rollcall/server/smtpd"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

const (
	domain = "ping.example.org"
	// patience bounds every wait. Only a failure reaches it.
	patience = 2 * time.Minute
)

// site is a running server with a project, on one database.
type site struct {
	*testing.T
	store   *sqlstore.Store
	mon     *monitor.Monitor
	project checks.Project
	server  *smtpd.Server
	addr    string
	served  chan error // the result of Serve
	log     *logBuffer
}

// logBuffer is a log that can be read while it is written.
type logBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

// each runs a test on each database.
func each(t *testing.T, config smtpd.Config, test func(s *site)) {
	t.Helper()
	dbtest.EachAtRelease(t, func(t *testing.T, db dbtest.DB) { test(newSite(t, db.Open(t), config)) })
}

// one runs a test that does not depend on the database.
func one(t *testing.T, config smtpd.Config) *site {
	t.Helper()
	return newSite(t, dbtest.SQLite(t).Open(t), config)
}

func newSite(t *testing.T, db *sqlstore.Store, config smtpd.Config) *site {
	t.Helper()
	mon, err := monitor.New(db, &monitor.Config{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	project, _, err := mon.Projects().Create(t.Context(), checks.ProjectSpec{Name: "jobs"})
	if err != nil {
		t.Fatal(err)
	}
	s := &site{T: t, store: db, mon: mon, project: project}
	s.listen(mon, config)
	return s
}

// listen starts a server for a monitor.
func (s *site) listen(mon *monitor.Monitor, config smtpd.Config) {
	s.Helper()
	if config.Domain == "" {
		config.Domain = domain
	}
	s.log = new(logBuffer)
	config.Logger = slog.New(slog.NewTextHandler(s.log, nil))
	server, err := smtpd.New(mon, &config)
	if err != nil {
		s.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		s.Fatal(err)
	}
	served := make(chan error, 1)
	s.server, s.addr, s.served = server, listener.Addr().String(), served
	go func() { served <- server.Serve(listener) }()
	s.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel() // at once
		server.Shutdown(ctx)
	})
}

// on returns the site with a server on another store.
func (s *site) on(db monitor.Store) *site {
	s.Helper()
	mon, err := monitor.New(db, &monitor.Config{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		s.Fatal(err)
	}
	other := *s
	other.listen(mon, smtpd.Config{})
	return &other
}

func (s *site) create(spec checks.Spec) checks.Check {
	s.Helper()
	c, err := s.mon.Project(s.project.ID).Create(s.Context(), spec)
	if err != nil {
		s.Fatal(err)
	}
	return *c.Check
}

// address is the address of a check.
func address(c checks.Check) string { return c.ID.String() + "@" + domain }

// pings returns the pings of a check with their bodies, oldest first, without their times.
func (s *site) pings(c checks.Check) []pings.Ping {
	s.Helper()
	list, err := checks.Collect(s.mon.Project(c.ProjectID).Pings(s.Context(), c.ID, checks.PingQuery{}))
	if err != nil {
		s.Fatal(err)
	}
	var log []pings.Ping
	for i := len(list) - 1; i >= 0; i-- {
		p := list[i]
		p.At = time.Time{}
		if p.BodySize > 0 {
			if p.Body, err = s.mon.Project(c.ProjectID).PingBody(s.Context(), c.ID, p.N); err != nil {
				s.Fatal(err)
			}
		}
		log = append(log, p)
	}
	return log
}

// bodies returns the bodies of a check's pings, oldest first.
func (s *site) bodies(c checks.Check) []string {
	s.Helper()
	var list []string
	for _, p := range s.pings(c) {
		list = append(list, string(p.Body))
	}
	return list
}

func (s *site) equal(what string, got, want any) {
	s.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		s.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// dialogue is a conversation with a server in raw SMTP.
type dialogue struct {
	s    *site
	conn net.Conn
	text *textproto.Conn
}

// dial connects and reads the greeting.
func (s *site) dial() *dialogue {
	s.Helper()
	d := s.dialRaw()
	d.expect(220)
	return d
}

func (s *site) dialRaw() *dialogue {
	s.Helper()
	conn, err := net.Dial("tcp", s.addr)
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { conn.Close() })
	conn.SetDeadline(time.Now().Add(patience))
	return &dialogue{s, conn, textproto.NewConn(conn)}
}

// expect reads a reply.
func (d *dialogue) expect(code int) string {
	d.s.Helper()
	got, text, err := d.text.ReadResponse(0)
	if _, ok := err.(*textproto.Error); err != nil && !ok || got != code {
		d.s.Fatalf("answer %d %s, %v; want %d", got, text, err, code)
	}
	return text
}

func (d *dialogue) send(text string) {
	d.s.Helper()
	if _, err := d.conn.Write([]byte(text)); err != nil {
		d.s.Fatal(err)
	}
}

// command sends a line and reads the reply.
func (d *dialogue) command(code int, format string, args ...any) string {
	d.s.Helper()
	d.send(fmt.Sprintf(format, args...) + "\r\n")
	return d.expect(code)
}

// chunk sends a line with data after it and reads the reply.
func (d *dialogue) chunk(code int, line, data string) string {
	d.s.Helper()
	d.send(line + "\r\n" + data)
	return d.expect(code)
}

// begin sends everything up to DATA.
func (d *dialogue) begin(recipients ...string) {
	d.s.Helper()
	d.command(250, "EHLO client.example.org")
	d.envelope(recipients...)
	d.command(354, "DATA")
}

func (d *dialogue) envelope(recipients ...string) {
	d.s.Helper()
	d.command(250, "MAIL FROM:<backup@nas.example.org>")
	for _, to := range recipients {
		d.command(250, "RCPT TO:<%s>", to)
	}
}

// ended checks that the server has closed the connection.
func (d *dialogue) ended() {
	d.s.Helper()
	if line, err := d.text.ReadLine(); err == nil {
		d.s.Fatalf("the connection goes on with %q", line)
	} else if ne, ok := err.(net.Error); ok && ne.Timeout() {
		d.s.Fatal("the connection was not closed")
	}
}

// certificate returns a new certificate for localhost and a pool that trusts it.
func certificate(t testing.TB) (tls.Certificate, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), DNSNames: []string{"localhost"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(parsed)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, pool
}

func serverTLS(cert tls.Certificate) *tls.Config {
	return &tls.Config{Certificates: []tls.Certificate{cert}}
}

func crlf(text string) string { return strings.ReplaceAll(text, "\n", "\r\n") }
