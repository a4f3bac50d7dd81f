package monitor_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/sqlite"
)

// backup is the job of a program.
func backup(context.Context) error { return nil }

// A program watches its own job. At the end it stops the monitor, and then closes the store.
func Example() {
	check := func(err error) {
		if err != nil {
			log.Fatal(err)
		}
	}
	dir, err := os.MkdirTemp("", "jobs")
	check(err)
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "jobs.db")
	ctx := context.Background()

	store, err := sqlite.Open(ctx, path)
	check(err)
	defer store.Close()
	mon, err := monitor.New(store, nil)
	check(err)
	err = mon.Start(ctx)
	check(err)
	defer mon.Stop(ctx)
	jobs, err := mon.OpenProject(ctx, "jobs")
	check(err)
	nightly, err := jobs.Register(ctx, checks.Spec{Slug: new("backup"), Schedule: new("0 3 * * *")})
	check(err)

	err = nightly.Run(ctx, backup)
	fmt.Println(err)
	c, err := jobs.CheckBySlug(ctx, "backup")
	check(err)
	fmt.Println(c.Slug, c.Status)
	// Output:
	// <nil>
	// backup up
}

// TestShownProgram compares the lines of the README and of the package comment with the example, which is compiled.
func TestShownProgram(t *testing.T) {
	read := func(path string) string {
		t.Helper()
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	compiled := read("example_test.go")
	for path, expr := range map[string]string{
		"doc.go":          `(?m)(?:^//\t.*\n(?://\n)?)+`,
		"../../README.md": "(?s)\n## In a Go program\n.*?```go\n(?:.*?)```",
	} {
		lines := 0
		for line := range strings.Lines(regexp.MustCompile(expr).FindString(read(path))) {
			line, _, _ = strings.Cut(strings.TrimSpace(strings.TrimPrefix(line, "//")), " // ")
			if !strings.Contains(line, "= ") {
				continue
			}
			lines++
			line = strings.Replace(line, `"jobs.db"`, "path", 1)
			if !strings.Contains(compiled, line) {
				t.Errorf("%s: the example lacks %s", path, line)
			}
		}
		if lines != 6 {
			t.Errorf("%s shows %d lines, want five and a report", path, lines)
		}
	}
}
