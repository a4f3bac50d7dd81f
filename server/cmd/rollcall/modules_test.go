package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestModules compares the modules in the binary, and those in go.mod, with the tables in .release/README.md, which say why
// each is there: every program on Rollcall has them in its graph.
func TestModules(t *testing.T) {
	const file, title = "../../../.release/README.md", "\n## Modules in the binary\n"
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	_, section, found := strings.Cut(string(text), title)
	section, _, _ = strings.Cut(section, "\n## ")
	section, tests, split := strings.Cut(section, "\nThese are for tests alone")
	if !found || !split {
		t.Fatalf("%s has no section%s with both tables", file, title)
	}
	named := func(text string) (list []string) {
		for _, match := range regexp.MustCompile("`([a-z.]+\\.[a-z]+/[^`]+)`").FindAllStringSubmatch(text, -1) {
			list = append(list, match[1])
		}
		slices.Sort(list)
		return list
	}
	documented := named(section)

	var linked []string
	for _, system := range []string{"linux", "darwin", "windows", "freebsd"} {
		cmd := exec.CommandContext(t.Context(), "go", "list", "-deps", "-f", "{{with .Module}}{{if not .Main}}{{.Path}}{{end}}{{end}}", ".")
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOARCH=amd64", "GOOS="+system)
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		linked = append(linked, strings.Fields(string(out))...)
	}
	slices.Sort(linked)
	if diff := cmp.Diff(documented, slices.Compact(linked)); diff != "" {
		t.Errorf("add new modules to the table in %s with their reason, or avoid them (-table +binary):\n%s", file, diff)
	}

	required, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, match := range regexp.MustCompile(`(?m)^\t(\S+) v`).FindAllStringSubmatch(string(required), -1) {
		lines = append(lines, match[1])
	}
	slices.Sort(lines)
	if diff := cmp.Diff(named(section+tests), lines); diff != "" {
		t.Errorf("go.mod and the tables in %s differ; what only tests need belongs into another module (-tables +go.mod):\n%s", file, diff)
	}
	if strings.Contains(string(required), "\nreplace ") {
		t.Error("go install refuses a module with a replace directive")
	}
}
