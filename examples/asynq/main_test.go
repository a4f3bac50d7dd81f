package main

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/dbtest"
	"github.com/rollcall-dev/rollcall/client/clienttest"
)

// TestAsynq ends the program in order during a run, and finds the runs at the server.
func TestAsynq(t *testing.T) {
	url, site := "redis-socket://"+dbtest.Redis(t), clienttest.NewServer(t)
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
