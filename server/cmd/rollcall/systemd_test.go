package main

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rollcall-dev/rollcall/badges"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/dbtest"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/sqlite"
	"github.com/rollcall-dev/rollcall/server"
)

// listenNotify stands for systemd: it returns its socket for notifications and the path of that.
func listenNotify(t *testing.T) (*net.UnixConn, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "notify")
	socket, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Skip("this system has no notification sockets: ", err)
	}
	t.Cleanup(func() { socket.Close() })
	return socket, path
}

// received returns the variables of the next message.
func received(t *testing.T, socket *net.UnixConn) []string {
	t.Helper()
	buffer := make([]byte, 4096)
	socket.SetReadDeadline(time.Now().Add(patience))
	n, err := socket.Read(buffer)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(string(buffer[:n]), "\n")
}

// await reads messages until one has the variable, and returns that one.
func await(t *testing.T, socket *net.UnixConn, variable string) []string {
	t.Helper()
	for {
		if message := received(t, socket); slices.Contains(message, variable) {
			return message
		}
	}
}

// startNotifying runs "rollcall serve" with a watchdog that wants a sign of life each second.
func startNotifying(notify, dir string, args ...string) (*process, error) {
	return startProcess(append(cleanEnv(), "NOTIFY_SOCKET="+notify, "WATCHDOG_USEC=1000000"), dir, args...)
}

// TestNotify follows a server through its life. It is ready only after it could open its database.
func TestNotify(t *testing.T) {
	socket, notify := listenNotify(t)
	path := filepath.Join(t.TempDir(), "rollcall.db")
	db, err := sqlite.OpenDB(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	lock, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var p *process
	started := make(chan error, 1)
	go func() {
		var err error
		p, err = startNotifying(notify, t.TempDir(), "--database", "sqlite:"+path, "--shutdown-delay", "1s", "--shutdown-timeout", "1m")
		started <- err
	}()
	opening := []string{"EXTEND_TIMEOUT_USEC=60000000", "STATUS=opening the database sqlite:" + path}
	if diff := cmp.Diff(opening, received(t, socket)); diff != "" {
		t.Errorf("while the database is locked (-want +got):\n%s", diff)
	}
	lock.Rollback()
	if err := <-started; err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.kill)
	ready := []string{"READY=1", "STATUS=listening on " + p.url}
	if diff := cmp.Diff(ready, await(t, socket, "READY=1")); diff != "" {
		t.Errorf("when it listens (-want +got):\n%s", diff)
	}
	for range 3 {
		if diff := cmp.Diff([]string{"WATCHDOG=1"}, received(t, socket)); diff != "" {
			t.Errorf("while it works (-want +got):\n%s", diff)
		}
	}
	if state, err := p.stop(syscall.SIGTERM); err != nil || state.ExitCode() != 0 {
		t.Errorf("the server ended with %v, %v:\n%s", state, err, p.stderr.String())
	}
	if diff := cmp.Diff([]string{"STOPPING=1", "EXTEND_TIMEOUT_USEC=96000000", "STATUS=finishing requests"}, await(t, socket, "STOPPING=1")); diff != "" {
		t.Errorf("when it stops (-want +got):\n%s", diff)
	}
}

// TestNotifyWithoutDatabase: a server that takes pings to its spool is ready, and a database that is away is no reason to
// restart it.
func TestNotifyWithoutDatabase(t *testing.T) {
	pg := dbtest.Server(t)
	database, err := pg.Create(t.Context(), "notify")
	if err != nil {
		t.Fatal(err)
	}
	pg.Stop()
	socket, notify := listenNotify(t)
	p, err := startNotifying(notify, t.TempDir(), "--database", database, "--spool", t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.kill)
	waiting := []string{"READY=1", "STATUS=listening on " + p.url + "; the database is unavailable, pings go to the spool"}
	if diff := cmp.Diff(waiting, await(t, socket, "READY=1")); diff != "" {
		t.Errorf("without a database (-want +got):\n%s", diff)
	}
	pingIs(t, p, "/ping/5c1ae2b0-0d6b-4b5c-8a44-4d0a4a0f0f0f", 200)
	await(t, socket, "WATCHDOG=1")
	if err := pg.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	await(t, socket, "STATUS=listening on "+p.url)
	pg.Stop()
	waitForLog(t, p, "cannot look for overdue checks")
	for err := error(nil); err == nil; { // skip older messages
		socket.SetReadDeadline(time.Now().Add(10 * time.Millisecond))
		_, err = socket.Read(make([]byte, 1))
	}
	await(t, socket, "WATCHDOG=1")
	await(t, socket, "WATCHDOG=1")
	p.cmd.Process.Signal(syscall.SIGTERM)
	await(t, socket, "STOPPING=1")
}

// TestNotifyStart asks for time to start again and again, and no more once the server is ready.
func TestNotifyStart(t *testing.T) {
	socket, notify := listenNotify(t)
	t.Setenv("NOTIFY_SOCKET", notify)
	t.Setenv("WATCHDOG_USEC", "soon")
	var log output
	s := newSystemd(slog.New(slog.NewTextHandler(&log, nil)))
	s.startEvery = time.Millisecond
	s.starting(t.Context(), "migrating")
	for _, want := range [][]string{
		{"EXTEND_TIMEOUT_USEC=60000000", "STATUS=migrating"}, {"EXTEND_TIMEOUT_USEC=60000000"}, {"EXTEND_TIMEOUT_USEC=60000000"},
	} {
		if diff := cmp.Diff(want, received(t, socket)); diff != "" {
			t.Errorf("at the start (-want +got):\n%s", diff)
		}
	}
	s.ready("listening", nil)
	await(t, socket, "READY=1")
	s.stopping("stopping", time.Second)
	if diff := cmp.Diff([]string{"STOPPING=1", "EXTEND_TIMEOUT_USEC=31000000", "STATUS=stopping"}, received(t, socket)); diff != "" {
		t.Errorf("after the start (-want +got):\n%s", diff)
	}
	s.close()
	if !strings.Contains(log.String(), "the watchdog of systemd is off") {
		t.Errorf("a wrong WATCHDOG_USEC was not logged:\n%s", log.String())
	}
	socket.Close()
	s.send("READY=1")
	if !strings.Contains(log.String(), "systemd cannot be notified") {
		t.Errorf("a closed socket was not logged:\n%s", log.String())
	}
}

// trouble is a store on which the watcher fails, or hangs without regard to its context.
type trouble struct {
	dbtest.Hooked
	err  atomic.Pointer[error]
	hang atomic.Pointer[hang]
}

// hang is how long an operation hangs: it sends to begun, and waits until ended is closed.
type hang struct{ begun, ended chan struct{} }

func (s *trouble) around(op string, do func() error) error {
	if op != "Update" && op != "Outlook" {
		return do()
	}
	if h := s.hang.Load(); h != nil {
		h.begun <- struct{}{}
		<-h.ended
	}
	if err := s.err.Load(); err != nil {
		return *err
	}
	return do()
}

// TestWatchdog: the watchdog is fed while the watcher works, also without a database, and starves while it hangs.
func TestWatchdog(t *testing.T) {
	socket, notify := listenNotify(t)
	t.Setenv("NOTIFY_SOCKET", notify)
	var late atomic.Int64 // how far the monitor's clock is ahead
	db := new(trouble)
	db.Hooked = dbtest.Hooked{Store: dbtest.Memory(t), Around: db.around}
	quiet := slog.New(slog.DiscardHandler)
	mon, err := monitor.New(db, &monitor.Config{
		Logger: quiet, WatchEvery: time.Millisecond,
		Now: func() time.Time { return time.Now().Add(time.Duration(late.Load())) },
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- mon.Run(ctx) }()

	s := newSystemd(quiet)
	ticks, looked := make(chan time.Time), make(chan bool)
	f := frontOf(t, mon)
	go s.watch(ticks, func() string {
		defer func() { looked <- true }()
		return f.problem()
	})
	s.ready("listening", nil)
	await(t, socket, "READY=1")
	is := func(when string, want ...string) {
		t.Helper()
		ticks <- time.Time{}
		<-looked
		if diff := cmp.Diff(want, received(t, socket)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", when, diff)
		}
	}
	is("while all is well", "WATCHDOG=1")
	away := fmt.Errorf("%w: away", checks.ErrUnavailable)
	db.err.Store(&away)
	late.Add(int64(time.Hour))
	if !eventually(patience, func() bool { return mon.Live().OK() }) {
		t.Error("the watcher does not get over a database that is away")
	}
	is("while the database is away", "WATCHDOG=1")
	db.err.Store(nil)

	h := hang{begun: make(chan struct{}), ended: make(chan struct{})}
	db.hang.Store(&h)
	<-h.begun
	late.Add(int64(time.Hour))
	is("when the watcher hangs", "STATUS=watcher: hangs")
	ticks <- time.Time{} // sends nothing
	<-looked
	db.hang.Store(nil)
	close(h.ended)
	if !eventually(patience, func() bool { return mon.Live().OK() }) {
		t.Error("the watcher does not recover")
	}
	is("when it works again", "WATCHDOG=1", "STATUS=listening")
	is("afterwards", "WATCHDOG=1")
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	is("when the watcher has ended", "STATUS=watcher: has stopped")
	s.close()
}

// TestWatchdogOfHandler: a handler that hangs starves the watchdog.
func TestWatchdogOfHandler(t *testing.T) {
	socket, notify := listenNotify(t)
	t.Setenv("NOTIFY_SOCKET", notify)
	s := newSystemd(slog.New(slog.DiscardHandler))
	f := new(front)
	entered, release := make(chan struct{}), make(chan struct{})
	handler := http.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		entered <- struct{}{}
		<-release
		w.WriteHeader(http.StatusOK)
	}))
	f.handler.Store(&handler)
	ticks := make(chan time.Time, 2)
	go s.watch(ticks, f.problem)
	ticks <- time.Time{}
	ticks <- time.Time{}
	<-entered
	s.send("READY=1")
	if diff := cmp.Diff([]string{"READY=1"}, received(t, socket)); diff != "" {
		t.Errorf("while the handler hangs (-want +got):\n%s", diff)
	}
	close(release)
	if diff := cmp.Diff([]string{"WATCHDOG=1"}, received(t, socket)); diff != "" {
		t.Errorf("when the handler answers (-want +got):\n%s", diff)
	}
	<-entered
	s.close()
}

// frontOf returns an HTTP server on a monitor.
func frontOf(t *testing.T, mon *monitor.Monitor) *front {
	t.Helper()
	signer, err := badges.NewSigner([]byte("a secret of this test"))
	if err != nil {
		t.Fatal(err)
	}
	web, err := server.New(mon, &server.Config{BaseURL: "https://example.org/jobs", PingBaseURL: "https://example.org/ping", Signer: signer})
	if err != nil {
		t.Fatal(err)
	}
	var handler http.Handler = web
	f := new(front)
	f.handler.Store(&handler)
	return f
}
