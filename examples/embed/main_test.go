package main

import (
	"os/exec"
	"path/filepath"
	"testing"
)

func TestEmbed(t *testing.T) {
	db := filepath.Join(t.TempDir(), "jobs.db")
	for range 2 { // the second run finds what the first one left
		out, err := exec.CommandContext(t.Context(), "go", "run", ".", db).CombinedOutput()
		if want := "backup went up: true\n"; err != nil || string(out) != want {
			t.Errorf("%v, printed %q, want %q", err, out, want)
		}
	}
}
