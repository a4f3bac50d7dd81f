package client_test

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// TestDependencies asserts that importing the client links no database, no router and no server. Package keywords needs Unicode
// normalization.
func TestDependencies(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	const module = "github.com/rollcall-dev/rollcall/"
	for dep := range strings.FieldsSeq(string(out)) {
		if dep == "database/sql" || strings.HasPrefix(dep, module+"server") || strings.HasPrefix(dep, module+"checks/monitor") {
			t.Errorf("client depends on %s", dep)
		}
		host, _, _ := strings.Cut(dep, "/")
		outside := strings.Contains(host, ".") && !strings.HasPrefix(dep, module)
		if outside && !slices.Contains([]string{"github.com/google/uuid", "github.com/gorhill/cronexpr", "golang.org/x/text/transform", "golang.org/x/text/unicode/norm"}, dep) {
			t.Errorf("client depends on %s", dep)
		}
	}
}
