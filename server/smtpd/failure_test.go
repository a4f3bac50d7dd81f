package smtpd_test

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/sqlstore"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/dbtest"
	"github.com/rollcall-dev/rollcall/server/smtpd"
)

// outage is a store with a database that fails on demand.
type outage struct {
	dbtest.Hooked
	reads, writes atomic.Pointer[error]
}

func newOutage(s *sqlstore.Store) *outage {
	o := &outage{Hooked: dbtest.Hooked{Store: s}}
	o.Around = func(op string, do func() error) error {
		failing := &o.reads
		if op == "Update" {
			failing = &o.writes
		}
		if err := failing.Load(); err != nil {
			return fail(*err)
		}
		return do()
	}
	return o
}

// fail panics if there is no error.
func fail(err error) error {
	if err == nil {
		panic("a mistake")
	}
	return err
}

// TestOutage checks that the server acknowledges only stored messages and keeps the connection.
func TestOutage(t *testing.T) {
	each(t, smtpd.Config{}, func(s *site) {
		c := s.create(checks.Spec{Slug: new("job")})
		secret := errors.New("password of the database")
		var d *dialogue
		logged := ""
		for _, err := range []error{checks.ErrUnavailable, context.DeadlineExceeded, secret, nil} {
			store := newOutage(s.store)
			s = s.on(store) // whose log has a line a second
			d = s.dial()
			d.command(250, "EHLO client.example.org")
			d.command(250, "MAIL FROM:<a@b.example>")
			store.reads.Store(&err)
			for _, to := range []string{address(c), s.project.PingKey + "+job@" + domain} {
				if text := d.command(451, "RCPT TO:<%s>", to); strings.Contains(text, "password") {
					s.Errorf("the reply is %q", text)
				}
			}
			store.reads.Store(nil)
			d.command(250, "RCPT TO:<%s>", address(c))
			store.writes.Store(&err)
			d.command(354, "DATA")
			d.send("lost\r\n.\r\n")
			if text := d.expect(451); strings.Contains(text, "password") {
				s.Errorf("the reply is %q", text)
			}
			store.writes.Store(nil)
			logged += s.log.String()
		}
		d.envelope(address(c))
		d.command(354, "DATA")
		d.send("kept\r\n.\r\n")
		d.expect(250)
		s.equal("bodies", s.bodies(c), []string{"kept\r\n"})
		for _, want := range []string{checks.ErrUnavailable.Error(), secret.Error(), "a mistake", "rollcall.component=smtp"} {
			if !strings.Contains(logged, want) {
				s.Errorf("%q was not logged: %s", want, logged)
			}
		}
	})
}

// gate is a store that writes only when the gate is open.
type gate struct {
	dbtest.Hooked
	arrived, open chan struct{}
}

func newGate(s *sqlstore.Store) *gate {
	g := &gate{arrived: make(chan struct{}, 1), open: make(chan struct{})}
	g.Hooked = dbtest.Hooked{Store: s, Around: func(op string, do func() error) error {
		if op == "Update" {
			g.arrived <- struct{}{}
			<-g.open
		}
		return do()
	}}
	return g
}

// TestDurableBeforeAcknowledged checks that the client waits until the message is stored.
func TestDurableBeforeAcknowledged(t *testing.T) {
	each(t, smtpd.Config{}, func(s *site) {
		c := s.create(checks.Spec{})
		g := newGate(s.store)
		s = s.on(g)
		d := s.dial()
		d.begin(address(c))
		d.send("x\r\n.\r\n")
		<-g.arrived
		answered := make(chan []string)
		go func() {
			d.text.ReadLine()
			answered <- s.bodies(c) // the stored bodies when the reply arrives
		}()
		select {
		case <-answered:
			s.Fatal("answered before it was stored")
		default:
		}
		close(g.open)
		s.equal("bodies", <-answered, []string{"x\r\n"})
	})
}

// TestClientGoesAway checks that a message counts even if the client disconnects before the reply.
func TestClientGoesAway(t *testing.T) {
	each(t, smtpd.Config{}, func(s *site) {
		c := s.create(checks.Spec{})
		g := newGate(s.store)
		s = s.on(g)
		d := s.dial()
		d.begin(address(c))
		d.send("x\r\n.\r\n")
		<-g.arrived
		d.conn.(*net.TCPConn).SetLinger(0)
		d.conn.Close()
		close(g.open)
		if err := s.server.Shutdown(s.Context()); err != nil {
			s.Error(err)
		}
		s.equal("bodies", s.bodies(c), []string{"x\r\n"})
	})
}

// TestShutdown checks that the server finishes receiving messages and closes idle connections.
func TestShutdown(t *testing.T) {
	each(t, smtpd.Config{}, func(s *site) {
		c := s.create(checks.Spec{})
		idle, greeted, enveloped, data, chunks := s.dial(), s.dial(), s.dial(), s.dial(), s.dial()
		greeted.command(250, "EHLO client.example.org")
		enveloped.command(250, "EHLO client.example.org")
		enveloped.envelope(address(c))
		data.begin(address(c))
		data.send("first half, ")
		chunks.command(250, "EHLO client.example.org")
		chunks.envelope(address(c))
		chunks.chunk(250, "BDAT 10", "one chunk,")

		stopped := make(chan error, 1)
		go func() { stopped <- s.server.Shutdown(s.Context()) }()
		for _, d := range []*dialogue{idle, greeted, enveloped} {
			d.expect(421)
			d.ended()
		}
		if err := <-s.served; err != nil {
			s.Errorf("Serve: %v", err)
		}
		if conn, err := net.Dial("tcp", s.addr); err == nil {
			conn.Close()
			s.Error("the server still takes connections")
		}
		select {
		case err := <-stopped:
			s.Fatalf("Shutdown did not wait: %v", err)
		default:
		}
		data.send("second half\r\n.\r\n")
		data.expect(250)
		data.expect(421)
		data.ended()
		chunks.chunk(250, "BDAT 9 LAST", "two chunks"[:9])
		chunks.expect(421)
		chunks.ended()
		if err := <-stopped; err != nil {
			s.Errorf("Shutdown: %v", err)
		}
		s.equal("bodies", s.bodies(c), []string{"first half, second half\r\n", "one chunk,two chunk"})

		if err := s.server.Shutdown(s.Context()); err != nil {
			s.Errorf("a second Shutdown: %v", err)
		}
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			s.Fatal(err)
		}
		if err := s.server.Serve(listener); err != nil {
			s.Errorf("Serve after Shutdown: %v", err)
		}
	})
}

// TestShutdownCutsOff checks that Shutdown ends with its context, and does not acknowledge unfinished messages.
func TestShutdownCutsOff(t *testing.T) {
	each(t, smtpd.Config{}, func(s *site) {
		c := s.create(checks.Spec{})
		data, chunks := s.dial(), s.dial()
		data.begin(address(c))
		data.send("first half\r\n")
		chunks.command(250, "EHLO client.example.org")
		chunks.envelope(address(c))
		chunks.chunk(250, "BDAT 3", "one")
		ctx, cancel := context.WithTimeout(s.Context(), 10*time.Millisecond)
		defer cancel()
		if err := s.server.Shutdown(ctx); !errors.Is(err, context.DeadlineExceeded) {
			s.Errorf("Shutdown: %v", err)
		}
		for _, d := range []*dialogue{data, chunks} {
			if code, text, _ := d.text.ReadResponse(0); code == 250 {
				s.Errorf("acknowledged: %s", text)
			}
		}
		s.equal("bodies", s.bodies(c), []string(nil))
	})
}
