//go:build release

package main

import (
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rollcall-dev/rollcall/checks/sqlstore/dbtest/pgserver"
	"github.com/rollcall-dev/rollcall/examples/internal/program"
)

// TestTorture runs all trials in short form, all at once: most of the time they wait for deadlines of a minute, the
// shortest that the API allows.
func TestTorture(t *testing.T) {
	o := options{
		Seed: rand.Uint64(), Operations: 1500, Kills: 5, Failovers: 2, NodeKills: 1, Calm: 700 * time.Millisecond,
		Outage: 12 * time.Second, Jobs: 10, Idle: 500, Slack: 30 * time.Second, Dir: publicDir(t),
	}
	t.Logf("seed %d", o.Seed)
	var err error
	if o.Rollcall, err = program.Build(t.Context(), o.Dir); err != nil {
		t.Fatal(err)
	}
	all := allTrials()
	reports, problems, errs := make([]strings.Builder, len(all)), make([][]string, len(all)), make([]error, len(all))
	var running sync.WaitGroup
	for i, trial := range all { // not as parallel tests: of those, only as many run at once as there are cores
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

// TestSoak keeps a server under load just long enough for some samples.
func TestSoak(t *testing.T) {
	var printed strings.Builder
	if err := run(t.Context(), options{Soak: 3 * time.Second, SoakDatabase: "sqlite", Dir: publicDir(t)}, &printed); err != nil {
		t.Fatalf("%v\n%s", err, printed.String())
	}
	for _, figure := range soakFigures {
		form := regexp.QuoteMeta(figure.name) + `(?: +(\d+\.\d)){3}`
		if match := regexp.MustCompile(form).FindStringSubmatch(printed.String()); match == nil || match[1] == "0.0" {
			t.Errorf("no %s in: %s", figure.name, printed.String())
		}
	}
}

// publicDir returns a directory of the test that other users can enter, because PostgreSQL may have to run as one.
func publicDir(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := errors.Join(os.Chmod(dir, 0o755), os.Chmod(filepath.Dir(dir), 0o755)); err != nil {
		t.Fatal(err)
	}
	return dir
}

// missing skips a trial for lack of PostgreSQL, unless nothing may be skipped.
func missing(t *testing.T, err error) {
	t.Helper()
	if errors.Is(err, pgserver.ErrNotInstalled) && os.Getenv("ROLLCALL_TEST_REQUIRE") != "all" {
		t.Skip(err)
	}
	t.Fatal(err)
}
