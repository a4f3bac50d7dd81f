package main

import (
	"cmp"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/rollcall-dev/rollcall/checks/sqlstore/dbtest"
)

const (
	s3Bucket    = "bodies"
	s3AccessKey = "test-access-key"
	s3SecretKey = "test-secret-key"
)

func s3Args(url string) []string {
	return []string{"--s3-endpoint", url, "--s3-bucket", s3Bucket, "--s3-access-key", s3AccessKey, "--s3-secret-key", s3SecretKey}
}

// objectStorage is an S3 server with an empty bucket: versitygw, from PATH or from ROLLCALL_TEST_S3_SERVER.
type objectStorage struct {
	url string

	addr, dir, program string
	cmd                *exec.Cmd
}

// startStorage runs a server until the test ends, or skips the test if the program is missing.
func startStorage(t *testing.T) *objectStorage {
	t.Helper()
	program, err := exec.LookPath(cmp.Or(os.Getenv("ROLLCALL_TEST_S3_SERVER"), "versitygw"))
	if err != nil {
		skip := t.Skip
		if os.Getenv("ROLLCALL_TEST_REQUIRE") == "all" {
			skip = t.Fatal
		}
		skip("no S3 server to test with (versitygw in PATH, or named in ROLLCALL_TEST_S3_SERVER): ", err)
	}
	listener := listen(t)
	s := &objectStorage{addr: listener.Addr().String(), dir: t.TempDir(), program: program}
	s.url = "http://" + s.addr
	listener.Close()
	for _, sub := range []string{"objects/" + s3Bucket, "metadata"} {
		if err := os.MkdirAll(filepath.Join(s.dir, sub), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	s.start(t)
	t.Cleanup(s.stop)
	return s
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return listener
}

// start starts the server at its address with its objects.
func (s *objectStorage) start(t *testing.T) {
	t.Helper()
	// Metadata goes into files, because not every file system has extended attributes.
	s.cmd = exec.Command(s.program, "--port", s.addr, "--quiet", "posix",
		"--sidecar", filepath.Join(s.dir, "metadata"), filepath.Join(s.dir, "objects"))
	s.cmd.Env = append(os.Environ(), "ROOT_ACCESS_KEY="+s3AccessKey, "ROOT_SECRET_KEY="+s3SecretKey, "VGW_REGION=us-east-1")
	s.cmd.SysProcAttr = childAttr()
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	listens := func() bool {
		conn, err := net.Dial("tcp", s.addr)
		if err == nil {
			conn.Close()
		}
		return err == nil
	}
	if !eventually(patience, listens) {
		t.Fatal("the S3 server did not start")
	}
}

// stop ends the server as a crash would. Its objects stay.
func (s *objectStorage) stop() {
	if s.cmd.ProcessState == nil {
		s.cmd.Process.Kill()
		s.cmd.Wait()
	}
}

// objects returns the number of objects of a check. The server keeps each in a file.
func (s *objectStorage) objects(t *testing.T, c apiCheck) (n int) {
	t.Helper()
	err := fs.WalkDir(os.DirFS(filepath.Join(s.dir, "objects", s3Bucket)), ".", func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Type().IsRegular() && strings.HasPrefix(path, c.UUID+"/") {
			n++
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// silent accepts connections, reads what arrives and never answers. It returns its URL and counts open connections.
func silent(t *testing.T) (url string, connections *atomic.Int64) {
	t.Helper()
	listener := listen(t)
	t.Cleanup(func() { listener.Close() })
	connections = new(atomic.Int64)
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			connections.Add(1)
			go func() {
				_, _ = io.Copy(io.Discard, conn)
				conn.Close()
				connections.Add(-1)
			}()
		}
	}()
	return "http://" + listener.Addr().String(), connections
}

// getBody reads the body of a check's ping.
func getBody(t *testing.T, p *process, key string, c apiCheck, n int) (status int, body string) {
	t.Helper()
	r := request{
		method: http.MethodGet, url: fmt.Sprintf("%s/api/v3/checks/%s/pings/%d/body", p.url, c.UUID, n), header: http.Header{"X-Api-Key": {key}},
	}
	status, body, err := r.do()
	if err != nil {
		t.Fatal(err)
	}
	return status, body
}

// TestKillBetweenCommitAndUpload kills the server after it committed bodies, while object storage is down. They are always
// readable, and the next server uploads them.
func TestKillBetweenCommitAndUpload(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, db dbtest.DB) {
		storage := startStorage(t)
		storage.stop()
		killBetween(t, db, storage, storage.url, func() {}, func() { storage.start(t) })
	})
}

// TestKillDuringUpload kills the server while object storage does not answer. The next server uploads the bodies after the
// lease of half a minute.
func TestKillDuringUpload(t *testing.T) {
	if testing.Short() {
		t.Skip("takes half a minute")
	}
	t.Parallel() // it waits
	storage := startStorage(t)
	url, connections := silent(t)
	underWay := func() {
		// One of them is the probe at the start of the server.
		if !eventually(patience, func() bool { return connections.Load() > 2 }) {
			t.Fatal("no upload has begun")
		}
	}
	killBetween(t, dbtest.SQLite(t), storage, url, underWay, func() {})
}

// killBetween kills a server whose object storage is at a URL where it does not work, and starts it with one that does.
func killBetween(t *testing.T, db dbtest.DB, storage *objectStorage, broken string, ready, mend func()) {
	t.Helper()
	const pings = 20
	body := func(n int) string { return fmt.Sprint(n, strings.Repeat("\xff\x00\r\n", 50)) }
	p := start(t, db.URL, append(s3Args(broken), "--rate-limit", "0")...)
	key := keyOf(t, p)
	c := createCheck(t, p, key, "job")
	for n := range pings {
		r := request{method: http.MethodPost, url: p.url + "/ping/" + c.UUID, body: body(n)}
		if status, text, err := r.do(); status != http.StatusOK {
			t.Fatal(status, text, err)
		}
	}
	read := func() {
		t.Helper()
		for n := range pings {
			if status, got := getBody(t, p, key, c, n+1); status != http.StatusOK || got != body(n) {
				t.Errorf("body %d: status %d, %q", n, status, got)
			}
		}
	}
	read()
	ready()
	p.kill()
	mend()
	p = start(t, db.URL, append(s3Args(storage.url), "--rate-limit", "0")...)
	read()
	if !eventually(3*patience, func() bool { return storage.objects(t, c) == pings }) {
		t.Errorf("%d objects, want %d", storage.objects(t, c), pings)
	}
	read()
}

// TestObjectStorageGone reads a body while object storage is down: only that request fails, with 503.
func TestObjectStorageGone(t *testing.T) {
	storage := startStorage(t)
	db := dbtest.SQLite(t)
	p := start(t, db.URL, s3Args(storage.url)...)
	key := keyOf(t, p)
	c := createCheck(t, p, key, "job")
	ping := func(body string) {
		t.Helper()
		r := request{method: http.MethodPost, url: p.url + "/ping/" + c.UUID, body: body}
		if status, text, err := r.do(); status != http.StatusOK {
			t.Fatal(status, text, err)
		}
	}
	large := strings.Repeat("large ", 20)
	ping(large)
	ping("small")
	// The object exists before the database records it. If storage stopped in between, the body would stay in the database.
	rows := db.Bun(t)
	moved := func() bool {
		var queued int
		err := rows.NewRaw("SELECT count(*) FROM rollcall_uploads").Scan(t.Context(), &queued)
		return err == nil && queued == 0 && storage.objects(t, c) == 1
	}
	if !eventually(patience, moved) {
		t.Fatal("the body was not moved")
	}
	storage.stop()
	ping(large)
	wants := map[int]int{1: http.StatusServiceUnavailable, 2: http.StatusOK, 3: http.StatusOK, 4: http.StatusNotFound}
	for n, want := range wants {
		if status, body := getBody(t, p, key, c, n); status != want {
			t.Errorf("body %d: status %d, %s; want %d", n, status, body, want)
		}
	}
	if _, err := p.stop(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if log := p.stderr.String(); strings.Contains(log, s3SecretKey) || !strings.Contains(log, "object storage is unavailable") {
		t.Errorf("the log does not say what is wrong, or has a key:\n%s", log)
	}

	p = start(t, db.URL, "--s3-endpoint", storage.url, "--s3-bucket", "missing", "--s3-access-key", "a", "--s3-secret-key", s3SecretKey)
	if !eventually(patience, func() bool { return strings.Contains(p.stderr.String(), "object storage cannot be used") }) {
		t.Errorf("the log does not say at the start what is wrong:\n%s", p.stderr.String())
	}
	if status, body := getBody(t, p, key, c, 1); status != http.StatusServiceUnavailable || strings.Contains(body, "s3") {
		t.Errorf("status %d, %s", status, body)
	}
}
