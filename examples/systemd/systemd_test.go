// Package systemd holds a service and its timer. Its tests verify and run them.
package systemd

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rollcall-dev/rollcall/checks/schedule"
	"github.com/rollcall-dev/rollcall/examples/internal/testserver"
)

// value returns the value of a key in a unit file.
func value(t *testing.T, unit, key string) string {
	t.Helper()
	for line := range strings.Lines(unit) {
		if text, ok := strings.CutPrefix(strings.TrimSpace(line), key+"="); ok {
			return text
		}
	}
	t.Fatalf("no %s in\n%s", key, unit)
	return ""
}

func read(t *testing.T, name string) string {
	t.Helper()
	content, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// inPlace returns a text with the programs of a directory in place of those that are installed.
func inPlace(text, bin string) string {
	return strings.NewReplacer("/usr/bin/rollcall", filepath.Join(bin, "rollcall"), "/usr/local/bin", bin).Replace(text)
}

// TestBackup runs the backup of the database as systemd does, twice.
func TestBackup(t *testing.T) {
	bin := testserver.Job(t)
	testserver.Rollcall(t, bin)
	unit := read(t, "rollcall-backup.service")
	if _, err := schedule.Parse(value(t, read(t, "rollcall-backup.timer"), "OnCalendar")); err != nil {
		t.Error(err)
	}
	dir := t.TempDir()
	command := strings.ReplaceAll(inPlace(value(t, unit, "ExecStart"), bin), "/var/backups/rollcall", filepath.Join(dir, "backups"))
	database := strings.ReplaceAll(value(t, unit, "Environment"), "/var/lib/rollcall", dir)
	for _, command := range []string{filepath.Join(bin, "rollcall") + " migrate", command, command} {
		words := strings.Fields(command)
		cmd := exec.CommandContext(t.Context(), words[0], words[1:]...)
		cmd.Env = []string{database}
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", command, err, out)
		}
	}
	if backups, err := filepath.Glob(filepath.Join(dir, "backups", "rollcall-*.db")); err != nil || len(backups) != 2 {
		t.Errorf("%q, %v", backups, err)
	}
}

func TestTimer(t *testing.T) {
	expr := value(t, read(t, "backup.timer"), "OnCalendar")
	s, err := schedule.Parse(expr)
	if err != nil {
		t.Fatal(err)
	}
	friday := time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC)
	if diff := cmp.Diff(time.Date(2026, 1, 5, 3, 0, 0, 0, time.UTC), s.Next(friday)); diff != "" {
		t.Errorf("after %v (-want +got):\n%s", friday, diff)
	}
	if schedule.Detect(expr) != schedule.KindOnCalendar {
		t.Errorf("%s is taken for %s", expr, schedule.Detect(expr))
	}
	if !strings.Contains(read(t, "backup.timer"), `"schedule": "`+expr+`"`) {
		t.Error("the check has another schedule")
	}
}

// TestService starts the service as systemd does, with the programs of the test.
func TestService(t *testing.T) {
	bin := testserver.Job(t)
	testserver.Rollcall(t, bin)
	site := testserver.Start(t)
	command, isShell := strings.CutPrefix(inPlace(value(t, read(t, "backup.service"), "ExecStart"), bin), "/bin/sh -c '")
	command, ended := strings.CutSuffix(strings.ReplaceAll(command, "$$", "$"), "'")
	if !isShell || !ended || strings.ContainsAny(command, "'%") {
		t.Fatal(command)
	}
	run := func(pings []string, environment ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "/bin/sh", "-c", command)
		cmd.Env = environment
		out, err := cmd.CombinedOutput()
		if err != nil || !strings.Contains(string(out), "12 files") {
			t.Errorf("%v\n%s", err, out)
		}
		if diff := cmp.Diff(pings, site.Pings()); diff != "" {
			t.Errorf("pings (-want +got):\n%s", diff)
		}
		return string(out)
	}
	run([]string{"start", "success: 12 files"}, "ROLLCALL_PING_URL="+site.PingURL)
	run(nil) // without the file of the URL
	if err := os.Remove(filepath.Join(bin, "rollcall")); err != nil {
		t.Fatal(err)
	}
	if out := run(nil, "ROLLCALL_PING_URL="+site.PingURL); !strings.Contains(out, "rollcall is missing") {
		t.Error(out)
	}
}

func TestVerify(t *testing.T) {
	analyze := testserver.Require(t, "systemd-analyze")
	bin := testserver.Job(t)
	if err := os.WriteFile(filepath.Join(bin, "rollcall"), []byte("#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	args := []string{"verify", "--man=no"}
	for _, name := range []string{"backup.service", "backup.timer", "rollcall-backup.service", "rollcall-backup.timer"} {
		unit := inPlace(read(t, name), bin)
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(unit), 0o600); err != nil {
			t.Fatal(err)
		}
		args = append(args, path)
	}
	out, err := exec.CommandContext(t.Context(), analyze, args...).CombinedOutput()
	if err != nil || strings.Contains(string(out), dir) {
		t.Errorf("%v\n%s", err, out)
	}
}
