package main

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rollcall-dev/rollcall/checks/storetest/pgserver"
)

// TestTorture is the short form of all trials, at the same time: most of it is waiting for deadlines of a minute, the
// shortest there are.
func TestTorture(t *testing.T) {
	o := options{
		seed: rand.Uint64(), goal: goal{operations: 1500, kills: 5, calm: 700 * time.Millisecond},
		outage: 12 * time.Second, idle: 500, slack: 30 * time.Second, dir: publicDir(t),
	}
	t.Logf("seed %d", o.seed)
	var err error
	if o.rollcall, err = build(t.Context(), o.dir); err != nil {
		t.Fatal(err)
	}
	all := trials()
	reports, problems, errs := make([]strings.Builder, len(all)), make([][]string, len(all)), make([]error, len(all))
	var running sync.WaitGroup
	for i, trial := range all { // not as parallel tests, of which there are only as many at a time as there are cores
		running.Go(func() { problems[i], errs[i] = trial.perform(t.Context(), o, &reports[i]) })
	}
	running.Wait()
	for i, trial := range all {
		t.Run(trial.name, func(t *testing.T) {
			t.Log(reports[i].String())
			for _, p := range problems[i] {
				t.Error(p)
			}
			if errs[i] != nil {
				missing(t, errs[i])
			}
		})
	}
}

// TestSoak keeps a server under load just long enough to see that samples are taken and drawn.
func TestSoak(t *testing.T) {
	dir := publicDir(t)
	o := options{soak: 3 * time.Second, database: "sqlite", dir: dir}
	var printed strings.Builder
	if err := run(t.Context(), o, &printed); err != nil {
		t.Fatalf("%v\n%s", err, printed.String())
	}
	if !strings.Contains(printed.String(), "pings a second") {
		t.Errorf("no summary: %s", printed.String())
	}
	graph, err := os.ReadFile(filepath.Join(dir, "soak-sqlite.svg"))
	if err != nil || !strings.Contains(string(graph), "memory, MB") {
		t.Errorf("no graph: %v", err)
	}
}

func TestUnknownTrial(t *testing.T) {
	err := run(context.Background(), options{only: "sqlite,mysql"}, t.Output())
	if err == nil || err.Error() != `there is no trial "mysql"` {
		t.Errorf("error %v", err)
	}
}

// publicDir returns a directory of the test that another user, who may have to run PostgreSQL, can look into.
func publicDir(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := errors.Join(os.Chmod(dir, 0o755), os.Chmod(filepath.Dir(dir), 0o755)); err != nil {
		t.Fatal(err)
	}
	return dir
}

// missing skips a trial for which there is no PostgreSQL, unless nothing may be skipped.
func missing(t *testing.T, err error) {
	t.Helper()
	if errors.Is(err, pgserver.ErrNotInstalled) && os.Getenv("ROLLCALL_TEST_REQUIRE") != "all" {
		t.Skip(err)
	}
	t.Fatal(err)
}
