package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// unit returns the path of a copy of rollcall.service that starts a program of this machine.
func unit(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, ".release", "rollcall.service"))
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "rollcall.service")
	if err := os.WriteFile(path, []byte(strings.ReplaceAll(string(text), "/usr/bin/rollcall", program)), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestUnit lets systemd check the unit of the packages: it has no mistakes, and its exposure is at most 2.0 of 10.
func TestUnit(t *testing.T) {
	if _, err := exec.LookPath("systemd-analyze"); err != nil {
		if os.Getenv("ROLLCALL_TEST_REQUIRE") == "all" {
			t.Fatal(err)
		}
		t.Skip("systemd-analyze is missing; on Debian: apt-get install systemd")
	}
	path := unit(t)
	for _, args := range [][]string{{"verify", path}, {"security", "--offline=true", "--threshold=20", "--no-pager", path}} {
		out, err := exec.CommandContext(t.Context(), "systemd-analyze", args...).CombinedOutput()
		if err != nil || args[0] == "verify" && len(out) > 0 {
			t.Errorf("systemd-analyze %s: %v\n%s", args[0], err, out)
		}
	}
}
