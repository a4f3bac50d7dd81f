package main

import (
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestEmbed(t *testing.T) {
	dir := t.TempDir()
	for _, run := range []struct{ file, want string }{ // each opens the database of the one before
		{"main.go", "backup is up after 2 pings\n"},
		{"missing", "alert: backup is down\nbackup is down after 4 pings\n"},
		{"main.go", "alert: backup is up\nbackup is up after 6 pings\n"},
	} {
		out, err := exec.CommandContext(t.Context(), "go", "run", ".", filepath.Join(dir, "jobs.db"), run.file).Output()
		lines := strings.SplitAfter(string(out), "\n")
		slices.Sort(lines) // the alert comes at any time
		if failed, got := run.file == "missing", strings.Join(lines, ""); got != run.want || (err != nil) != failed {
			t.Errorf("%s: %v, printed %q, want %q", run.file, err, got, run.want)
		}
	}
}
