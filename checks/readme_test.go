package checks_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
)

// TestReadmeQuickStart builds the program of the quick start in README.md, runs it twice and compares what it prints.
func TestReadmeQuickStart(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile("(?s)```go\n(package main\n.*?)```.*?```text\n(.*?)```").FindSubmatch(readme)
	if found == nil {
		t.Fatal("README.md has no program and no output")
	}
	dir := t.TempDir()
	source, binary := filepath.Join(dir, "main.go"), filepath.Join(dir, "quickstart")
	if err := os.WriteFile(source, found[1], 0o600); err != nil {
		t.Fatal(err)
	}
	// In this directory, go build takes the imports of the file from this module.
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", binary, source).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for range 2 { // the second run finds the check of the first
		program := exec.CommandContext(t.Context(), binary)
		program.Dir = dir
		if out, err := program.CombinedOutput(); err != nil || string(out) != string(found[2]) {
			t.Errorf("%v, printed %q, want %q", err, out, found[2])
		}
	}
}
