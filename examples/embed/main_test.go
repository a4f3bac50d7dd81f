package main

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"testing"
)

func TestEmbed(t *testing.T) {
	db := filepath.Join(t.TempDir(), "jobs.db")
	for _, pings := range []int{2, 4} { // the second run opens the first one's database
		out, err := exec.CommandContext(t.Context(), "go", "run", ".", db).CombinedOutput()
		if want := fmt.Sprintf("backup is up after %d pings\n", pings); err != nil || string(out) != want {
			t.Errorf("%v, printed %q, want %q", err, out, want)
		}
	}
}
