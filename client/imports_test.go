package client_test

import (
	"os/exec"
	"strings"
	"testing"
)

// TestDependencies asserts that importing the client links no database, no router and no server.
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
		if outside && dep != "github.com/google/uuid" && dep != "github.com/gorhill/cronexpr" {
			t.Errorf("client depends on %s", dep)
		}
	}
}
