package postgres_test

import (
	"database/sql"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/dbtest"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/postgres"
)

// silent accepts connections and never answers, like a machine that is gone. It returns its address and how many
// connections there were.
func silent(t *testing.T) (address string, accepted *atomic.Int64) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	accepted = new(atomic.Int64)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			accepted.Add(1)
			defer conn.Close()
		}
	}()
	t.Cleanup(func() {
		listener.Close()
		<-ended
	})
	return listener.Addr().String(), accepted
}

// withHosts puts other hosts before or after those of a URL.
func withHosts(url, format string, hosts ...any) string {
	before, after, _ := strings.Cut(url, "@")
	own, rest, _ := strings.Cut(after, "/")
	return before + "@" + fmt.Sprintf(format, append([]any{own}, hosts...)...) + "/" + rest
}

// TestSilentHost puts a host that never answers before the database. A connection does not wait for its
// connect_timeout, which is longer than the test may take, and most connections do not ask it at all.
func TestSilentHost(t *testing.T) {
	gone, accepted := silent(t)
	db, err := postgres.OpenDB(withHosts(dbtest.PostgreSQL(t).Plain(t).URL, "%[2]s,%[1]s", gone) + "?connect_timeout=3600")
	must(t, err)
	defer db.Close()
	db.SetMaxIdleConns(-1)
	const connections = 20
	for range connections {
		must(t, db.PingContext(t.Context()))
	}
	if n := accepted.Load(); n == 0 || n >= connections/2 {
		t.Errorf("the silent host was asked for %d of %d connections", n, connections)
	}
}

// relay passes connections on to an address until the test makes it hold back all bytes.
type relay struct {
	net.Listener
	to   string
	hold chan struct{} // closed when it keeps them

	mu    sync.Mutex
	conns []net.Conn
}

func newRelay(t *testing.T, to string) *relay {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	r := &relay{Listener: listener, to: to, hold: make(chan struct{})}
	var running sync.WaitGroup
	running.Go(func() {
		for {
			near, err := r.Accept()
			if err != nil {
				return
			}
			far, err := net.Dial("tcp", to)
			if err != nil {
				near.Close()
				continue
			}
			r.mu.Lock()
			r.conns = append(r.conns, near, far)
			r.mu.Unlock()
			running.Go(func() { r.copy(far, near) })
			running.Go(func() { r.copy(near, far) })
		}
	})
	t.Cleanup(func() {
		listener.Close()
		r.mu.Lock()
		for _, conn := range r.conns {
			conn.Close()
		}
		r.mu.Unlock()
		running.Wait()
	})
	return r
}

func (r *relay) copy(to, from net.Conn) {
	buffer := make([]byte, 4096)
	for {
		n, err := from.Read(buffer)
		if err != nil {
			to.Close()
			return
		}
		select {
		case <-r.hold:
		default:
			_, _ = to.Write(buffer[:n]) // fails only if the connection has ended
		}
	}
}

// TestSilentConnections silences the host to which all connections of a pool lead. The next use finds that out, discards
// them all and connects to the next host, long before TCP would give up.
func TestSilentConnections(t *testing.T) {
	url := dbtest.PostgreSQL(t).Plain(t).URL
	host, _, _ := strings.Cut(url[strings.Index(url, "@")+1:], "/")
	r := newRelay(t, host)
	db, err := postgres.OpenDB(withHosts(url, "%[2]s,%[1]s", r.Addr().String()) + "?connect_timeout=3600")
	must(t, err)
	defer db.Close()
	var conns []*sql.Conn
	for range 20 {
		conn, err := db.Conn(t.Context())
		must(t, err)
		conns = append(conns, conn)
	}
	for _, conn := range conns {
		must(t, conn.Close())
	}
	close(r.hold)
	for i := range conns {
		conns[i], err = db.Conn(t.Context())
		must(t, err)
		defer conns[i].Close()
		must(t, conns[i].PingContext(t.Context()))
	}
}

// TestHostsFail names each host that was not reached and why, and shows no password.
func TestHostsFail(t *testing.T) {
	url := dbtest.PostgreSQL(t).Plain(t).URL
	gone, _ := silent(t)
	nobody := withHosts(url, "127.0.0.1:1,%[2]s", gone) + "?connect_timeout=1"
	_, err := postgres.Open(t.Context(), strings.Replace(nobody, "postgres@", "postgres:secret@", 1))
	want := "postgres: 127.0.0.1:1," + gone + nobody[strings.LastIndex(nobody, "/"):strings.Index(nobody, "?")] +
		": 127.0.0.1:1: dial tcp 127.0.0.1:1: connect: connection refused; " + gone + ": no answer within the connect_timeout"
	if err == nil || err.Error() != want || !errors.Is(err, checks.ErrUnavailable) {
		t.Errorf("error %v, want %s", err, want)
	}
	_, err = postgres.Open(t.Context(), withHosts(url, "%[2]s", gone)+"?connect_timeout=1")
	if !errors.Is(err, checks.ErrUnavailable) || !strings.HasSuffix(err.Error(), ": no answer within the connect_timeout") {
		t.Errorf("one silent host: error %v", err)
	}
}

// TestReadOnlyHost connects to a database that takes no writes by a URL of one host, which is allowed, and by one with
// several, of which none will do.
func TestReadOnlyHost(t *testing.T) {
	url := dbtest.PostgreSQL(t).Plain(t).URL
	for _, test := range []struct{ hosts, parameters, want string }{
		{"%[1]s", "", ""},
		{"%[1]s", "&target_session_attrs=read-write", "the server takes no writes"},
		{"127.0.0.1:1,%[1]s", "", ": the server takes no writes"},
	} {
		db, err := postgres.OpenDB(withHosts(url, test.hosts) + "?options=-c%20default_transaction_read_only%3Don" + test.parameters)
		must(t, err)
		defer db.Close()
		err = db.PingContext(t.Context())
		if (err == nil) != (test.want == "") || !strings.HasSuffix(postgres.Explain(err), test.want) {
			t.Errorf("%s %s: error %v", test.hosts, test.parameters, err)
		}
	}
}

func TestName(t *testing.T) {
	for url, want := range map[string]string{
		"postgres://u:secret@db/jobs":                                  "db:5432/jobs",
		"postgres://u:secret@db1,db2:5433/jobs?sslmode=prefer":         "db1:5432,db2:5433/jobs",
		"postgres://u:secret@/x?host=2001:db8::1,2001:db8::2&port=1,2": "[2001:db8::1]:1,[2001:db8::2]:2/x",
	} {
		if got, err := postgres.Name(url); got != want || err != nil {
			t.Errorf("%s: %s, error %v, want %s", url, got, err, want)
		}
	}
	const hint = "several hosts need a port each or none, and IPv6 addresses the parameter host"
	for _, url := range []string{"postgres://u:secret@db1:1,db2/jobs", "postgres://u:secret@[::1]:1,[::2]:1/jobs"} {
		if _, err := postgres.Name(url); err == nil || !strings.HasSuffix(err.Error(), hint) {
			t.Errorf("%s: error %v", url, err)
		}
	}
}
