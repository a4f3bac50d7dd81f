package main

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/dbtest"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/postgres"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

// TestRiver ends the program in order during its first run, and finds the run in its check.
func TestRiver(t *testing.T) {
	db := dbtest.PostgreSQL(t)
	program := filepath.Join(t.TempDir(), "river")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	cmd := exec.CommandContext(t.Context(), program, db.URL)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if lines.Text() == "the backup runs" {
			if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
				t.Error(err)
			}
		}
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}

	store, err := postgres.Open(t.Context(), db.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	mon, err := monitor.New(store, nil)
	if err != nil {
		t.Fatal(err)
	}
	project, err := mon.OpenProject(t.Context(), "jobs")
	if err != nil {
		t.Fatal(err)
	}
	c, err := project.CheckBySlug(t.Context(), "backup")
	if err != nil || c.Status != checks.StatusUp || c.NPings != 2 || c.Timeout.Hours() != 1 {
		t.Errorf("%+v, %v", c, err)
	}
}
