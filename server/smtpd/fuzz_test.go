package smtpd_test

import (
	"context"
	"io"
	"log/slog"
	"net"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/store"
	"github.com/rollcall-dev/rollcall/server/smtpd"
)

// counter is a store with one check that counts its messages. Any other use panics.
type counter struct {
	store.Store
	id     uuid.UUID
	stored atomic.Int64
}

func (c *counter) Checks(_ context.Context, f store.CheckFilter) ([]checks.Check, error) {
	if f.ID == nil || *f.ID != c.id {
		return nil, nil
	}
	return []checks.Check{{ID: c.id}}, nil
}

func (c *counter) Projects(context.Context, store.ProjectFilter) ([]checks.Project, error) {
	return nil, nil
}

func (c *counter) Update(ctx context.Context, fn func(context.Context, store.Tx) error) error {
	return fn(ctx, counterTx{store: c})
}

type counterTx struct {
	store.Tx
	store *counter
}

func (tx counterTx) LockChecks(_ context.Context, ids []uuid.UUID) ([]*store.Locked, error) {
	var locked []*store.Locked
	for _, id := range ids {
		locked = append(locked, &store.Locked{Check: checks.Check{ID: id}})
	}
	return locked, nil
}

func (tx counterTx) SaveChecks(_ context.Context, locked []*store.Locked) error {
	for _, l := range locked {
		tx.store.stored.Add(int64(len(l.Pings)))
	}
	return nil
}

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
	store := &counter{id: uuid.MustParse("6f5dd2d1-8a4c-4a52-9d5f-0d9e2f1c7b3a")}
	mon, err := monitor.New(store, nil)
	if err != nil {
		f.Fatal(err)
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
	if answers, err := session(f, listener.Addr().String(), []byte(accepted)); store.stored.Load() != 1 || !acknowledged.Match(answers) {
		f.Fatalf("a valid message: %d stored, %v: %s", store.stored.Load(), err, answers)
	}
	f.Fuzz(func(t *testing.T, sent []byte) {
		before := store.stored.Load()
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
		stored, acks := store.stored.Load()-before, int64(len(acknowledged.FindAll(answers, -1)))
		if acks > stored {
			t.Errorf("%d messages were acknowledged, %d stored", acks, stored)
		}
		if err == nil && acks < stored {
			t.Errorf("%d messages were stored, %d acknowledged: %q", stored, acks, answers)
		}
	})
}
