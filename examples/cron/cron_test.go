// Package cron holds a crontab and a script. Its test runs them.
package cron

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rollcall-dev/rollcall/checks/schedule"
	"github.com/rollcall-dev/rollcall/examples/internal/testserver"
)

// TestCrontab runs each line of the crontab as cron does, once with a job that succeeds and once with one that fails.
func TestCrontab(t *testing.T) {
	content, err := os.ReadFile("crontab")
	if err != nil {
		t.Fatal(err)
	}
	var commands []string
	for line := range strings.Lines(string(content)) {
		words := strings.SplitN(strings.TrimSpace(line), " ", 6)
		if len(words) < 6 || words[0] == "#" {
			continue
		}
		if _, err := schedule.Parse(strings.Join(words[:5], " ")); err != nil {
			t.Errorf("%s: %v", line, err)
		}
		commands = append(commands, strings.TrimSpace(words[5]))
	}
	want := [][2][]string{
		{{"success"}, nil},
		{{"start", "success: 12 files"}, {"start", "fail: 12 files\ndisk full"}},
		{{"start", "success: 12 files"}, {"start", "fail: 12 files\ndisk full"}},
	}
	if len(commands) != len(want) {
		t.Fatalf("%d commands", len(commands))
	}
	bin := testserver.Job(t)
	testserver.Rollcall(t, bin)
	inPlace := func(text string) string { return strings.ReplaceAll(text, "/usr/local/bin", bin) }
	script, err := os.ReadFile("backup.sh")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(bin, "backup.sh"), []byte(inPlace(string(script))), 0o700); err != nil {
		t.Fatal(err)
	}
	site := testserver.Start(t)
	for i, command := range commands {
		t.Run(command, func(t *testing.T) {
			if !strings.Contains(command, "rollcall") {
				testserver.Require(t, "curl")
			}
			for j, fail := range []string{"", "yes"} {
				cmd := exec.CommandContext(t.Context(), "/bin/sh", "-c", inPlace(command))
				cmd.Env = []string{"PATH=/usr/bin:/bin", "HOME=" + t.TempDir(), "PING_URL=" + site.PingURL, "FAIL=" + fail}
				out, err := cmd.CombinedOutput()
				if (err != nil) != (fail != "") {
					t.Errorf("%v\n%s", err, out)
				}
				if diff := cmp.Diff(want[i][j], site.Pings()); diff != "" {
					t.Errorf("pings (-want +got):\n%s\n%s", diff, out)
				}
			}
		})
	}
}
