package main

import (
	"os/exec"
	"path/filepath"
	"testing"
)

func TestEmbed(t *testing.T) {
	db := filepath.Join(t.TempDir(), "jobs.db")
	for range 2 { // the second run opens the first one's database
		out, err := exec.CommandContext(t.Context(), "go", "run", ".", db).CombinedOutput()
		if want := "backup went up: true\n"; err != nil || string(out) != want {
			t.Errorf("%v, printed %q, want %q", err, out, want)
		}
	}
}
