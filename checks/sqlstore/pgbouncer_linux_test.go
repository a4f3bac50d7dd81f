package sqlstore_test

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"github.com/rollcall-dev/rollcall/checks"
	internal "github.com/rollcall-dev/rollcall/checks/internal/store"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/sqlstore"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/dbtest"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/postgres"
	"github.com/rollcall-dev/rollcall/pings"
)

// startPgBouncer starts PgBouncer in front of the PostgreSQL server of the tests. The function that it returns gives the URL
// of a new database behind it.
func startPgBouncer(t *testing.T, mode string) func(t *testing.T) dbtest.DB {
	t.Helper()
	program, err := exec.LookPath(cmp.Or(os.Getenv("ROLLCALL_TEST_PGBOUNCER"), "pgbouncer"))
	if err != nil {
		skip := t.Skip
		if os.Getenv("ROLLCALL_TEST_REQUIRE") == "all" {
			skip = t.Fatal
		}
		skip("no PgBouncer to test with (apt-get install pgbouncer, or name it in ROLLCALL_TEST_PGBOUNCER): ", err)
	}
	server, err := url.Parse(dbtest.PostgreSQL(t).Plain(t).URL)
	must(t, err)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	addr := listener.Addr().String()
	host, port, _ := strings.Cut(addr, ":")
	must(t, listener.Close())
	args := []string{filepath.Join(t.TempDir(), "pgbouncer.ini")}
	must(t, os.WriteFile(args[0], fmt.Appendf(nil, `[databases]
* = host=%s port=%s user=%s
[pgbouncer]
listen_addr = %s
listen_port = %s
unix_socket_dir =
auth_type = any
pool_mode = %s
`, server.Hostname(), server.Port(), server.User.Username(), host, port, mode), 0o644))
	if os.Getuid() == 0 { // as which PgBouncer does not run
		args = append(args, "-u", "postgres")
	}
	pooler := exec.Command(program, args...)
	var output bytes.Buffer
	pooler.Stdout, pooler.Stderr = &output, &output
	pooler.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	must(t, pooler.Start())
	t.Cleanup(func() {
		pooler.Process.Kill()
		pooler.Wait()
		if t.Failed() {
			t.Logf("PgBouncer printed:\n%s", &output)
		}
	})
	for deadline := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		conn, err := net.Dial("tcp", addr)
		if err == nil {
			conn.Close()
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("PgBouncer did not start: ", err)
		}
	}
	return func(t *testing.T) dbtest.DB {
		u, err := url.Parse(dbtest.PostgreSQL(t).Plain(t).URL)
		must(t, err)
		u.Host = addr
		return dbtest.DB{Name: "pgbouncer", URL: u.String()}
	}
}

// TestPgBouncerContract runs what uses locks and several connections at once in transaction mode.
func TestPgBouncerContract(t *testing.T) {
	database := startPgBouncer(t, "transaction")
	runContract(t, func(t *testing.T) *sqlstore.Database { return database(t).Open(t).Database() },
		"CancelledContext", "LostUpdates", "LockOrder", "CheckRoundTrip", "MixedBatch", "ConcurrentBatches", "DueChecksAreShared",
		"PruneWhilePinged", "FirstProject", "DeliveriesAreShared")
}

// TestPgBouncerServers has servers on a database in transaction mode, which start and migrate at once, and ping a check
// at once. One hears that the other has changed something, by polling.
func TestPgBouncerServers(t *testing.T) {
	db := startPgBouncer(t, "transaction")(t)
	const servers, each = 4, 50
	mons := make([]*monitor.Monitor, servers)
	together := func(do func(i int) error) {
		t.Helper()
		var wg sync.WaitGroup
		failed := make([]error, servers)
		for i := range servers {
			wg.Go(func() { failed[i] = do(i) })
		}
		wg.Wait()
		must(t, errors.Join(failed...))
	}
	together(func(i int) error {
		store, err := postgres.Open(t.Context(), db.URL)
		if err != nil {
			return err
		}
		t.Cleanup(func() { store.Close() })
		mons[i], err = monitor.New(store, nil)
		return err
	})
	project, err := mons[0].OpenProject(t.Context(), "p")
	must(t, err)
	check, err := project.Create(t.Context(), checks.Spec{})
	must(t, err)
	together(func(i int) error {
		for range each {
			if _, err := mons[i].Ping(t.Context(), check.ID, pings.Signal{}); err != nil {
				return err
			}
		}
		return nil
	})
	check, err = project.Check(t.Context(), check.ID)
	if err != nil || check.NPings != servers*each {
		t.Errorf("%d pings, want %d; error %v", check.NPings, servers*each, err)
	}

	changes := mons[0].Changes(t.Context())
	heard := func() {
		t.Helper()
		select {
		case change := <-changes:
			if !change.All {
				t.Errorf("change %+v", change)
			}
		case <-time.After(2 * time.Minute):
			t.Fatal("no change arrived")
		}
	}
	heard() // at first
	_, err = mons[1].Project(check.Check.ProjectID).Pause(t.Context(), check.ID)
	must(t, err)
	heard()
}

// TestPgBouncerSessions opens stores in the other modes. Statement mode has no transactions.
func TestPgBouncerSessions(t *testing.T) {
	store, err := postgres.Open(t.Context(), startPgBouncer(t, "session")(t).URL)
	must(t, err)
	must(t, store.Close())
	_, err = postgres.Open(t.Context(), startPgBouncer(t, "statement")(t).URL)
	if err == nil || !strings.Contains(err.Error(), "statement pooling mode") {
		t.Errorf("error %v", err)
	}
}

// TestPgBouncerOwnPool uses the pool of a program that prepares statements. If PgBouncer loses them, as it does before
// version 1.21, the error says what to set.
func TestPgBouncerOwnPool(t *testing.T) {
	config, err := pgx.ParseConfig(startPgBouncer(t, "transaction")(t).URL)
	must(t, err)
	conn, err := pgx.ConnectConfig(t.Context(), config)
	must(t, err)
	defer conn.Close(context.Background())
	tx, err := conn.Begin(t.Context())
	must(t, err)
	_, err = tx.Prepare(t.Context(), "mine", "SELECT 1")
	must(t, err)
	var loses bool
	must(t, tx.QueryRow(t.Context(), "SELECT EXISTS (SELECT FROM pg_prepared_statements WHERE name = 'mine')").Scan(&loses))
	must(t, tx.Rollback(t.Context()))

	for range 2 { // the second finds the statements of the first in the session
		db := stdlib.OpenDB(*config)
		defer db.Close()
		var store *sqlstore.Store
		if store, err = sqlstore.Open(t.Context(), bun.NewDB(db, pgdialect.New())); err == nil {
			_, err = store.Database().Setting(t.Context(), time.Now(), internal.Setting{Name: "name", Value: "value"})
		}
	}
	if loses != (err != nil && strings.Contains(err.Error(), "default_query_exec_mode=cache_describe")) || !loses && err != nil {
		t.Errorf("PgBouncer loses statements: %t; error %v", loses, err)
	}
}

// TestStatementsArePrepared has a pool count the statements of a session, of which this is one.
func TestStatementsArePrepared(t *testing.T) {
	db, err := postgres.OpenDB(dbtest.PostgreSQL(t).URL)
	must(t, err)
	defer db.Close()
	var n int
	must(t, db.QueryRow("SELECT count(*) FROM pg_prepared_statements WHERE $1", true).Scan(&n))
	if n != 1 {
		t.Errorf("%d statements are prepared without a pooler", n)
	}
}

// TestPgBouncerLosesSessions ends the sessions behind PgBouncer, as a restart of PostgreSQL does. Pings go on, and each is
// there once.
func TestPgBouncerLosesSessions(t *testing.T) {
	db := startPgBouncer(t, "transaction")(t)
	store, err := postgres.Open(t.Context(), db.URL)
	must(t, err)
	defer store.Close()
	mon, err := monitor.New(store, nil)
	must(t, err)
	project, err := mon.OpenProject(t.Context(), "p")
	must(t, err)
	check, err := project.Create(t.Context(), checks.Spec{})
	must(t, err)
	u, err := url.Parse(db.URL)
	must(t, err)
	admin := dbtest.PostgreSQL(t).Plain(t).Bun(t)
	for n := range int64(3) {
		_, err := admin.DB.ExecContext(t.Context(), "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE datname = $1", u.Path[1:])
		must(t, err)
		ping, err := mon.Ping(t.Context(), check.ID, pings.Signal{})
		for end := time.Now().Add(patience); errors.Is(err, checks.ErrUnavailable) && time.Now().Before(end); {
			t.Logf("try again: %v", err)
			ping, err = mon.Ping(t.Context(), check.ID, pings.Signal{})
		}
		if err != nil || ping.N != n+1 {
			t.Errorf("ping %d has number %d, error %v", n+1, ping.N, err)
		}
	}
}

// TestNotificationsOfOthers sends a notification to a connection of the pool, as a pooler does that shares sessions. The
// connection does not keep it.
func TestNotificationsOfOthers(t *testing.T) {
	db, err := postgres.OpenDB(dbtest.PostgreSQL(t).URL)
	must(t, err)
	defer db.Close()
	conn, err := db.Conn(t.Context())
	must(t, err)
	defer conn.Close()
	for _, statement := range []string{"LISTEN others", "NOTIFY others", "SELECT 1"} {
		_, err = conn.ExecContext(t.Context(), statement)
		must(t, err)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	must(t, conn.Raw(func(c any) error {
		if n, err := c.(*stdlib.Conn).Conn().WaitForNotification(ended); err == nil {
			t.Errorf("the connection has kept %v", n)
		}
		return nil
	}))
}
