package main

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestKill kills the program while both of its schedulers run jobs, and starts it again. It finds the pings that were
// acknowledged before the kill. The third start finds exactly those of the second, which ended in order.
func TestKill(t *testing.T) {
	dir := t.TempDir()
	program := filepath.Join(dir, "schedulers")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	start := func(end os.Signal) (found, runs map[string]int) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), program, filepath.Join(dir, "jobs.db"))
		cmd.Stderr = os.Stderr
		out, err := cmd.StdoutPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		found, runs = make(map[string]int), make(map[string]int)
		ending := false
		for lines := bufio.NewScanner(out); lines.Scan(); {
			name, rest, _ := strings.Cut(lines.Text(), " ")
			var n int
			if _, err := fmt.Sscanf(rest, "has %d pings", &n); err == nil {
				found[name] = n
				continue
			}
			runs[name]++
			if !ending && runs["copy"] >= 2 && runs["mail"] >= 2 {
				ending = true
				if err := cmd.Process.Signal(end); err != nil {
					t.Error(err)
				}
			}
		}
		if err := cmd.Wait(); end != syscall.SIGKILL && err != nil {
			t.Error(err)
		}
		return found, runs
	}

	found, runs := start(syscall.SIGKILL)
	if len(found) > 0 {
		t.Errorf("a new database has %v", found)
	}
	found, more := start(syscall.SIGTERM)
	want := make(map[string]int)
	for name, n := range runs {
		if found[name] < n { // the start of a run is acknowledged before the run
			t.Errorf("after the kill, %s has %d pings, but %d starts were acknowledged", name, found[name], n)
		}
		want[name] = found[name] + 2*more[name]
	}
	found, _ = start(syscall.SIGTERM)
	if diff := cmp.Diff(want, found); diff != "" {
		t.Errorf("pings at the third start (-want +got):\n%s", diff)
	}
}
