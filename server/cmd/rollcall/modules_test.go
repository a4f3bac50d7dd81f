package main

import (
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestModules compares the modules in the binary with the table in .github/CONTRIBUTING.md, which says why each is there.
func TestModules(t *testing.T) {
	const file, title = "../../../.github/CONTRIBUTING.md", "\n## Modules in the binary\n"
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	_, section, found := strings.Cut(string(text), title)
	if !found {
		t.Fatalf("%s has no section%s", file, title)
	}
	section, _, _ = strings.Cut(section, "\n## ")
	var documented []string
	for _, match := range regexp.MustCompile("`([a-z.]+\\.[a-z]+/[^`]+)`").FindAllStringSubmatch(section, -1) {
		documented = append(documented, match[1])
	}
	slices.Sort(documented)

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
}
