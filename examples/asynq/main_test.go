package main

import (
	"bufio"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/client/clienttest"
)

// redis starts a throwaway Redis server and returns its URL.
func redis(t *testing.T) string {
	t.Helper()
	program, err := exec.LookPath("redis-server")
	if err != nil {
		if os.Getenv("ROLLCALL_TEST_REQUIRE") == "all" {
			t.Fatal(err)
		}
		t.Skip("no redis-server: apt-get install redis-server")
	}
	dir, err := os.MkdirTemp("", "redis") // the path of a socket must be short
	if err != nil {
		t.Fatal(err)
	}
	socket := filepath.Join(dir, "s")
	server := exec.Command(program, "--port", "0", "--unixsocket", socket, "--dir", dir, "--save", "")
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = server.Process.Kill()
		_ = server.Wait()
		_ = os.RemoveAll(dir)
	})
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(10 * time.Millisecond) {
		conn, err := net.Dial("unix", socket)
		if err == nil {
			_ = conn.Close()
			return "redis-socket://" + socket
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
}

// TestAsynq ends the program in order during a run, and finds the runs at the server.
func TestAsynq(t *testing.T) {
	url, site := redis(t), clienttest.NewServer(t)
	program := filepath.Join(t.TempDir(), "asynq")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	cmd := exec.CommandContext(t.Context(), program, url)
	cmd.Env = append(os.Environ(), "ROLLCALL_URL="+site.URL, "ROLLCALL_API_KEY="+site.Key)
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	runs := 0
	for lines := bufio.NewScanner(out); lines.Scan(); runs++ {
		if runs == 0 {
			if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
				t.Error(err)
			}
		}
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	c, err := site.Client().CheckBySlug(t.Context(), "copy")
	if err != nil || c.Status != checks.StatusUp || c.NPings != 2*int64(runs) {
		t.Errorf("%+v, %v after %d runs", c, err, runs)
	}
}
