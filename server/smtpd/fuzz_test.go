package smtpd_test

import (
	"context"
	"io"
	"log/slog"
	"net"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/dbtest"
	"github.com/rollcall-dev/rollcall/server/smtpd"
)

var (
	answerLine   = regexp.MustCompile(`^[2-5][0-9][0-9][ -]`)
	acknowledged = regexp.MustCompile(`(?m)^250 2\.0\.0 OK: queued`)
)

// session sends bytes over a new connection and returns all replies of the server.
func session(t testing.TB, address string, sent []byte) ([]byte, error) {
	conn, err := net.Dial("unix", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(patience))
	go func() {
		conn.Write(sent)
		conn.(*net.UnixConn).CloseWrite()
	}()
	return io.ReadAll(conn)
}

// FuzzSession sends arbitrary bytes and disconnects. The server must end the connection, reply in lines of SMTP, and
// acknowledge no more messages than it stored. It may store messages that it can no longer acknowledge.
func FuzzSession(f *testing.F) {
	mon, err := monitor.New(dbtest.Memory(f), nil)
	if err != nil {
		f.Fatal(err)
	}
	project, err := mon.OpenProject(f.Context(), "p")
	if err != nil {
		f.Fatal(err)
	}
	id := uuid.MustParse("6f5dd2d1-8a4c-4a52-9d5f-0d9e2f1c7b3a")
	if _, err := project.Create(f.Context(), checks.Spec{ID: id}); err != nil {
		f.Fatal(err)
	}
	stored := func(t testing.TB) int64 {
		t.Helper()
		c, err := mon.Check(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		return c.NPings
	}
	cert, _ := certificate(f)
	server, err := smtpd.New(mon, &smtpd.Config{Domain: domain, TLS: serverTLS(cert), MaxMessageBytes: 1000, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		f.Fatal(err)
	}
	listener, err := net.Listen("unix", filepath.Join(f.TempDir(), "smtp")) // needs no ports
	if err != nil {
		f.Fatal(err)
	}
	go server.Serve(listener)
	f.Cleanup(func() { server.Shutdown(context.Background()) })

	transaction := "MAIL FROM:<a@b.example> BODY=8BITMIME SMTPUTF8 SIZE=10\r\nRCPT TO:<6f5dd2d1-8a4c-4a52-9d5f-0d9e2f1c7b3a@" + domain + ">\r\n"
	for _, sent := range []string{
		"", "QUIT\r\n", "EHLO x\r\nSTARTTLS\r\nEHLO x\r\n", "HELO x\nNOOP\nVRFY x\nRSET\nHELP\n", "EHLO x\r\nAUTH PLAIN AGEAYg==\r\n",
		"EHLO x\r\n" + transaction + "DATA\r\nSubject: x\r\n\r\nbody\r\n.\r\nQUIT\r\n",
		"EHLO x\r\n" + transaction + transaction + "RSET\r\n" + transaction + "DATA\r\n..\r\n.\n\n.\r\r\n.\r\n.\r\n",
		"EHLO x\r\n" + transaction + "BDAT 3\r\nabcBDAT 0 LAST\r\n" + transaction + "BDAT 4 LAST\r\nab",
		"EHLO x\r\n" + transaction + "BDAT 3\r\nabcRSET\r\n" + transaction + "BDAT 2000 LAST\r\n",
		"EHLO x\r\n" + transaction + "DATA\r\n" + strings.Repeat("x", 1500) + "\r\n.\r\n",
		"EHLO x\r\nMAIL FROM:<>\r\nRCPT TO:<\"a\\\"b\"@" + domain + ">\r\nRCPT TO:<@a:b@c> NOTIFY=NEVER\r\n",
	} {
		f.Add([]byte(sent))
	}
	// Without a stored message, the comparison below would test nothing.
	accepted := "EHLO x\r\n" + transaction + "DATA\r\nbody\r\n.\r\nQUIT\r\n"
	if answers, err := session(f, listener.Addr().String(), []byte(accepted)); stored(f) != 1 || !acknowledged.Match(answers) {
		f.Fatalf("a valid message: %d stored, %v: %s", stored(f), err, answers)
	}
	f.Fuzz(func(t *testing.T, sent []byte) {
		before := stored(t)
		answers, err := session(t, listener.Addr().String(), sent)
		if ne, ok := err.(net.Error); ok && ne.Timeout() {
			t.Fatalf("the connection was not closed after %q", answers)
		}
		if err == nil && !strings.Contains(string(answers), "Ready to start TLS") { // neither encrypted nor cut off by a reset
			for line := range strings.Lines(string(answers)) {
				if !strings.HasSuffix(line, "\r\n") || !answerLine.MatchString(line) {
					t.Errorf("answer %q", line)
				}
			}
		}
		added, acks := stored(t)-before, int64(len(acknowledged.FindAll(answers, -1)))
		if acks > added {
			t.Errorf("%d messages were acknowledged, %d stored", acks, added)
		}
		if err == nil && acks < added {
			t.Errorf("%d messages were stored, %d acknowledged: %q", added, acks, answers)
		}
	})
}
