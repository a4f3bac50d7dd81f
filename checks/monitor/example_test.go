package monitor_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/sqlite"
)

// backup is the job of a program.
func backup(context.Context) error { return nil }

// A program watches its own job. At the end it stops Run, and closes the store when Run has returned.
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
	ctx, stop := context.WithCancel(context.Background())

	store, err := sqlite.Open(ctx, path)
	check(err)
	defer store.Close()
	mon, err := monitor.New(store, nil)
	check(err)
	var running sync.WaitGroup
	running.Go(func() { check(mon.Run(ctx)) })
	defer running.Wait()
	defer stop()
	project, err := mon.OpenProject(ctx, "jobs")
	check(err)
	job, err := mon.Registry(project.ID).Register(ctx, checks.Spec{Slug: new("backup"), Schedule: new("0 3 * * *")})
	check(err)

	err = job.Run(ctx, backup)
	fmt.Println(err)
	list, err := mon.Checks(ctx, project.ID, monitor.CheckQuery{})
	check(err)
	fmt.Println(list[0].Slug, list[0].Status(mon.Now()))
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
			if !strings.Contains(line, ":= ") && !strings.HasPrefix(line, "go ") {
				continue
			}
			lines++
			line = strings.NewReplacer(`"jobs.db"`, "path", "go mon.Run", "mon.Run").Replace(line)
			if !strings.Contains(compiled, line) {
				t.Errorf("%s: the example lacks %s", path, line)
			}
		}
		if lines != 6 {
			t.Errorf("%s shows %d lines, want the five and a report", path, lines)
		}
	}
}
