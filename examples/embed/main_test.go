package main

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"testing"
)

func TestEmbed(t *testing.T) {
	db := filepath.Join(t.TempDir(), "jobs.db")
	for n := range 2 { // the second run opens the first one's database
		out, err := exec.CommandContext(t.Context(), "go", "run", ".", db).CombinedOutput()
		if want := fmt.Sprintf("backup: ping %d, success\n", n+1); err != nil || string(out) != want {
			t.Errorf("%v, printed %q, want %q", err, out, want)
		}
	}
}
