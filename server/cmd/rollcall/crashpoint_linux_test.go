package main

import (
	"database/sql"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/rollcall-dev/rollcall/checks/sqlstore/dbtest"
	"github.com/rollcall-dev/rollcall/server/cmd/rollcall/internal/console"
)

// After a crash at any instant, the database opens without repair and has every acknowledged ping. The test stops the
// server while it copies the files, so that they are from one instant.
func TestCrashPoints(t *testing.T) {
	const copies, slugs, jobs, pause = 12, 3, 8, 150 // pings between two copies
	db := dbtest.SQLite(t)
	p := start(t, db.URL)
	key := keyOf(t, p)
	var list []apiCheck
	for i := range slugs {
		list = append(list, createCheck(t, p, key, fmt.Sprintf("job-%d", i)))
	}
	l := startLoad(t, p, list, jobs)
	dirs := make([]string, copies)
	names := make([][]string, copies)
	for i := range copies {
		l.waitFor(t, pause, 0)
		if err := p.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
		for _, c := range list {
			names[i] = append(names[i], l.names(c.UUID)...)
		}
		dirs[i] = copyDatabase(t, db.Path())
		if err := p.cmd.Process.Signal(syscall.SIGCONT); err != nil {
			t.Fatal(err)
		}
	}
	l.finish()
	l.verify(t)
	for i, dir := range dirs {
		dead := dbtest.DB{Name: "sqlite", URL: "sqlite:" + filepath.Join(dir, "rollcall.db")}
		mon := openMonitor(t, dead)
		var log []string
		for _, c := range list {
			log = append(log, logOf(t, mon, c)...)
		}
		if gone := lost(names[i], log); len(gone) > 0 {
			t.Errorf("copy %d has lost %d of %d pings, the first %q", i, len(gone), len(names[i]), gone[0])
		}
		var verdict string
		if err := dead.Bun(t).QueryRowContext(t.Context(), "PRAGMA integrity_check").Scan(&verdict); err != nil || verdict != "ok" {
			t.Errorf("copy %d is damaged: %s, %v", i, verdict, err)
		}
	}
}

// copyDatabase copies the files of an SQLite database that a crash leaves: the database and the write-ahead log.
func copyDatabase(t *testing.T, path string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for _, suffix := range []string{"", "-wal"} {
		data, err := os.ReadFile(path + suffix)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "rollcall.db"+suffix), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// While the disk is full, the server refuses pings but still shows the acknowledged ones. It recovers by itself once there
// is room.
func TestDiskFull(t *testing.T) {
	db := dbtest.SQLite(t)
	p := start(t, db.URL)
	list := []apiCheck{createCheck(t, p, keyOf(t, p), "job")}
	l := startLoad(t, p, list, 4)
	for range 2 {
		l.waitFor(t, 50, 0)
		limitFiles(t, p, fileSize(t, db.Path()+"-wal"))
		l.waitFor(t, 0, 20)
		var c apiCheck
		call(t, p, keyOf(t, p), http.MethodGet, "/api/v3/checks/"+list[0].UUID, "", &c)
		if acknowledged, _ := l.counts(); c.NPings < int64(acknowledged) {
			t.Errorf("with the disk full, n_pings is %d after %d acknowledged pings", c.NPings, acknowledged)
		}
		limitFiles(t, p, unix.RLIM_INFINITY)
		l.waitFor(t, 50, 0)
	}
	l.finish()
	l.verify(t)
	p.kill()
	if gone := lost(l.names(list[0].UUID), logOf(t, openMonitor(t, db), list[0])); len(gone) > 0 {
		t.Errorf("%d pings are lost, the first %q", len(gone), gone[0])
	}
}

// limitFiles bounds the size of a process's files. Writes beyond it fail, as on a full disk.
func limitFiles(t *testing.T, p *process, bytes uint64) {
	t.Helper()
	limit := unix.Rlimit{Cur: bytes, Max: unix.RLIM_INFINITY}
	if err := unix.Prlimit(p.cmd.Process.Pid, unix.RLIMIT_FSIZE, &limit, nil); err != nil {
		t.Fatal(err)
	}
}

func fileSize(t *testing.T, path string) uint64 {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return uint64(info.Size())
}

// TestDatabaseLockedByAnother has another process, or a server that is frozen in a transaction, keep the lock of the file. A server with
// a spool takes all pings at once, one without refuses them with 503 and is not ready; both say why. Reads always work. Afterwards all
// acknowledged pings are recorded.
func TestDatabaseLockedByAnother(t *testing.T) {
	t.Parallel() // it waits
	for name, lock := range map[string]func(t *testing.T, db dbtest.DB, key string) (unlock func()){
		"program": lockFile, "frozen server": freezeServer,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := dbtest.SQLite(t)
			spooling, plain := start(t, db.URL, "--spool", t.TempDir()), start(t, db.URL, "--rate-limit", "0")
			key := keyOf(t, spooling)
			list := []apiCheck{createCheck(t, plain, key, "job"), createCheck(t, plain, key, "other")}
			pingKey := regexp.MustCompile(`ping key +(\w+)`).FindStringSubmatch(spooling.stdout.String())[1]
			unlock := lock(t, db, key)
			refused := startLoad(t, plain, list[1:], 4)
			for range 30 {
				pingIs(t, spooling, "/ping/"+list[0].UUID, 200)
				pingIs(t, spooling, "/ping/"+pingKey+"/job", 200)
			}
			const why = "database: is locked by another process"
			readyIs := func(p *process, status int, want string) {
				t.Helper()
				got, text := 0, ""
				if !eventually(patience, func() bool {
					got, text, _ = request{method: http.MethodGet, url: p.url + "/readyz?verbose"}.do()
					return got == status && strings.Contains(text, want)
				}) {
					t.Errorf("readiness: %d %s", got, text)
				}
			}
			readyIs(spooling, 200, why+"; pings go to the spool")
			readyIs(plain, 503, why)
			refused.waitFor(t, 0, 1)
			var c apiCheck
			call(t, plain, key, http.MethodGet, "/api/v3/checks/"+list[1].UUID, "", &c)
			unlock()
			refused.waitFor(t, 50, 0)
			refused.finish()
			refused.verify(t)
			if !eventually(patience, func() bool {
				call(t, plain, key, http.MethodGet, "/api/v3/checks/"+list[0].UUID, "", &c)
				return c.NPings == 60
			}) {
				t.Errorf("%d pings of 60 are recorded\n%s", c.NPings, spooling.stderr.String())
			}
			readyIs(spooling, 200, "database: ok")
			readyIs(plain, 200, "database: ok")
			plain.kill()
			if gone := lost(refused.names(list[1].UUID), logOf(t, openMonitor(t, db), list[1])); len(gone) > 0 {
				t.Errorf("%d pings are lost, the first %q", len(gone), gone[0])
			}
		})
	}
}

// lockFile locks a database file.
func lockFile(t *testing.T, db dbtest.DB, _ string) (unlock func()) {
	t.Helper()
	other := connTo(t, db)
	if _, err := other.ExecContext(t.Context(), "PRAGMA busy_timeout = 10000; BEGIN EXCLUSIVE"); err != nil {
		t.Fatal(err)
	}
	return func() {
		if _, err := other.ExecContext(t.Context(), "ROLLBACK"); err != nil {
			t.Fatal(err)
		}
	}
}

// freezeServer freezes a server on a database file in a transaction.
func freezeServer(t *testing.T, db dbtest.DB, key string) (unlock func()) {
	t.Helper()
	p, other := start(t, db.URL), connTo(t, db)
	l := startLoad(t, p, []apiCheck{createCheck(t, p, key, "frozen")}, 4)
	l.waitFor(t, 50, 0)
	signal := func(s syscall.Signal) {
		if err := p.cmd.Process.Signal(s); err != nil {
			t.Fatal(err)
		}
	}
	// Other servers on the file have its lock for some milliseconds now and then.
	if _, err := other.ExecContext(t.Context(), "PRAGMA busy_timeout = 3000"); err != nil {
		t.Fatal(err)
	}
	if !eventually(patience, func() bool {
		signal(syscall.SIGSTOP)
		_, err := other.ExecContext(t.Context(), "BEGIN IMMEDIATE; ROLLBACK")
		if err == nil {
			signal(syscall.SIGCONT)
		}
		return err != nil
	}) {
		t.Fatal("the server was never frozen in a transaction")
	}
	return func() { signal(syscall.SIGCONT) }
}

// connTo returns a connection to a database file that waits for no lock.
func connTo(t *testing.T, db dbtest.DB) *sql.Conn {
	t.Helper()
	pool, err := sql.Open("sqlite", db.Path())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { pool.Close() })
	conn, err := pool.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return conn
}

// A server that cannot create files beside its database does not start, and says why. It loses nothing.
func TestReadOnlyDirectory(t *testing.T) {
	db := dbtest.SQLite(t)
	dir := filepath.Dir(db.Path())
	p := start(t, db.URL)
	list := []apiCheck{createCheck(t, p, keyOf(t, p), "job")}
	l := startLoad(t, p, list, 2)
	l.waitFor(t, 20, 0)
	if _, err := p.stop(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	l.finish()

	program, attr := unprivileged(t, dir, db.Path())
	if err := os.Chmod(dir, 0o555); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.Chmod(dir, 0o755) })
	cmd := exec.Command(program, "serve", "--listen", "127.0.0.1:0", "--database", db.URL)
	cmd.Env, cmd.SysProcAttr = cleanEnv(), attr
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState.ExitCode() != console.ExitError || !strings.Contains(string(out), "database "+db.URL+": ") {
		t.Errorf("the server ended with %v:\n%s", err, out)
	}
	t.Logf("the server says: %s", out)

	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if gone := lost(l.names(list[0].UUID), logOf(t, openMonitor(t, db), list[0])); len(gone) > 0 {
		t.Errorf("%d pings are lost, the first %q", len(gone), gone[0])
	}
}

// unprivileged returns a copy of the program and the credentials of a user who is not root, so that file permissions apply.
func unprivileged(t *testing.T, files ...string) (program string, attr *syscall.SysProcAttr) {
	t.Helper()
	program, err := exec.LookPath("rollcall")
	if err != nil {
		t.Fatal(err)
	}
	attr = childAttr()
	if os.Getuid() != 0 {
		return program, attr
	}
	const nobody = 65534
	attr.Credential = &syscall.Credential{Uid: nobody, Gid: nobody}
	for _, file := range files {
		if err := os.Chown(file, nobody, nobody); err != nil {
			t.Fatal(err)
		}
	}
	public := filepath.Join(t.TempDir(), "rollcall")
	if err := os.Chmod(filepath.Dir(filepath.Dir(public)), 0o755); err != nil { // the parent of the test's directories
		t.Fatal(err)
	}
	copyProgram(t, program, public)
	return public, attr
}

func copyProgram(t *testing.T, from, to string) {
	t.Helper()
	in, err := os.Open(from)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY, 0o755)
	if err != nil {
		t.Fatal(err)
	}
	_, err = io.Copy(out, in)
	if closeErr := out.Close(); err != nil || closeErr != nil {
		t.Fatal(err, closeErr)
	}
}

// TestKilledBackups kills backups that are being written. The next one removes what they have left, whatever its name, but not what
// another one writes just now.
func TestKilledBackups(t *testing.T) {
	db := dbtest.SQLite(t)
	administer(t, db, "project", "create", "p")
	if _, err := db.Bun(t).ExecContext(t.Context(), `CREATE TABLE large (x BLOB); WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 60)
		INSERT INTO large SELECT randomblob(1000000) FROM n`); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	drafts := func() []string {
		found, err := filepath.Glob(filepath.Join(dir, ".rollcall-*.tmp"))
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	kill := func(cmd *exec.Cmd) {
		cmd.Process.Kill()
		cmd.Wait()
	}
	// frozen starts a backup and stops it while it has a draft, once more if it was too fast.
	frozen := func(args ...string) *exec.Cmd {
		before := drafts()
		begun := func() bool {
			return slices.ContainsFunc(drafts(), func(name string) bool { return !slices.Contains(before, name) })
		}
		for range 20 {
			cmd := exec.Command("rollcall", append([]string{"--database", db.URL, "backup", "--force"}, args...)...)
			cmd.Env, cmd.SysProcAttr = cleanEnv(), childAttr()
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { kill(cmd) })
			if !eventually(patience, begun) {
				t.Fatal("the backup has no draft")
			}
			cmd.Process.Signal(syscall.SIGSTOP)
			if begun() {
				return cmd
			}
			kill(cmd)
		}
		t.Fatal("20 backups ended before they were stopped")
		return nil
	}
	for _, args := range [][]string{{filepath.Join(dir, "one.db")}, {filepath.Join(dir, "two.db")}, {"--force=false", "--keep", "2", dir}} {
		kill(frozen(args...))
	}
	if got := drafts(); len(got) != 1 { // each removes that of the one before
		t.Errorf("drafts of killed backups: %q", got)
	}
	running := frozen(filepath.Join(dir, "running.db"))
	administer(t, db, "backup", filepath.Join(dir, "beside.db"))
	if got := drafts(); len(got) != 1 {
		t.Errorf("beside a backup that runs: %q", got)
	}
	if err := running.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	if err := running.Wait(); err != nil {
		t.Error(err)
	}
	kill(frozen(filepath.Join(dir, "three.db")))
	administer(t, db, "backup", filepath.Join(dir, "four.db"))
	if got := drafts(); len(got) > 0 {
		t.Errorf("drafts afterwards: %q", got)
	}
}
